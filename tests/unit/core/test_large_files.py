"""Files that describe thousands of values: they load, stay compact, and bound what a reader makes of them."""

import dataclasses
import struct

import numpy as np
import pytest
from rlwe_cases import SCALE, shared_case
from vec_cases import Vectors, plan_of, small_chain

from latticework import _core
from latticework.errors import FormatError
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.runtime.exchange.encrypted import INPUTS, Encrypted, load_encrypted

MANY = 5000
PROLOGUE, ENTRY = 128, 64


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


@pytest.fixture(scope="module")
def values(case):
    """Fresh ones, half as large in files, between others."""
    fresh = [case.encrypt(np.full(8, float(i)), 0) for i in range(3)]
    sums = [case.evaluator.add(fresh[0], fresh[1]), case.evaluator.add(fresh[1], fresh[2])]
    return [fresh[i % 3] for i in range(MANY)], sums


def version(data):
    return struct.unpack_from("<H", data, 8)[0]


def head_bytes(data):
    header, sections = struct.unpack_from("<II", data, 16)
    return PROLOGUE + header + ENTRY * sections


def test_many_ciphertexts_are_saved_and_loaded(case, values, tmp_path):
    seeded, sums = values
    given = [*seeded[:2500], *sums, *seeded[2500:]]
    names = [f"x[{i}]" for i in range(len(given))]
    path = tmp_path / "many.lwct"
    _core.save_ciphertexts(str(path), given, names, {"note": 1})
    data = path.read_bytes()
    loaded, found, extras = _core.load_ciphertexts(str(path), case.context)
    assert (found, extras) == (names, {"note": 1})
    for i in (0, 1, 2499, 2500, 2501, 2502, len(given) - 1):
        assert loaded[i].is_seeded == given[i].is_seeded
        np.testing.assert_array_equal(case.decryptor.decrypt(loaded[i]), case.decryptor.decrypt(given[i]))
    assert _core.save_ciphertexts(None, loaded, found, extras) == data
    assert version(data) == 3 and _core.ContainerReader(data, [6]).num_sections == 3
    assert head_bytes(data) < 55 * len(given)  # a name and a seed each


def test_one_of_many_is_read_alone(case, values):
    data = _core.save_ciphertexts(None, values[0][:1500], [str(i) for i in range(1500)])
    reader = _core.CiphertextReader(data, case.context)
    before = reader.touched_bytes
    x = reader.read(1499)
    assert reader.touched_bytes - before < 1500 * 48 + 64 + 8192  # the table of rows, and a row
    np.testing.assert_array_equal(case.decryptor.decrypt(x), case.decryptor.decrypt(values[0][1499]))
    altered = bytearray(data)
    altered[-1] ^= 1
    reader = _core.CiphertextReader(bytes(altered), case.context)
    reader.read(0)
    with pytest.raises(FormatError, match=r"ciphertext 1499, poly 0, limb 0: the row does not match"):
        reader.read(1499)


def test_a_file_of_few_is_one_that_older_builds_read(values):
    data = _core.save_ciphertexts(None, values[0][:500], [str(i) for i in range(500)])
    reader = _core.ContainerReader(data, [6])
    assert version(data) == 2 and reader.num_sections == 500
    assert set(reader.header) == {"key_set", "ciphertexts", "extras"}
    assert set(reader.header["ciphertexts"][0]) == {
        "name", "track", "index", "scale", "slots", "degree", "seed", "object"
    }  # fmt: skip


def test_large_arrays_and_many_tensors_of_a_program(case, values):
    tensors = {"x": tuple(values[0]), **{f"y{i}": (values[1][0],) for i in range(200)}}
    given = Encrypted(INPUTS, "program", bytes(32), tensors, {"n": 3})
    loaded = load_encrypted(given.to_bytes(), case.context)
    assert {name: len(array) for name, array in loaded.tensors.items()} == {n: len(a) for n, a in tensors.items()}
    assert loaded.integers == {"n": 3} and len(loaded._repr_html_()) < 50_000


def test_many_plaintexts(case):
    plain = case.encoder.encode(np.arange(8.0), (0, 0), SCALE)
    names = [f"w{i}" for i in range(MANY)]
    data = _core.save_plaintexts(None, [plain] * MANY, names)
    reader = _core.PlaintextReader(data, case.context)
    assert reader.names == names and version(data) == 3
    found = case.decryptor.decrypt(case.encryptor.encrypt(reader.read(MANY - 1)))
    np.testing.assert_allclose(found, np.arange(8.0), atol=1e-9)


