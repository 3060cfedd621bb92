"""Errors of clients and servers name the line that called them, and where the program declares the input."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL

import latticework as lw
from latticework.commands import encrypt
from latticework.errors import PrecisionError, RangeError, SecretKeyError, ShapeError, UserError
from latticework.plan.files.serialise import interface_id, read_client, write_client

HERE = Path(__file__).name
SMALL = {"ring_degree": 1024, "insecure": True}


@lw.program
def mixed(
    x: lw.Secret[3, 2],  # x is declared
    n: lw.Index,  # n is declared
):
    return lw.for_loop(n, lambda i, y: y + np.roll(x, 1, axis=0), x, at_most=3)


@lw.circuit
def summed(a: lw.vector(4)):  # a is declared
    return sum(a)


def line_of(text):
    with open(__file__) as file:
        return next(number for number, line in enumerate(file, 1) if line.rstrip().endswith("# " + text))


@pytest.fixture(scope="module")
def client():
    made = lw.compile(mixed, **SMALL).client()
    made.keygen()
    return made


def refused(action, kind=UserError):
    """The error, which is at the line of the action that calls latticework."""
    with pytest.raises(kind) as caught:
        action()
    assert str(caught.value.at) == f"{__file__}:{action.__code__.co_firstlineno}"
    assert str(caught.value).startswith(f"{caught.value.at}: ")
    return caught.value.message


def test_inputs_name_the_caller_and_the_declaration(client):
    message = refused(lambda: client.encrypt(np.ones((5, 2)), 1), ShapeError)
    assert "input x has shape (5, 2), the program was compiled for (3, 2)" in message
    assert message.endswith(f"(x is declared in {HERE}:{line_of('x is declared')})")
    message = refused(lambda: client.encrypt(np.full((3, 2), 9.0), 1), RangeError)
    assert message.endswith(f"(x is declared in {HERE}:{line_of('x is declared')})")
    message = refused(lambda: client.encrypt(np.ones((3, 2)), 9), RangeError)
    assert message.endswith(f"(n is declared in {HERE}:{line_of('n is declared')})")
    assert "missing: n" in refused(lambda: client.encrypt(np.ones((3, 2))))
    circuit = lw.compile(summed, **SMALL).client()
    message = refused(lambda: circuit.encrypt(np.ones(5)), ShapeError)
    assert message.endswith(f"(a is declared in {HERE}:{line_of('a is declared')})")


def test_keys_results_and_files_name_the_caller(client, tmp_path):
    keyless = lw.compile(mixed, **SMALL).client()
    assert "no key: call keygen()" in refused(lambda: keyless.encrypt(np.ones((3, 2)), 1), SecretKeyError)
    assert "use_secret_key takes a SecretKey" in refused(lambda: keyless.use_secret_key("secret"))
    assert "takes a PublicKey" in refused(lambda: keyless.use_public_key(None))
    given = client.encrypt(np.ones((3, 2)), 1)
    assert "outputs" in refused(lambda: client.decrypt(given))
    (tmp_path / "secret.lwkey").write_bytes(b"none")
    assert refused(lambda: keyless.load_keys(tmp_path))
    server = lw.compile(mixed, **SMALL).server(client.public_keys())
    assert "nothing came" in refused(lambda: server(), ShapeError)


def test_the_declaration_is_in_files_and_no_part_of_the_interface(client, tmp_path):
    client.save(tmp_path / "client.lwclient")
    spec = read_client(tmp_path / "client.lwclient")
    assert dict(spec.declared) == {n: f"{HERE}:{line_of(n + ' is declared')}" for n in "xn"}
    moved = replace(spec, declared=())
    assert interface_id(moved) == interface_id(spec)
    assert read_client(write_client(moved)) == moved  # a file from before places were stored
    made = lw.Client(moved, allow_insecure=True)
    assert "declared in" not in refused(lambda: made.encrypt(np.ones((5, 2)), 1), ShapeError)


def test_the_command_line_names_no_line_of_its_own(client):
    code = compile("def call(): client.encrypt(np.ones((5, 2)), 1)", encrypt.__file__, "exec")
    space = {"client": client, "np": np}
    exec(code, space)
    with pytest.raises(ShapeError) as caught:
        space["call"]()
    assert caught.value.at is None and str(caught.value).startswith("program mixed, input x has shape (5, 2)")


@lw.program
def doubled(x: lw.Secret[4]):
    return 2 * x


@lw.program
def squared(x: lw.Secret[4]):
    return x * x  # squares


def test_inputs_that_no_client_could_encrypt_are_refused_when_compiled():
    data = np.random.default_rng(0).uniform(-1e13, 1e13, size=(20, 4))
    with pytest.raises(RangeError) as caught:
        lw.compile(doubled, calibrate=data, **SMALL)
    assert caught.value.at is doubled.loc
    found = re.fullmatch(
        r"program doubled: the values of x reach (1\.\d+e\+13), clients can encrypt values up to (.*) here: give x "
        r"divided by a public number such as 1e\+13, and multiply .*",
        caught.value.message,
    )
    most = float(found.group(2))
    fitting = lw.compile(doubled, calibrate=data * (most / 1e13 / 2), **SMALL)
    made = fitting.client()
    made.keygen()
    made.encrypt(data[0] * (most / 1e13 / 2))


def test_values_without_room_say_what_to_do():
    data = np.random.default_rng(0).uniform(-1e9, 1e9, size=(20, 4))
    with pytest.raises(
        RangeError, match=r"a value here reaches \d.*e\+1\d, and there is room for .*: scale the inp"
    ) as e:
        lw.compile(squared, calibrate=data, **INSECURE_SMALL)
    assert str(e.value.at) == f"{__file__}:{line_of('squares')}"


@pytest.mark.filterwarnings("error")
def test_errors_that_grow_without_end():
    @lw.program
    def powers(x: lw.Secret[8]):
        return lw.for_loop(64, lambda i, y: y * y, x)

    with pytest.raises(PrecisionError, match="errors grow without end.*write fewer products or iterations") as caught:
        lw.compile(powers)
    assert caught.value.at is powers.loc
