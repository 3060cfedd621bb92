"""Servers of plans that need no evaluation key: they take inputs of any client, and none of two."""

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.errors import MissingKeyError, ParameterMismatchError

ROWS = 64
X = np.random.default_rng(0).uniform(-1, 1, (ROWS, 4))
W = np.random.default_rng(1).uniform(-1, 1, (4, 3))


@lw.program
def squares(x: lw.Secret[4], w):
    return np.square(x @ w) @ w.T


@lw.program
def product(x: lw.Secret[4], y: lw.Secret[4], w):
    return (x * y) @ w


@pytest.fixture(scope="module")
def model():
    made = lw.compile(squares, weights=(W,), calibrate=X, batch=ROWS, precision_bits=8)
    assert made.plan.keys == ()
    return made


def wanted(x):
    return np.square(x @ W) @ W.T


def test_one_server_computes_for_every_client(model):
    server = model.server()
    results = []
    for rows in (X, -X[::-1]):
        client = model.client()
        client.keygen()
        found = client.decrypt(server(client.encrypt(rows)))
        assert np.abs(found.reveal() - wanted(rows)).max() <= found.error_bound
        results.append(found)
    assert len(results) == 2


def test_results_have_the_bytes_of_a_server_with_keys_and_belong_to_their_client(model):
    first, second = model.client(), model.client()
    keys = first.keygen().public()
    second.keygen()
    sent = first.encrypt(X)
    result = model.server()(sent)
    assert result.to_bytes() == model.server(keys)(sent).to_bytes()
    with pytest.raises(ParameterMismatchError):
        second.decrypt(second.load_encrypted(result.to_bytes())).reveal()


def test_members_of_several_clients_run_together(model):
    clients = [model.client() for _ in range(3)]
    for client in clients:
        client.keygen()
    results = model.server().run_many([c.encrypt(X * (n + 1) / 4) for n, c in enumerate(clients)])
    for n, (client, result) in enumerate(zip(clients, results, strict=True)):
        np.testing.assert_allclose(client.decrypt(result).reveal(), wanted(X * (n + 1) / 4), atol=2.0**-7)


def test_parts_of_two_clients_are_refused():
    model = lw.compile(product, weights=(W,), calibrate=(X, X), batch=ROWS, precision_bits=8)
    clients = [model.client(), model.client()]
    for client in clients:
        client.keygen()
    parts = clients[0].encrypt_part(x=X), clients[1].encrypt_part(y=X)
    with pytest.raises(ParameterMismatchError, match="its inputs are under key sets .* and .*: encrypt all of them"):
        model.server()(*parts)
    own = clients[0].encrypt_part(x=X), clients[0].encrypt_part(y=X)
    found = clients[0].decrypt(model.server()(*own))
    assert np.abs(found.reveal() - X**2 @ W).max() <= found.error_bound


def test_runs_go_on_from_checkpoints_of_the_same_client_only(model, tmp_path):
    client = model.client()
    client.keygen()
    sent = client.encrypt(X)
    server = model.server()
    assert server(sent, checkpoint=tmp_path / "run.ckpt").to_bytes() == server(sent).to_bytes()


def test_a_plan_that_needs_keys_is_refused_without(tmp_path):
    @lw.program
    def turned(x: lw.Secret[4]):
        return np.roll(x, 1)

    keyed = lw.compile(turned, calibrate=X, ring_degree=2048, insecure=True)
    with pytest.raises(MissingKeyError, match=r"server of turned needs \d evaluation key.*, and got none: give it"):
        keyed.server()
    keyed.save(tmp_path / "plan")
    with pytest.raises(MissingKeyError, match="got none"):
        lw.Server.load(tmp_path / "plan")


def test_the_command_needs_no_keys(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("model.lwplan")
    client = model.client()
    client.keygen()
    client.encrypt(X).save("sent.lwct")
    done = CliRunner().invoke(app, ["run", "model.lwplan", "sent.lwct", "-o", "result.lwct"])
    assert done.exit_code == 0, done.output
    found = client.decrypt(client.load_encrypted("result.lwct"))
    assert np.abs(found.reveal() - wanted(X)).max() <= found.error_bound
    missing = CliRunner().invoke(app, ["run", "model.lwplan", "sent.lwct", "-k", "nowhere", "-o", "other.lwct"])
    assert missing.exit_code != 0
