"""Another valid file written over one in use: what is read later is refused, never taken for what was opened."""

import numpy as np
import pytest
from rlwe_cases import SCALE, galois, shared_case, spec, to_bytes
from test_mapped_keys import in_turn, mapped

from latticework import _core
from latticework.errors import FormatError

ELEMENTS = [galois(1, 1024), galois(-3, 1024), 2 * 1024 - 1]


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


def keys_of(case, secret):
    """The keys that the program of `in_turn` needs, of one secret key."""
    specs = [spec("relin", 0, 4), *(spec("galois", element, 4) for element in ELEMENTS)]
    return _core.save_evaluation_keys(None, _core.KeyGenerator(case.context).evaluation_keys(secret, specs))


def first_version(data):
    """The same content as a build before sections of rows wrote it."""
    reader = _core.ContainerReader(data, list(_core.FileKind))
    sections = [(reader.section_kind(i), reader.section(i)) for i in range(reader.num_sections)]
    return _core.write_container(None, reader.kind, reader.parameters, reader.header, sections)


def overwrite(path, data):
    """In place, so that whoever has the file open sees it."""
    assert path.stat().st_size == len(data)
    with path.open("r+b") as file:
        file.write(data)


@pytest.mark.parametrize("stored", [bytes, first_version], ids=["rows", "without rows"])
@pytest.mark.parametrize("used", [(), (0,), (0, 1, 2)], ids=["unused", "one used", "all used"])
def test_keys_of_another_secret_are_never_used(case, tmp_path, stored, used):
    ours = stored(keys_of(case, case.secret_key))
    other = stored(keys_of(case, _core.KeyGenerator(case.context).secret_key()))
    path = tmp_path / "keys.lwkeys"
    path.write_bytes(ours)
    x = case.encrypt(np.arange(64.0))
    keys = mapped(case, path, 3)  # the least: nothing stays for another run
    executor = _core.Executor(case.context, in_turn((0, 1, 2, 0)), keys)
    some = _core.Executor(case.context, in_turn(used), keys) if used else None
    if some is not None:
        some.run([x])
    overwrite(path, other)
    for _ in range(3):
        with pytest.raises(FormatError, match="does not match its hash|do not match their hash"):
            executor.run([x])
    overwrite(path, ours)
    (y,) = executor.run([x])
    expected = x
    for number in (0, 1, 2, 0):
        expected = case.evaluator.rotate(expected, ELEMENTS[number], _core.load_evaluation_keys(ours, case.context))
    assert to_bytes(y) == to_bytes(expected)


@pytest.mark.parametrize("stored", [bytes, first_version], ids=["rows", "without rows"])
def test_other_values_are_refused(case, tmp_path, stored):
    def ciphertexts(scale):
        x = case.evaluator.square(case.encrypt(np.full(8, scale), 1))
        return stored(_core.save_ciphertexts(None, [x], ["x"]))

    def plaintexts(factor):
        return _core.save_plaintexts(None, [case.encoder.encode(np.full(8, factor), (0, 1), SCALE)], ["w"])

    for make, reader in ((ciphertexts, _core.CiphertextReader), (plaintexts, _core.PlaintextReader)):
        path = tmp_path / make.__name__
        path.write_bytes(make(0.9))
        held = reader(path, case.context)
        held.read(0)
        overwrite(path, make(0.8))
        with pytest.raises(FormatError, match="not match"):
            held.read(0)
