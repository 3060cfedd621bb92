"""Keys and ciphertexts as files: what comes back, what is refused, and what each refusal says."""

import os
import stat

import numpy as np
import pytest
from rlwe_cases import SCALE, galois, make_case, plain_parameters, random_slots, shared_case, spec, to_bytes

from latticework import _core
from latticework.errors import FormatError, ParameterMismatchError, SecretKeyError

KIND_SECRET, KIND_PUBLIC, KIND_EVALUATION, KIND_CIPHERTEXTS = 3, 4, 5, 6


@pytest.fixture(scope="module")
def case():
    return shared_case("plain")


@pytest.fixture(scope="module")
def public_key(case):
    return _core.KeyGenerator(case.context).public_key(case.secret_key)


@pytest.fixture(scope="module")
def files(case, public_key):
    """Bytes of one file of each kind that exists in memory, and how it is loaded."""
    mixed = [case.encrypt(np.arange(8.0)), case.evaluator.square(case.encrypt(np.ones(4), 2))]
    return {
        "public key": (_core.save_public_key(None, public_key), _core.load_public_key),
        "evaluation keys": (_core.save_evaluation_keys(None, case.keys), _core.load_evaluation_keys),
        "ciphertexts": (_core.save_ciphertexts(None, mixed, ["x", "y"], {"note": "hello"}), _core.load_ciphertexts),
    }


def packed_bytes(parameters, limbs: list[int], polys: int) -> int:
    """Residues at the width of their prime; every row is a multiple of 64 bytes as N >= 2^10."""
    primes = parameters.q + parameters.p
    return polys * sum(parameters.ring_degree * (primes[limb] - 1).bit_length() // 8 for limb in limbs)


def unpack(data: bytes, width: int, count: int) -> np.ndarray:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[: width * count]
    return bits.reshape(count, width).astype(object) @ np.array([1 << i for i in range(width)], dtype=object)


# Secret keys


def test_secret_key_file_is_private_and_ternary(case, tmp_path):
    path = tmp_path / "secret.lwk"
    _core.save_secret_key(path, case.secret_key, case.context)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = _core.load_secret_key(path, case.context)
    assert again.key_set == case.secret_key.key_set
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"secret.lwk: is there already, and this file replaces no other"):
        _core.save_secret_key(path, case.secret_key, case.context)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    values = np.arange(16.0)
    decrypted = _core.Decryptor(case.context, again).decrypt(case.encrypt(values))
    np.testing.assert_allclose(decrypted, values, atol=1e-7)

    reader = _core.ContainerReader(path, kinds=[KIND_SECRET])
    codes = unpack(bytes(reader.section(0)), 2, case.n).astype(int)
    counts = np.bincount(codes, minlength=4)
    assert counts[3] == 0 and np.all(np.abs(counts[:3] - case.n / 3) < 6 * (case.n * 2 / 9) ** 0.5)


def test_secret_key_is_never_taken_for_something_else(case, tmp_path):
    path = tmp_path / "secret.lwk"
    _core.save_secret_key(path, case.secret_key, case.context)
    for load in (_core.load_evaluation_keys, _core.load_public_key, _core.load_ciphertexts):
        for source in (path, path.read_bytes()):
            with pytest.raises(
                SecretKeyError, match=r"is a secret key, not (evaluation keys|a public key|ciphertexts)"
            ):
                load(source, case.context)


