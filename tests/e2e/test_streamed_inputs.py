"""Inputs that stay in their file: each run reads its own, and results are those of inputs in memory, to the byte."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.errors import FormatError, ParameterMismatchError
from latticework.runtime.exchange.encrypted import inputs_of

RNG = np.random.default_rng(0)
W = RNG.normal(size=(6, 3))
ROWS = RNG.uniform(-1, 1, (1300, 6))


@lw.program
def network(x: lw.Secret[6], w):
    return np.square(x @ w)


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streamed")
    model = lw.compile(network, weights=(W,), calibrate=ROWS, batch=64, objective="throughput", ring_degree=1024,
                       insecure=True, precision_bits=8)  # fmt: skip
    client = model.client(allow_insecure=True)
    client.keygen()
    model.save(folder / "m.lwplan")
    return folder, model, client, model.server()


def test_results_are_those_of_inputs_in_memory(parties):
    folder, model, client, server = parties
    assert model.plan.client.rows < len(ROWS) / 2
    client.encrypt(ROWS[: 2 * model.plan.client.rows + 3]).save(folder / "rows.lwct")
    opened = server.open_encrypted(folder / "rows.lwct")
    found = server(opened)
    assert found.to_bytes() == server(server.load_encrypted(folder / "rows.lwct")).to_bytes()
    assert found.to_bytes() == server(opened).to_bytes() and "rows.lwct" in repr(opened)
    got = client.decrypt(found)
    assert np.abs(got.reveal() - np.square(ROWS[: len(got.reveal())] @ W)).max() <= got.error_bound


def test_no_more_ciphertexts_are_read_than_a_run_takes(parties, monkeypatch):
    folder, model, client, server = parties
    client.encrypt(ROWS).save(folder / "all.lwct")
    opened = server.open_encrypted(folder / "all.lwct")
    stored = next(iter(inputs_of(opened, whole=False).tensors.values()))
    read, computed = [], []
    kind = type(stored[0])
    original = kind.read
    monkeypatch.setattr(kind, "read", lambda self: read.append(self.index) or original(self))
    server.run(opened, on_event=lambda event: computed.append(len(read)))
    runs = model.plan.client.runs_for(len(ROWS))
    assert sorted(read) == list(range(len(stored))) and min(computed) == len(stored) // runs


def test_parts_in_memory_and_in_files_go_together(parties):
    folder, _, client, _ = parties

    @lw.program
    def product(x: lw.Secret[6], y: lw.Secret[6]):
        return x * y

    model = lw.compile(product, calibrate=(ROWS, ROWS), batch=4, ring_degree=1024, insecure=True, precision_bits=8)
    client = model.client(allow_insecure=True)
    server = model.server(client.keygen().public())
    parts = client.encrypt_part(x=ROWS), client.encrypt_part(y=ROWS)
    parts[0].save(folder / "x.lwct")
    got = client.decrypt(server(server.open_encrypted(folder / "x.lwct"), parts[1]))
    assert np.abs(got.reveal() - ROWS**2).max() <= got.error_bound


def test_damaged_and_other_files_are_refused_before_any_run(parties):
    folder, _, client, server = parties
    client.encrypt(ROWS).save(folder / "good.lwct")
    data = (folder / "good.lwct").read_bytes()
    for name, changed in (("cut", data[:-40]), ("flipped", data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])):
        (folder / f"{name}.lwct").write_bytes(changed)
        with pytest.raises(FormatError, match=f"{name}.lwct"):
            server.open_encrypted(folder / f"{name}.lwct")
    with pytest.raises(FormatError):
        server.open_encrypted(folder / "m.lwplan")
    other = lw.compile(network, weights=(W,), calibrate=ROWS, precision_bits=8).client()
    other.keygen()
    other.encrypt(ROWS[0]).save(folder / "other.lwct")
    with pytest.raises(ParameterMismatchError):
        server.open_encrypted(folder / "other.lwct")


def test_a_file_that_is_damaged_meanwhile_fails_the_run_that_reads_it(parties):
    folder, _, client, server = parties
    client.encrypt(ROWS).save(folder / "changed.lwct")
    opened = server.open_encrypted(folder / "changed.lwct")
    with (folder / "changed.lwct").open("r+b") as file:
        file.seek(-9, 2)
        byte = file.read(1)
        file.seek(-9, 2)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(FormatError, match="changed.lwct"):
        server(opened)


def test_the_command_streams_and_keeps_checkpoints(parties, monkeypatch):
    folder, _, client, server = parties
    monkeypatch.chdir(folder)
    client.encrypt(ROWS).save(folder / "many.lwct")
    words = ["run", str(folder / "m.lwplan"), str(folder / "many.lwct"), "-o", str(folder / "out.lwct"), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bytes"] == (folder / "out.lwct").stat().st_size
    assert (folder / "out.lwct").read_bytes() == server(client.load_encrypted(folder / "many.lwct")).to_bytes()
    client.encrypt(ROWS[0]).save(folder / "one.lwct")
    opened = server.open_encrypted(folder / "one.lwct")
    assert server(opened, checkpoint=folder / "state").to_bytes() == server(opened).to_bytes()
