"""Inputs in several parts: a database that is sent once, queries that are sent often, results of other circuits."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, uniform
from typer.testing import CliRunner

import latticework as lw
from latticework import _core
from latticework.cli import app
from latticework.errors import (
    DtypeError,
    FormatError,
    ParameterMismatchError,
    RangeError,
    SecretKeyError,
    ShapeError,
    TraceError,
)
from latticework.plan.schema.schema import IndexInput
from latticework.report import explain_file


@lw.program
def lookup(database: lw.Secret[8, 4], query: lw.Secret[4], trips: lw.Index):
    return lw.for_loop(trips, lambda i, v: v + database @ query, database @ query, at_most=2)


DATA = {"database": uniform((20, 8, 4)), "query": uniform((20, 4)), "trips": 2}
DATABASE, QUERY = DATA["database"][0], DATA["query"][1]


@pytest.fixture(scope="module")
def model():
    return lw.compile(lookup, calibrate=DATA, **INSECURE_SMALL)


@pytest.fixture(scope="module")
def keys(model):
    return model.client(threads=1).keygen()


@pytest.fixture(scope="module")
def client(model, keys):
    return model.client(keys=keys, threads=1)


@pytest.fixture(scope="module")
def server(model, keys):
    return model.server(keys.public(), threads=1)


@pytest.fixture(scope="module")
def database(client):
    return client.encrypt_part(database=DATABASE)


def test_a_database_is_sent_once_and_asked_often(client, server, database):
    before = database.to_bytes()
    for trips, query in ((0, QUERY), (1, -QUERY), (2, DATA["query"][2])):
        part = client.encrypt_part(query=query, trips=trips)
        answer = client.decrypt(server(database, part))
        want = (trips + 1) * (DATABASE @ query)
        assert np.abs(answer.reveal() - want).max() <= answer.error_bound + 1e-2 * np.abs(want).max()
    assert database.to_bytes() == before


def test_parts_are_the_same_in_any_order_and_put_together_before(client, server, database):
    query, trips = client.encrypt_part(query=QUERY), client.encrypt_part(trips=1)
    answer = server(database, query, trips).to_bytes()
    assert server(trips, query, database).to_bytes() == answer
    whole = server.inputs(database, query, trips)
    assert (set(whole.tensors), dict(whole.integers)) == ({"database", "query"}, {"trips": 1})
    assert server(whole).to_bytes() == answer
    assert server(server.inputs(query, None), server.inputs(trips, database)).to_bytes() == answer
    assert server(server.load_encrypted(whole.to_bytes())).to_bytes() == answer


def test_parts_of_a_public_key(model, keys, client, server, database):
    other = model.client(threads=1)
    other.use_public_key(keys.public().encryption)
    answer = client.decrypt(server(database, other.encrypt_part(query=QUERY, trips=0)))
    assert np.abs(answer.reveal() - DATABASE @ QUERY).max() < 0.05


def test_what_a_part_has_to_be(model, client):
    with pytest.raises(TraceError, match="has the inputs database, query, trips; missing: database, query, trips"):
        client.encrypt_part()
    with pytest.raises(TraceError, match="unknown or given twice: querry"):
        client.encrypt_part(querry=QUERY)
    with pytest.raises(ShapeError, match=r"input query has shape \(3,\)"):
        client.encrypt_part(query=QUERY[:3])
    with pytest.raises(RangeError, match="trips is 3; the program was compiled for 0 to 2"):
        client.encrypt_part(trips=3)
    with pytest.raises(SecretKeyError, match="the client has no key"):
        model.client().encrypt_part(query=QUERY)
    with pytest.raises(TraceError, match=r"missing: query, trips; .*encrypt_part .* takes some of the inputs alone"):
        client.encrypt(DATABASE)


def test_parts_that_do_not_fit_are_refused_by_name(model, client, server, database):
    query, trips = client.encrypt_part(query=QUERY), client.encrypt_part(trips=1)
    twice = "program lookup: input {} is given twice, by part {} of the encrypted inputs and by part {}"
    with pytest.raises(TraceError, match=twice.format("database", 1, 3)):
        server(database, query, database)
    with pytest.raises(TraceError, match=twice.format("trips", 2, 3)):
        server(database, trips, client.encrypt_part(query=QUERY, trips=1))
    with pytest.raises(TraceError, match=twice.format("query", 1, 2)):
        server.inputs(client.encrypt(DATABASE, QUERY, 1), query)
    with pytest.raises(ShapeError, match="the encrypted input query is missing, only database, trips came"):
        server(database, trips)
    missing = "the encrypted inputs database, query are missing and the run-time integer trips is missing, nothing came; encrypt all"
    with pytest.raises(ShapeError, match=missing):
        server()
    with pytest.raises(FormatError, match="expected the encrypted inputs of program lookup, got ndarray"):
        server(database, QUERY)
    with pytest.raises(FormatError, match="these are the outputs of program lookup, not its inputs"):
        server(database, server(database, query, trips))
    with pytest.raises(FormatError, match="part 2 of the encrypted inputs holds bonus, which is no input of it"):
        server(database, replace(query, tensors={"bonus": query.tensors["query"]}), trips)
    with pytest.raises(FormatError, match="holds query, which is no input of it"):
        server(database, replace(trips, integers={"query": 1}))
    stranger = model.client(threads=1)
    stranger.keygen()
    with pytest.raises(ParameterMismatchError, match="input query was encrypted under key set"):
        server(database, stranger.encrypt_part(query=QUERY), trips)


@pytest.mark.parametrize(
    "put_together", [lambda server, *parts: server(*parts), lambda server, *parts: server.inputs(*parts)]
)
def test_parts_of_another_compilation_are_refused(put_together, keys, server, database):
    """Other ranges make another compilation, here with the same parameters and the same key."""
    spec = server.plan.client
    narrower = replace(spec, inputs=(*spec.inputs[:2], IndexInput("trips", 1)))
    other = lw.Client(narrower, threads=1, allow_insecure=True)
    other.share_keys(keys)
    with pytest.raises(ParameterMismatchError, match="these are the inputs of another compilation of program lookup"):
        put_together(server, database, other.encrypt_part(query=QUERY, trips=1))


# Circuits


SMALL = {"scheme": "bfv", "effort": "fast"}


def test_inputs_that_share_a_ciphertext_are_one_part():
    @lw.circuit
    def total(a: lw.vector(2, group="g"), b: lw.scalar(group="g"), c: lw.vector(2)):
        return a[0] * c[0] + a[1] * c[1] + b

    model = lw.compile(total, **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    with pytest.raises(
        TraceError, match=r"circuit total: inputs a, b are sent in one ciphertext; encrypt b in the same part"
    ):
        client.encrypt_part(a=[1, 2])
    first, second = client.encrypt_part(a=[1, 2], b=3), client.encrypt_part(c=[4, 5])
    assert client.decrypt(server(first, second)).reveal() == 1 * 4 + 2 * 5 + 3
    with pytest.raises(ShapeError, match="the encrypted input c is missing, only a, b came"):
        server(first)
    with pytest.raises(TraceError, match="input a, b is given twice"):
        server(first, second, first)


def test_parts_beside_results_of_other_circuits():
    @lw.circuit
    def square(x: lw.vector(2)):
        return {"y": x * x}

    first = lw.compile(square, spare_levels=1, **SMALL)

    @lw.circuit
    def line(y: lw.vector(2, lanes=first.lanes("y")), slope: lw.scalar(), shift: lw.scalar(group="late")):
        return y * slope + shift

    second = lw.compile(line, like=first, **SMALL)
    one = first.client(threads=1)
    keys = one.keygen()
    two = second.client(keys=keys, threads=1)
    servers = first.server(keys.public(), threads=1), second.server(two.public_keys(), threads=1)
    squares = servers[0](one.encrypt([3, -4]))
    slope, shift = two.encrypt_part(slope=10), two.encrypt_part(shift=-1)
    got = two.decrypt(servers[1](servers[1].inputs(slope, shift, y=squares)))
    assert list(got.reveal()) == [89, 159]
    assert list(two.decrypt(servers[1](shift, servers[1].inputs(slope, y=squares))).reveal()) == [89, 159]
    own = two.encrypt_part(y=[1, 2])  # the client may give what another circuit could have computed
    assert list(two.decrypt(servers[1](own, slope, shift)).reveal()) == [9, 19]
    with pytest.raises(TraceError, match="given twice, by the encrypted inputs and by a result of circuit square"):
        servers[1].inputs(own, y=squares)
    with pytest.raises(ShapeError, match="the encrypted inputs y, shift are missing, only slope came"):
        servers[1](slope)


# Files


def of_its_own(*words):
    """The output of a command in a process of its own."""
    command = [sys.executable, "-m", "latticework", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def here(*words, status=0):
    """The output of a command in this process."""
    done = CliRunner().invoke(app, words)
    assert done.exit_code == status, done.output
    return done.output


def test_a_session_of_files(model, tmp_path, monkeypatch):
    """The server has the plan, the evaluation keys, a file of the database, and one of each query."""
    monkeypatch.chdir(tmp_path)
    model.save("m.lwplan")
    model.client().save("m.lwclient")
    np.save("db.npy", DATABASE)
    np.save("q.npy", QUERY)
    encrypt = ["encrypt", "m.lwclient", "--part", "-k", "keys", "--insecure"]
    here("keygen", "m.lwclient", "-o", "keys", "--insecure")
    assert "; holds database, not query, trips" in of_its_own(*encrypt, "database=db.npy", "-o", "db.lwct")
    here(*encrypt, "query=q.npy", "trips=2", "-o", "q.lwct")
    said = here(*encrypt, "q.npy", status=1)
    assert "1 of the inputs given have no name; write NAME=INPUT.npy for one of database, query, trips" in said
    assert "trips=2: trips was given before" in here(*encrypt, "trips=1", "trips=2", status=1)
    assert "holds       inputs of lookup: query, trips = 2 (not encrypted)" in here("explain", "q.lwct")
    said = here("run", "m.lwplan", "db.lwct", "-k", "keys/evaluation.lwkeys", status=1)
    assert "the encrypted input query is missing and the run-time integer trips is missing" in said
    of_its_own("run", "m.lwplan", "db.lwct", "q.lwct", "-k", "keys/evaluation.lwkeys", "-o", "y.lwct")
    here("decrypt", "m.lwclient", "y.lwct", "-k", "keys", "--insecure", "-o", "y.npy")
    np.testing.assert_allclose(np.load("y.npy"), 3 * (DATABASE @ QUERY), atol=0.05)


def test_files_say_what_they_hold(database, tmp_path):
    database.save(tmp_path / "part.lwct")
    assert "holds       inputs of lookup: database\n" in explain_file(tmp_path / "part.lwct")
    several = database.tensors["database"] * 2
    replace(database, tensors={"database": several}).save(tmp_path / "array.lwct")
    assert "inputs of lookup: database (2 ciphertexts)\n" in explain_file(tmp_path / "array.lwct")
    _core.save_ciphertexts(str(tmp_path / "bare.lwct"), list(several), ["a", "b"], {})
    assert "holds       a, b\n" in explain_file(tmp_path / "bare.lwct")


# -- integers that the server chooses --------------------------------------------------------------


def test_integers_alone_make_no_file(client, server, database, tmp_path):
    rest = client.encrypt_part(trips=1)
    server(database, client.encrypt_part(query=QUERY), rest)
    for write in (rest.to_bytes, lambda: rest.save(tmp_path / "rest.lwct")):
        with pytest.raises(TraceError, match="program lookup: trips=1 is public, and there is nothing encrypted"):
            write()
    assert not list(tmp_path.iterdir())


def test_the_server_may_choose_how_often_a_loop_runs(client, server):
    left_out = client.encrypt_part(database=DATABASE, query=QUERY)
    for trips in (0, 2):
        result = client.decrypt(server(left_out, trips=trips))
        assert np.all(np.abs(result.reveal() - lookup(DATABASE, QUERY, trips)) <= result.error_bound)
    of_client = replace(left_out, integers={"trips": 1})
    assert server(left_out, trips=np.int64(1)).to_bytes() == server(of_client).to_bytes()


CHOSEN = {
    "float": (2.0, DtypeError, "input trips is a float; give a whole number"),
    "truth value": (True, DtypeError, "input trips is a bool"),
    "negative": (-1, RangeError, "trips is -1; the program was compiled for 0 to 2: give a number in this range"),
    "above the limit": (3, RangeError, "trips is 3; the program was compiled for 0 to 2: compile with calibrate="),
}


@pytest.mark.parametrize("value, kind, message", CHOSEN.values(), ids=CHOSEN)
def test_integers_that_the_server_may_not_choose(client, server, database, value, kind, message):
    events = []
    with pytest.raises(kind, match=message):
        server(database, client.encrypt_part(query=QUERY), on_event=events.append, trips=value)
    assert not events


def test_what_is_encrypted_is_no_number_of_iterations(client, server, database):
    query = client.encrypt_part(query=QUERY)
    with pytest.raises(DtypeError, match="input trips is an Encrypted; how often a loop runs is public"):
        server(database, query, trips=query)
    with pytest.raises(TraceError, match="query is encrypted by the client; the server may choose .* which are trips"):
        server(database, query=2)
    with pytest.raises(TraceError, match="turns is no input of it"):
        server(database, query, turns=2)
    with pytest.raises(TraceError, match="input trips is given twice, by part 2 .* and by the server"):
        server(database, client.encrypt_part(query=QUERY, trips=1), trips=1)
    with pytest.raises(ShapeError, match="the run-time integer trips is missing"):
        server(database, query)
