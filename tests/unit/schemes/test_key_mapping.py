"""Keys and ciphertexts read from their files in part: the same bits as when all is read, and no more bytes touched."""

import itertools
import mmap
import struct

import numpy as np
import pytest
from rlwe_cases import galois, random_slots, shared_case, spec, to_bytes

from latticework import _core
from latticework.errors import FormatError, LevelError, MissingKeyError, SecretKeyError


@pytest.fixture(scope="module", params=["plain", "grouped"])
def case(request):
    return shared_case(request.param)


@pytest.fixture(scope="module")
def path(case, tmp_path_factory):
    target = tmp_path_factory.mktemp("keys") / "keys.lwkeys"
    _core.save_evaluation_keys(target, case.keys)
    return target


def key_bytes(keys):
    """A key set as the bytes of its file, without the version-2 dressing of the whole."""
    return _core.save_evaluation_keys(None, keys)


def levels_of(parameters):
    return [(t, i) for t, track in enumerate(parameters.tracks) for i in range(len(track["groups"]))]


def limbs_at(parameters, level):
    """P limbs, then Q limbs of a level, by the definition of tracks."""
    q = sorted(itertools.chain(*parameters.tracks[level[0]]["groups"][: level[1] + 1]))
    return [*range(len(parameters.q), len(parameters.q) + len(parameters.p)), *q]


def row_bytes(parameters, limb):
    return parameters.ring_degree * ((parameters.q + parameters.p)[limb] - 1).bit_length() // 8