def test_secret_key_file_with_a_fourth_value_is_refused(case, tmp_path):
    path = tmp_path / "secret.lwk"
    header = {"key_set": bytes(range(16))}
    good = b"\x24" * (case.n // 4)  # 0, 1, 2, 0 -> -1, 0, 1, -1
    for data, message in [(b"\xff" + good[1:], "not ternary"), (good[:-1], "expected 256"), (good + b"\0", "expected")]:
        _core.write_container(path, KIND_SECRET, case.parameters.fingerprint, header, [(1, data)])
        with pytest.raises(FormatError, match=message):
            _core.load_secret_key(path, case.context)
        path.unlink()
    _core.write_container(path, KIND_SECRET, case.parameters.fingerprint, header, [(1, good)])
    _core.load_secret_key(path, case.context)


# Public material


def test_public_key_round_trip_encrypts(case, files):
    data, load = files["public key"]
    again = load(data, case.context)
    assert _core.save_public_key(None, again) == data
    values = np.arange(8.0)
    ciphertext = _core.Encryptor(case.context, again).encrypt(case.encoder.encode(values, (0, 2), SCALE))
    np.testing.assert_allclose(case.decryptor.decrypt(ciphertext), values, atol=1e-6)


def test_a_public_key_over_q_alone_still_encrypts_with_more_noise(case, files):
    """Files of earlier builds have no special limb: half as many bits, and the noise of e u + e0 + e1 s undivided."""
    data, load = files["public key"]
    reader = _core.ContainerReader(data, kinds=[KIND_PUBLIC])
    rows = b"".join(reader.row(0, 1 + i) for i in range(len(case.parameters.q)))
    old = _core.write_container(None, KIND_PUBLIC, case.parameters.fingerprint, reader.header, [(2, rows)])
    plain = case.encoder.encode(np.zeros(512), (0, 2), SCALE)
    errors = []
    for source in (data, old):
        key = load(source, case.context)
        slots = case.decryptor.decrypt(_core.Encryptor(case.context, key).encrypt(plain))
        errors.append(np.std(slots.real))
    assert 12 < errors[1] / errors[0] < 21  # sqrt(10.5 * 2 * 12) = 15.9


def test_evaluation_keys_round_trip_computes_the_same_bytes(case, files, tmp_path):
    data, load = files["evaluation keys"]
    path = tmp_path / "keys.lwk"
    assert _core.save_evaluation_keys(path, case.keys) is None
    assert path.read_bytes() == data
    again = load(path, case.context)
    assert again.specs == case.keys.specs and again.key_set == case.keys.key_set
    x = case.encrypt(random_slots(np.random.default_rng(3), 32))
    e, element = case.evaluator, galois(-3, case.n)
    assert to_bytes(e.rotate(x, element, again)) == to_bytes(e.rotate(x, element, case.keys))


def test_a_stored_key_is_half_its_size_and_one_section(case, files):
    data, _ = files["evaluation keys"]
    reader = _core.ContainerReader(data, kinds=[KIND_EVALUATION])
    assert reader.num_sections == len(case.keys)
    limbs = [5, 6, 0, 1, 2, 3, 4]
    assert len(reader.section(0)) == packed_bytes(case.parameters, limbs, polys=3)
    # the first row of a digit is modulo the first special prime, bit-packed little endian
    width = (case.parameters.p[0] - 1).bit_length()
    row = unpack(bytes(reader.section(0))[: case.n * width // 8], width, case.n)
    assert max(row) < case.parameters.p[0] and max(row) > case.parameters.p[0] // 2


# Ciphertexts


def test_ciphertexts_round_trip_with_names_and_extras(case, files, tmp_path):
    data, load = files["ciphertexts"]
    (x, y), names, extras = load(data, case.context)
    assert names == ["x", "y"] and extras == {"note": "hello"}
    assert (x.level, x.scale, x.slots, x.degree) == ((0, 4), SCALE, 8, 1)
    assert (y.level, y.scale, y.slots, y.degree) == ((0, 2), SCALE**2, 4, 2)
    assert x.is_seeded and not y.is_seeded and x.key_set == case.secret_key.key_set
    assert x.parameters == case.parameters.fingerprint
    np.testing.assert_allclose(case.decryptor.decrypt(x), np.arange(8), atol=1e-7)
    assert _core.save_ciphertexts(None, [x, y], names, extras) == data
    path = tmp_path / "x.lwc"
    _core.save_ciphertexts(path, [x, y], names, extras)
    assert path.read_bytes() == data


def test_seeded_ciphertext_is_its_c0_and_expands_to_the_same_bits(case):
    fresh = case.encrypt(np.arange(8.0))
    data = to_bytes(fresh)
    reader = _core.ContainerReader(data, kinds=[KIND_CIPHERTEXTS])
    assert len(reader.section(0)) == packed_bytes(case.parameters, case.parameters.basis((0, 4)), polys=1)
    (again,), _, _ = _core.load_ciphertexts(data, case.context)
    once, twice = (to_bytes(case.evaluator.neg(x)) for x in (fresh, again))  # no longer seeded: c1 is written out
    assert once == twice and len(once) > len(data)


def test_only_ciphertexts_of_one_kind_are_saved(case):
    other = make_case(case.parameters)
    with pytest.raises(ParameterMismatchError, match="key set"):
        to_bytes(case.encrypt(np.ones(4)), other.encrypt(np.ones(4)))
    with pytest.raises(ParameterMismatchError):
        to_bytes(case.encrypt(np.ones(4)), shared_case("grouped").encrypt(np.ones(4)))
    with pytest.raises(ValueError, match="0 ciphertexts"):
        _core.save_ciphertexts(None, [], [])


# Refusals


def test_every_cut_is_refused(case, files):
    for data, load in files.values():
        for size in [0, 1, 64, 127, 128, 200, len(data) // 2, len(data) - 4096, len(data) - 1]:
            with pytest.raises(FormatError):
                load(data[:size], case.context)
        with pytest.raises(FormatError):
            load(data + b"\0", case.context)


def test_every_flipped_bit_is_refused(case, files):
    rng = np.random.default_rng(5)
    for data, load in files.values():
        for place in [*rng.integers(0, 512, 40), *rng.integers(0, len(data), 40)]:
            altered = bytearray(data)
            altered[place] ^= 1 << rng.integers(8)
            with pytest.raises((FormatError, ParameterMismatchError, SecretKeyError)):
                load(bytes(altered), case.context)


def test_wrong_parameters_name_both(case, files):
    foreign = shared_case("grouped").context
    for data, load in files.values():
        with pytest.raises(ParameterMismatchError) as error:
            load(data, foreign)
        for parameters in (case.parameters, foreign.parameters):
            assert parameters.fingerprint.hex()[:16] in str(error.value)


def test_wrong_kind_is_refused(case, files):
    for name, (data, _) in files.items():
        for other, (_, load) in files.items():
            if other != name:
                with pytest.raises(FormatError):
                    load(data, case.context)


Content = bytes | list[bytes]  # of a section: its bytes, or its rows


def sections_of(data: bytes, kind: int) -> tuple[dict, list[tuple[int, Content]]]:
    reader = _core.ContainerReader(data, kinds=[kind])

    def content(i: int) -> Content:
        return [reader.row(i, row) for row in range(reader.num_rows(i))] or reader.section(i)

    return reader.header, [(reader.section_kind(i), content(i)) for i in range(reader.num_sections)]


def rebuilt(case, kind: int, header: dict, sections: list[tuple[int, Content]]) -> bytes:
    """The file an attacker makes, every checksum right."""
    return _core.write_container(None, kind, case.parameters.fingerprint, header, sections)


def test_residue_not_below_its_prime_is_refused_behind_right_checksums(case, files):
    for name, kind in [("public key", 4), ("evaluation keys", 5), ("ciphertexts", 6)]:
        data, load = files[name]
        header, sections = sections_of(data, kind)
        assert rebuilt(case, kind, header, sections) == data
        number, rows = sections[0]
        sections[0] = (number, [rows[0], b"\xff" * 64 + rows[1][64:], *rows[2:]])
        limb = {"public key": 0, "evaluation keys": 6, "ciphertexts": 1}[name]  # P limbs come first, then the Q limbs
        with pytest.raises(FormatError, match=rf"(poly|digit) 0, limb {limb} holds a residue that is not below its"):
            load(rebuilt(case, kind, header, sections), case.context)


def test_sizes_are_computed_not_believed(case, files):
    for name, kind in [("public key", 4), ("evaluation keys", 5), ("ciphertexts", 6)]:
        data, load = files[name]
        header, sections = sections_of(data, kind)
        number, rows = sections[0]
        whole = b"".join(rows)
        cut, longer = [*rows[:-1], rows[-1][:-64]], [*rows[:-1], rows[-1] + bytes(64)]
        moved = [rows[0][:-64], rows[0][-64:] + rows[1], *rows[2:]]
        for wrong in (b"", whole[:-64], whole + bytes(64), cut, longer, moved, [whole], rows[:-1], [*rows, rows[0]]):
            with pytest.raises(FormatError, match="these parameters need"):
                load(rebuilt(case, kind, header, [(number, wrong), *sections[1:]]), case.context)
        for wrong_sections in (sections[:-1], [*sections, sections[0]], [(9, rows), *sections[1:]]):
            with pytest.raises(FormatError, match="sections"):
                load(rebuilt(case, kind, header, wrong_sections), case.context)


@pytest.mark.parametrize("kind", [KIND_SECRET, KIND_PUBLIC, KIND_EVALUATION])
def test_key_of_no_key_set_is_refused(case, files, tmp_path, kind):
    """Zeros would fit every ciphertext, and so hide that a key is another's."""
    if kind == KIND_SECRET:
        path = tmp_path / "secret.lwk"
        _core.save_secret_key(path, case.secret_key, case.context)
        data, load = path.read_bytes(), lambda forged, context: _core.load_secret_key(path, context)
    else:
        data, load = files["public key" if kind == KIND_PUBLIC else "evaluation keys"]
    header, sections = sections_of(data, kind)
    forged = rebuilt(case, kind, header | {"key_set": bytes(16)}, sections)
    if kind == KIND_SECRET:
        path.write_bytes(forged)
    with pytest.raises(FormatError, match="key_set.*all zeros"):
        load(forged, case.context)


def test_bad_key_headers_are_refused(case, files):
    data, load = files["evaluation keys"]
    header, sections = sections_of(data, KIND_EVALUATION)
    good = header["keys"][1]
    changes = {0: 2, 1: 4, 2: 1, 3: 9, 4: b"short", 5: "text"}
    for place, value in changes.items():
        wrong = [value if i == place else item for i, item in enumerate(good)]
        keys = [header["keys"][0], wrong, *header["keys"][2:]]
        with pytest.raises(FormatError):
            load(rebuilt(case, KIND_EVALUATION, header | {"keys": keys}, sections), case.context)
    for wrong_header in ({"keys": header["keys"]}, header | {"key_set": bytes(15)}, header | {"more": 1}):
        with pytest.raises(FormatError):
            load(rebuilt(case, KIND_EVALUATION, wrong_header, sections), case.context)


def test_bad_ciphertext_headers_are_refused(case, files):
    data, load = files["ciphertexts"]
    header, sections = sections_of(data, KIND_CIPHERTEXTS)
    first, second = header["ciphertexts"]
    changes = [
        {"track": 1}, {"index": 5}, {"scale": -1.0}, {"scale": float("nan")}, {"scale": 1}, {"slots": 3},
        {"slots": case.n}, {"slots": 0}, {"degree": 3}, {"degree": 2}, {"seed": b""}, {"object": -1}, {"name": 1},
        {"more": 1},
    ]  # fmt: skip
    for change in changes:
        wrong = header | {"ciphertexts": [first | change, second]}
        with pytest.raises(FormatError):
            load(rebuilt(case, KIND_CIPHERTEXTS, wrong, sections), case.context)


def test_missing_file_is_an_os_error(case, tmp_path):
    with pytest.raises(FileNotFoundError):
        _core.load_evaluation_keys(tmp_path / "none", case.context)
    with pytest.raises(OSError, match="none"):
        _core.save_evaluation_keys(tmp_path / "none" / "keys", case.keys)
    assert os.listdir(tmp_path) == []


def test_only_the_levels_asked_for_are_stored(case):
    low = _core.KeyGenerator(case.context).evaluation_keys(case.secret_key, [spec("galois", 5, 1)])
    reader = _core.ContainerReader(_core.save_evaluation_keys(None, low), kinds=[KIND_EVALUATION])
    assert len(reader.section(0)) == packed_bytes(plain_parameters(), [5, 6, 0, 1], polys=1)