def test_a_plan_with_many_inputs_and_outputs():
    v = Vectors(1500)
    plan = plan_of(v.done(*(v.op("neg", x) for x in v.x)), small_chain(1))
    data = write_plan(plan)
    again = read_plan(data)
    assert again == dataclasses.replace(plan, sources=again.sources) and write_plan(again) == data


# What a file may not do


def container(case, groups, rows):
    header = {"key_set": bytes(16), "groups": groups, "extras": {}}
    return _core.write_container(None, 6, case.context.parameters.fingerprint, header, [(1, rows)])


def test_groups_that_contradict_themselves_are_refused(case):
    group = {"names": ["a", "b"], "track": 0, "index": 0, "scale": SCALE, "slots": 8, "degree": 1}
    rows = [bytes(6144)] * 4
    loaded, names, _ = _core.load_ciphertexts(container(case, [group], rows), case.context)
    assert names == ["a", "b"] and not loaded[0].is_seeded
    assert _core.load_ciphertexts(container(case, [group | {"seeds": bytes(80)}], rows[:2]), case.context)[0][
        1
    ].is_seeded
    for changed, given, message in (
        ({"seeds": bytes(79)}, rows[:2], "seeds: expected 80 bytes, got 79"),
        ({"seeds": bytes(80)}, rows, "has 24576 bytes in 4 rows; these parameters need 12288 in 2 rows"),
        ({"seeds": bytes(80), "degree": 2}, rows, "a seeded ciphertext has degree 1"),
        ({"names": []}, rows, "at least one ciphertext"),
        ({"names": ["a"] * 1000}, rows, "these parameters need 12288000 in 2000 rows"),
        ({"names": ["a", 1]}, rows, r"names\[1\]: expected text"),
        ({"more": 1}, rows, '"more" is unknown'),
        ({}, rows[:3], "has 18432 bytes in 3 rows"),
        ({}, [*rows[:3], bytes(6144 - 64), bytes(64)][:4], "these parameters need 24576 in 4 rows"),
        ({}, [bytes(6080), bytes(6208), *rows[:2]], "these parameters need 24576 in 4 rows"),
    ):
        with pytest.raises(FormatError, match=message):
            _core.load_ciphertexts(container(case, [group | changed], given), case.context)


def forged(data, major):
    """The version changed, and the head's hash made right."""
    header, sections = struct.unpack_from("<II", data, 16)
    head = bytearray(data)
    struct.pack_into("<H", head, 8, major)
    end = PROLOGUE + header + ENTRY * sections
    head[64:96] = _core.blake3(bytes(head[:64] + head[PROLOGUE:end]))
    return bytes(head)


def test_large_heads_belong_to_their_version_and_have_limits():
    parameters = bytes(32)
    large = _core.write_container(None, 2, parameters, {"x": bytes(65536)}, [])
    many = _core.write_container(None, 2, parameters, {}, [(1, b"")] * 4097)
    assert (version(large), version(many)) == (3, 3)
    assert _core.ContainerReader(large, [2]).header == {"x": bytes(65536)}
    assert _core.ContainerReader(many, [2]).num_sections == 4097
    for data in (large, many):
        with pytest.raises(FormatError, match="expected at most"):
            _core.ContainerReader(forged(data, 2), [2])
    with pytest.raises(ValueError, match="262146 values, at most 262144"):
        _core.write_container(None, 2, parameters, {"x": [0] * (2**18)}, [])
    with pytest.raises(ValueError, match="at most 4194304"):
        _core.write_container(None, 2, parameters, {"x": bytes(4 << 20)}, [])
    with pytest.raises(ValueError, match="65537 sections"):
        _core.write_container(None, 2, parameters, {}, [(1, b"")] * 65537)
    short = _core.write_container(None, 2, parameters, {"x": bytes(2**18)}, [])
    crowded = short.replace(b"\x61x\x5a" + struct.pack(">I", 2**18), b"\x61x\x9a" + struct.pack(">I", 2**18))
    with pytest.raises(FormatError, match="more than 262144 values"):
        _core.ContainerReader(forged(crowded, 3), [2])