def by_hand(data, index, parameters, level):
    """The rows of one key at a level, found in the bytes of its file with struct and the documented layout alone:
    [(digit, limb, offset, size)]."""
    header_bytes, count = struct.unpack_from("<II", data, 16)
    header = _core.cbor_decode(data[128 : 128 + header_bytes])
    assert count == len(header["keys"])
    offset = struct.unpack_from("<Q", data, 128 + header_bytes + 64 * index + 8)[0]
    track, top = header["keys"][index][2:4]
    stored, wanted = limbs_at(parameters, (track, top)), limbs_at(parameters, level)
    num_rows = struct.unpack_from("<Q", data, offset)[0]
    at = offset + -(-(8 + 48 * num_rows) // 64) * 64
    found = []
    for d, digit in enumerate(parameters.digits):
        if not set(digit) & set(stored):
            continue
        for limb in stored:
            size = row_bytes(parameters, limb)
            if limb in wanted and set(digit) & set(wanted):
                found.append((d, limb, at, size))
            at += size
    return found


# One key at a time


def test_a_key_read_at_a_level_is_a_cut_of_the_whole(case, path):
    """Every row of what was read lies in the file where the description says."""
    data, parameters = path.read_bytes(), case.parameters
    file = _core.EvaluationKeyFile(path, case.context)
    assert (len(file), file.specs, file.key_set) == (len(case.keys), case.keys.specs, case.keys.key_set)
    assert file.parameters == parameters.fingerprint
    for level in levels_of(parameters):
        for i in range(len(file)):
            part = file.read(i, level)
            expected = [data[at : at + size] for _, _, at, size in by_hand(data, i, parameters, level)]
            reader = _core.ContainerReader(key_bytes(part), [5])
            assert [reader.row(0, row) for row in range(reader.num_rows(0))] == expected
            assert part.specs[0] == file.specs[i] | {"track": level[0], "level": level[1]}


def test_a_key_read_at_a_level_switches_as_the_whole(case, path):
    file = _core.EvaluationKeyFile(path.read_bytes(), case.context)
    rng, e = np.random.default_rng(3), case.evaluator
    for level in range(case.top + 1):
        x = case.encrypt(random_slots(rng, 32), level)
        element = galois(-3, case.n)
        part = file.read(2, (0, level))
        assert to_bytes(e.rotate(x, element, part)) == to_bytes(e.rotate(x, element, case.keys))
    with pytest.raises(MissingKeyError):
        e.rotate(case.encrypt(np.ones(4)), element, file.read(2, (0, 0)))


def test_reading_touches_the_rows_of_the_level_and_no_others(case, path):
    data, parameters = path.read_bytes(), case.parameters
    num_rows = len(by_hand(data, 0, parameters, (0, case.top)))
    table = -(-(8 + 48 * num_rows) // 64) * 64
    header_bytes, count = struct.unpack_from("<II", data, 16)
    for level in levels_of(parameters):
        file = _core.EvaluationKeyFile(path, case.context)
        assert file.touched_bytes == 128 + header_bytes + 64 * count
        before, rows = file.touched_bytes, by_hand(data, 1, parameters, level)
        file.read(1, level)
        assert file.touched_bytes - before == table + sum(size for *_, size in rows)
        # and so the key reads right where everything else is destroyed
        only = bytearray(data[: data.index(b"\0" * 64, 128 + header_bytes + 64 * count)].ljust(len(data), b"\0"))
        start = struct.unpack_from("<Q", data, 128 + header_bytes + 64 + 8)[0]
        for at, size in [(start, table), *((at, size) for *_, at, size in rows)]:
            only[at : at + size] = data[at : at + size]
        damaged = _core.EvaluationKeyFile(bytes(only), case.context)
        assert key_bytes(damaged.read(1, level)) == key_bytes(file.read(1, level))


def test_an_altered_row_is_refused_by_name_and_only_when_needed(case, path, tmp_path):
    data, parameters = path.read_bytes(), case.parameters
    low = (0, 0)
    top_rows, low_rows = (by_hand(data, 1, parameters, level) for level in ((0, case.top), low))
    digit, limb, at, size = next(row for row in reversed(top_rows) if row not in low_rows)
    altered = bytearray(data)
    altered[at + size // 2] ^= 16
    target = tmp_path / "altered.lwkeys"
    target.write_bytes(altered)
    file = _core.EvaluationKeyFile(target, case.context)
    file.read(0)
    file.read(1, low)
    for _ in range(2):
        with pytest.raises(FormatError) as caught:
            file.read(1)
        text = str(caught.value)
        assert str(target) in text and "rotation by 1 step" in text
        assert f"digit {digit}, limb {limb}: the row does not match its hash" in text


def test_rot_after_the_first_reading_is_found(case, path, tmp_path):
    data = path.read_bytes()
    target = tmp_path / "rots.lwkeys"
    target.write_bytes(data)
    file = _core.EvaluationKeyFile(target, case.context)
    before = key_bytes(file.read(1))
    digit, limb, at, _ = by_hand(data, 1, case.parameters, (0, case.top))[-1]
    with open(target, "r+b") as opened, mmap.mmap(opened.fileno(), 0) as content:
        content[at] ^= 1
        with pytest.raises(FormatError, match=f"digit {digit}, limb {limb}"):
            file.read(1)
        content[at] ^= 1
    assert key_bytes(file.read(1)) == before


def test_levels_that_a_key_does_not_cover(case):
    low = _core.KeyGenerator(case.context).evaluation_keys(case.secret_key, [spec("galois", 5, 1)])
    file = _core.EvaluationKeyFile(key_bytes(low), case.context)
    for level, message in [((0, 2), "does not cover"), ((0, 9), "level"), ((9, 0), "track")]:
        with pytest.raises(LevelError, match=message):
            file.read(0, level)
    with pytest.raises(IndexError):
        file.read(1)


def test_files_of_the_first_version_are_read(case, path):
    """Sections without rows, verified as a whole: what earlier versions wrote."""
    reader = _core.ContainerReader(path, [5])
    sections = [(2, reader.section(i)) for i in range(reader.num_sections)]
    old = _core.write_container(None, 5, case.parameters.fingerprint, reader.header, sections)
    assert struct.unpack_from("<HH", old, 8) == (1, 0)
    assert key_bytes(_core.load_evaluation_keys(old, case.context)) == path.read_bytes()
    file = _core.EvaluationKeyFile(old, case.context)
    assert key_bytes(file.read(1, (0, 1))) == key_bytes(_core.EvaluationKeyFile(path, case.context).read(1, (0, 1)))
    altered = bytearray(old)
    altered[-1] ^= 1
    with pytest.raises(FormatError, match="does not match its hash"):
        _core.EvaluationKeyFile(bytes(altered), case.context).read(3, (0, 0))


def test_a_secret_key_is_refused(case, tmp_path):
    target = tmp_path / "secret.lwkey"
    _core.save_secret_key(target, case.secret_key, case.context)
    for open_file in (_core.EvaluationKeyFile, lambda p, c: _core.MappedKeys(p, c, 0)):
        with pytest.raises(SecretKeyError):
            open_file(target, case.context)


# Ciphertexts


def test_ciphertexts_read_at_a_lower_level(case):
    rng, e = np.random.default_rng(4), case.evaluator
    fresh, squared = case.encrypt(random_slots(rng, 16)), e.square(case.encrypt(random_slots(rng, 16), 2))
    data = _core.save_ciphertexts(None, [fresh, squared], ["fresh", "squared"], {"note": 1})
    whole = _core.CiphertextReader(data, case.context)
    assert (whole.names, whole.extras, len(whole)) == (["fresh", "squared"], {"note": 1}, 2)
    for i, x in enumerate((fresh, squared)):
        assert whole.level(i) == x.level and to_bytes(whole.read(i)) == to_bytes(x)
        polys = 1 if x.is_seeded else 3
        for index in range(x.level[1] + 1):
            reader = _core.CiphertextReader(data, case.context)
            before = reader.touched_bytes
            part = reader.read(i, (0, index))
            assert to_bytes(e.neg(part)) == to_bytes(e.neg(e.drop_level(x, (0, index))))
            assert part.is_seeded == x.is_seeded and part.level == (0, index)
            limbs = limbs_at(case.parameters, (0, index))[len(case.parameters.p) :]
            table = -(-(8 + 48 * polys * len(limbs_at(case.parameters, x.level)[len(case.parameters.p) :])) // 64) * 64
            assert reader.touched_bytes - before == table + polys * sum(row_bytes(case.parameters, j) for j in limbs)
    with pytest.raises(LevelError, match="squared is at .* choose a lower level"):
        whole.read(1, (0, 3))
    with pytest.raises(IndexError):
        whole.read(2)


def test_an_altered_ciphertext_row_is_named(case, tmp_path):
    path = tmp_path / "x.lwct"
    _core.save_ciphertexts(path, [case.evaluator.square(case.encrypt(np.ones(4), 1))], ["x"])
    data = bytearray(path.read_bytes())
    data[-1] ^= 128
    path.write_bytes(data)
    reader = _core.CiphertextReader(path, case.context)
    limb = limbs_at(case.parameters, (0, 1))[-1]
    with pytest.raises(FormatError, match=f"x.lwct: ciphertext x, poly 2, limb {limb}: the row does not match"):
        reader.read(0)
    reader.read(0, (0, 0))
