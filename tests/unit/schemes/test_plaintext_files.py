"""Encoded plaintexts as files: the same residues come back, at the level asked for, in the smaller of two forms."""

import struct

import numpy as np
import pytest
from rlwe_cases import SCALE, coefficients_of, galois, random_slots, shared_case, to_bytes

from latticework import _core
from latticework.errors import FormatError, LevelError, ParameterMismatchError

KIND = _core.FileKind.PLAINTEXTS


@pytest.fixture(scope="module", params=["plain", "grouped"])
def case(request):
    return shared_case(request.param)


def saved(*plaintexts, **extras):
    return _core.save_plaintexts(None, list(plaintexts), [f"w{i}" for i in range(len(plaintexts))], extras)


def residues(case, plaintext):
    """What a plaintext does to a ciphertext, as bytes: equal iff its residues over Q are."""
    x = case.evaluator.trivial(plaintext)
    return to_bytes(x)


def integers(data, bits, count):
    """Two's complement, little endian, by the definition."""
    raw = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[: bits * count].reshape(count, bits)
    values = raw.astype(object) @ np.array([1 << i for i in range(bits)], dtype=object)
    return np.array([v - (1 << bits) if v >> (bits - 1) else v for v in values], dtype=object)


def test_small_integers_are_stored_as_such(case):
    values = random_slots(np.random.default_rng(1), case.n // 2)
    plaintext = case.encoder.encode(values, (0, case.top), 2.0**12)
    data = saved(plaintext, note="x")
    reader = _core.PlaintextReader(data, case.context)
    assert (reader.names, reader.extras, reader.level(0)) == (["w0"], {"note": "x"}, (0, case.top))
    container = _core.ContainerReader(data, [KIND])
    bits = reader.coefficient_bits(0)
    assert container.section_kind(0) == 2 and container.num_rows(0) == 1
    assert len(container.row(0, 0)) == -(-case.n * bits // 8 // 64) * 64
    found = integers(container.row(0, 0), bits, case.n)
    expected = coefficients_of(values, case.n) * 2.0**12
    assert np.max(np.abs(found.astype(float) - expected)) < 0.51
    assert bits == max(int(max(found)).bit_length(), int(-1 - min(found)).bit_length()) + 1
    for index in range(case.top + 1):
        lower = case.encoder.encode(values, (0, index), 2.0**12)
        assert residues(case, reader.read(0, (0, index))) == residues(case, lower)


def test_large_integers_are_stored_as_rows_of_their_level(case):
    large = case.encoder.encode(np.full(4, 1.4), (0, 1), 2.0**61)  # a constant term of 63 bits with its sign
    data = saved(large)
    reader = _core.PlaintextReader(data, case.context)
    container = _core.ContainerReader(data, [KIND])
    basis = case.parameters.basis((0, 1))
    assert reader.coefficient_bits(0) == 0 and container.num_rows(0) == len(basis)
    for index in (0, 1):
        limbs = case.parameters.basis((0, index))
        sizes = [case.n * (case.parameters.q[limb] - 1).bit_length() // 8 for limb in limbs]
        again = _core.PlaintextReader(data, case.context)
        before = again.touched_bytes
        part = again.read(0, (0, index))
        assert again.touched_bytes - before == -(-(8 + 48 * len(basis)) // 64) * 64 + sum(sizes)
        if index == 1:
            assert residues(case, part) == residues(case, large) and saved(part) == data


def test_one_limb_never_gains(case):
    """At level 0 of a single prime integers are not smaller; of small values they are."""
    values = np.ones(4)
    for scale in (2.0**20, SCALE):
        plaintext = case.encoder.encode(values, (0, 0), scale)
        reader = _core.PlaintextReader(saved(plaintext), case.context)
        assert residues(case, reader.read(0)) == residues(case, plaintext)
        assert reader.coefficient_bits(0) in (0, int(scale).bit_length() + 1)


def test_plaintexts_over_qp_and_products(case, tmp_path):
    rng = np.random.default_rng(3)
    weights, x = random_slots(rng, 32), case.encrypt(random_slots(rng, 32))
    path = tmp_path / "weights.lwpt"
    wide = case.encoder.encode(weights, (0, case.top), SCALE, "QP")
    narrow = case.encoder.encode(weights, (0, case.top), SCALE)
    assert _core.save_plaintexts(path, [wide, narrow], ["wide", "narrow"]) is None
    reader = _core.PlaintextReader(path, case.context)
    again = reader.read(1)
    assert to_bytes(case.evaluator.mul_plain(x, again)) == to_bytes(case.evaluator.mul_plain(x, narrow))
    over_qp = case.evaluator.key_product(case.evaluator.hoist(x), galois(1, case.n), case.keys)
    products = [
        to_bytes(case.evaluator.mod_down(case.evaluator.mul_plain(over_qp, w), (0, case.top), SCALE * SCALE))
        for w in (wide, reader.read(0))
    ]
    assert products[0] == products[1] and reader.read(0).basis == "QP"
    assert _core.save_plaintexts(None, [reader.read(0), again], ["wide", "narrow"]) == path.read_bytes()


def rebuilt(case, data, sections=None, **changes):
    """The file an attacker makes, every checksum right."""
    reader = _core.ContainerReader(data, [KIND])
    header = {"plaintexts": [reader.header["plaintexts"][0] | changes], "extras": {}}
    rows = [reader.row(0, i) for i in range(reader.num_rows(0))]
    sections = [(reader.section_kind(0), rows)] if sections is None else sections
    return _core.write_container(None, KIND, case.parameters.fingerprint, header, sections)


def test_bad_files_are_refused(case):
    data = saved(case.encoder.encode(np.ones(4), (0, 1), 2.0**20))
    assert rebuilt(case, data) == data
    bits = _core.PlaintextReader(data, case.context).coefficient_bits(0)
    changes = [
        *({"track": 9}, {"index": 9}, {"basis": 2}, {"scale": -1.0}, {"scale": float("inf")}, {"slots": 3}),
        *({"slots": case.n}, {"bits": 1}, {"bits": 63}, {"bits": 0}, {"bits": bits + 1}, {"name": 1}, {"more": 1}),
    ]
    for change in changes:
        with pytest.raises(FormatError):
            _core.PlaintextReader(rebuilt(case, data, **change), case.context).read(0)
    row = case.n * bits // 8
    for sections in (
        [],
        [(2, bytes(row))],
        [(1, [bytes(row)])],
        [(2, [bytes(row)] * 2)],
        [(2, [bytes(row)]), (2, b"")],
    ):
        with pytest.raises(FormatError):
            _core.PlaintextReader(rebuilt(case, data, sections), case.context).read(0)
    altered = bytearray(data)
    altered[-1] ^= 1
    with pytest.raises(FormatError, match="plaintext w0: its integers do not match their hash"):
        _core.PlaintextReader(bytes(altered), case.context).read(0)


def test_wrong_levels_and_parameters(case):
    data = saved(case.encoder.encode(np.ones(4), (0, 1), SCALE))
    reader = _core.PlaintextReader(data, case.context)
    with pytest.raises(LevelError, match="w0 is at .* choose a lower level of the same track"):
        reader.read(0, (0, 2))
    other = shared_case("plain" if case is shared_case("grouped") else "grouped")
    with pytest.raises(ParameterMismatchError):
        _core.PlaintextReader(data, other.context)
    with pytest.raises(ParameterMismatchError):
        _core.save_plaintexts(
            None, [reader.read(0), other.encoder.encode(np.ones(4), (0, 1), SCALE)], ["ours", "theirs"]
        )
    with pytest.raises(ValueError, match="0 plaintexts"):
        _core.save_plaintexts(None, [], [])
    assert struct.unpack_from("<HHH", data, 8) == (2, 0, KIND)
