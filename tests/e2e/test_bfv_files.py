"""Exact programs through files: three processes, what clients refuse, and plans of both schemes side by side."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework import _core
from latticework.errors import DecryptionError, DtypeError, ParameterMismatchError, RangeError, ShapeError
from latticework.model import Model
from latticework.plan.files.serialise import read_client, write_client
from latticework.plan.parameters.fingerprint import fingerprint
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server


@lw.circuit
def score(x: lw.vector(3, low=-100, high=100), y: lw.scalar(low=0, high=9)):
    return x[0] * x[1] + y * x[2]


VALUES = {"x": np.array([5, -6, 100]), "y": 3}
RESULT = 270


@pytest.fixture(scope="module")
def model():
    return lw.compile(score, scheme="bfv", ring_degree=2048, insecure=True, effort="fast")


@pytest.fixture(scope="module")
def session(model):
    client = model.client(threads=1)
    return client, model.server(client.keygen().public(), threads=1)


def latticework(folder, *arguments):
    command = [sys.executable, "-m", "latticework", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_client_and_server_are_processes_that_share_files(model, tmp_path):
    model.save(tmp_path / "model.lwplan")
    model.client(threads=1).save(tmp_path / "model.lwclient")
    np.savez(tmp_path / "values.npz", **VALUES)
    latticework(tmp_path, "keygen", "model.lwclient", "-o", "keys", "--insecure")
    latticework(tmp_path, "encrypt", "model.lwclient", "values.npz", "-k", "keys", "-o", "in.lwct", "--insecure")
    latticework(tmp_path, "run", "model.lwplan", "in.lwct", "-k", "keys/evaluation.lwkeys", "-o", "out.lwct")
    shown = latticework(tmp_path, "decrypt", "model.lwclient", "out.lwct", "-k", "keys", "--insecure")
    assert str(RESULT) in shown
    assert "integers modulo" in latticework(tmp_path, "explain", "model.lwplan")


def test_a_loaded_plan_computes_the_same_bytes(model, tmp_path):
    client = model.client(threads=1)
    model.save(tmp_path / "model.lwplan")
    loaded = Model.load(tmp_path / "model.lwplan")
    keys = client.keygen().public()
    first, second = Server(model.plan, keys, threads=1), Server(loaded.plan, keys, threads=2)
    inputs = client.encrypt(**VALUES)
    assert first(inputs).to_bytes() == second(inputs).to_bytes()
    assert loaded.simulate(**VALUES) == RESULT


def test_keys_may_stay_in_their_file(model, tmp_path):
    client = model.client(threads=1)
    model.save(tmp_path / "model.lwplan")
    client.keygen().save(tmp_path / "keys")
    server = Server.load(
        tmp_path / "model.lwplan", tmp_path / "keys" / "evaluation.lwkeys", key_memory="100KB", threads=1
    )
    assert client.decrypt(server(client.encrypt(**VALUES))).reveal() == RESULT


def test_anyone_can_encrypt_with_the_public_key(model):
    owner, other = model.client(threads=1), model.client(threads=1)
    keys = owner.keygen().public()
    other.use_public_key(keys.encryption)
    assert owner.decrypt(model.server(keys, threads=1)(other.encrypt(**VALUES))).reveal() == RESULT


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"y": 2.5}, DtypeError, "input y is no integer"),
        ({"y": 10}, RangeError, "outside 0 to 9, which the circuit was compiled for"),
        ({"x": [1, 2, -101]}, RangeError, "input x, column 2 is outside -100 to 100"),
        ({"x": [1, 2]}, ShapeError, "shape"),
        ({"x": ["a", "b", "c"]}, DtypeError, "dtype"),
        ({"x": [1, 2, float("nan")]}, RangeError, "NaN"),
        ({"x": [1, 2, 1 << 70]}, RangeError, "input x, column 2 is a whole number of more than 62 bits"),
    ],
)
def test_what_is_no_integer_in_range_is_refused(session, changed, error, message):
    client, _ = session
    with pytest.raises(error, match=message):
        client.encrypt(**(VALUES | changed))


def test_whole_floats_and_results_as_int64(session):
    client, server = session
    found = client.decrypt(server(client.encrypt(x=np.array([5.0, -6.0, 100.0]), y=3.0)))
    assert found.reveal().dtype == np.int64 and found.reveal() == RESULT
    assert found.error_bound == 0


def test_noise_that_ate_the_message_is_no_result(model, session):
    client, server = session
    output = server(client.encrypt(**VALUES))
    ((name, (ciphertext,)),) = output.tensors.items()
    ruined = _core.Evaluator(client.context).mul_int(ciphertext, (1 << 61) - 1, 1.0)  # so is its noise
    broken = type(output)(output.role, output.program, output.interface, {name: (ruined,)}, {})
    with pytest.raises(DecryptionError):
        client.decrypt(broken)


def test_ciphertexts_of_the_other_scheme_are_refused(model, session):
    ckks = lw.compile(score, ring_degree=2048, insecure=True, effort="fast", precision_bits=8)
    client, server = session
    other = ckks.client(threads=1)
    other.keygen()
    inputs = other.encrypt(**VALUES)
    with pytest.raises(ParameterMismatchError):
        server(inputs)
    with pytest.raises(ParameterMismatchError):
        client.load_encrypted(inputs.to_bytes())


def test_client_files_name_the_plaintext_modulus(model):
    spec = model.plan.client
    assert read_client(write_client(spec)) == spec
    assert spec.chain.plain_modulus > 0
    other = replace(spec, chain=replace(spec.chain, plain_modulus=0))
    assert len(write_client(other)) < len(write_client(spec))
    assert fingerprint(other.chain) != fingerprint(spec.chain)


def test_clients_refuse_insecure_files_without_a_word(model, tmp_path):
    model.client(threads=1).save(tmp_path / "model.lwclient")
    with pytest.raises(lw.errors.SecurityError, match="INSECURE"):
        Client.load(tmp_path / "model.lwclient")
