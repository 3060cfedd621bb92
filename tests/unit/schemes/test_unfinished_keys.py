"""Evaluation keys written one after the other: what a later process keeps of an unfinished file, and what never."""

import errno

import numpy as np
import pytest
from rlwe_cases import SCALE, galois, make_case, plain_parameters, random_slots, spec, to_bytes
from test_rlwe_raise import SPECS as PAIR_SPECS
from test_rlwe_raise import TOP, Raised, raise_modulus

from latticework import _core
from latticework.errors import ParameterMismatchError, SecurityError

N, LEVEL = 1024, 4
STEPS = (1, -3, 7)
SPECS = [spec("relin", 0, LEVEL), *(spec("galois", galois(s, N), LEVEL - i) for i, s in enumerate(STEPS))]


class Stopped(Exception):
    """Ends the making of keys after one of them."""


@pytest.fixture(scope="module")
def case():
    return make_case(plain_parameters())


@pytest.fixture(scope="module")
def raised():
    return Raised("auto")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys"


def make(case, path, specs=SPECS, *, stop=None, continues=True):
    """Make the keys of a file, up to number `stop` if given: (kept, secret key's file is complete)."""

    def on_key(number, count, made):
        assert count == len(specs) and made == specs[number]
        if number == stop:
            raise Stopped

    file = _core.UnfinishedKeys(path, case.secret_key.key_set, specs, case.context, continues)
    try:
        _core.KeyGenerator(case.context).write_evaluation_keys(case.secret_key, file, on_key)
    except Stopped:
        assert not path.exists() and partial(path).exists()
    return file.num_kept


def partial(path):
    return path.with_name(path.name + ".partial")


def header(path):
    return _core.ContainerReader(str(path), kinds=[_core.FileKind.EVALUATION_KEYS]).header


def seeds(path):
    return [key[4] for key in header(path)["keys"]]


def check(case, path):
    """Every key of the finished file does what it is for: the decrypted results are those of NumPy."""
    assert path.exists() and not partial(path).exists()
    keys = _core.load_evaluation_keys(path, case.context)
    assert keys.specs == SPECS and keys.key_set == case.secret_key.key_set
    values = random_slots(np.random.default_rng(2), 32)
    for i, steps in enumerate(STEPS):
        x = case.encrypt(values, level=LEVEL - i)
        turned = case.decryptor.decrypt(case.evaluator.rotate(x, galois(steps, N), keys))
        np.testing.assert_allclose(turned, np.roll(values, -steps), atol=1e-6)
    square = case.evaluator.relinearize(case.evaluator.square(case.encrypt(values)), keys)
    np.testing.assert_allclose(case.decryptor.decrypt(square), values**2, atol=1e-5)


def test_the_finished_file_is_that_of_keys_saved_at_once(case, path):
    assert make(case, path) == 0
    check(case, path)
    keys = _core.load_evaluation_keys(path, case.context)
    assert _core.save_evaluation_keys(None, keys) == path.read_bytes()


@pytest.mark.parametrize("stop", range(len(SPECS)))
def test_whole_keys_are_kept_and_no_seed_comes_twice(case, path, stop):
    make(case, path, stop=stop)
    assert _core.UnfinishedKeys.owner(path) == case.secret_key.key_set
    first = partial(path).read_bytes()
    assert make(case, path) == stop + 1
    check(case, path)
    stored = _core.EvaluationKeyFile(path, case.context)
    later = seeds(path)
    assert len(set(later[: stop + 1])) == 1 and later[0] in first
    assert all(seed not in first for seed in later[stop + 1 :])
    assert len(later) == len(stored)


def test_stopping_after_every_key(case, path):
    """Each process gets one key further; every key has the seed of the process that made it."""
    for stop in range(len(SPECS)):
        assert make(case, path, stop=stop) in (stop, stop - 1 + (stop > 0))
    assert make(case, path) == len(SPECS)
    check(case, path)
    assert len(set(seeds(path))) == len(SPECS)


def test_what_was_altered_is_made_anew_under_another_seed(case, path):
    """Any byte of what is unfinished, wherever it lies, as after a crash of the machine that lost some writes."""
    make(case, path, stop=len(SPECS) - 1)
    whole = partial(path).read_bytes()
    rng = np.random.default_rng(11)
    places = [*rng.integers(4096, len(whole), 12), *(len(whole) - rng.integers(1, 550, 12))]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        partial(path).write_bytes(damaged)
        try:
            kept = make(case, path)
        except ParameterMismatchError:  # of the few bytes that say whose keys they are
            assert place >= len(whole) - 48
            continue
        check(case, path)
        new = sum(seed not in whole for seed in seeds(path))
        assert kept == len(SPECS) - new and kept in (0, len(SPECS) - 1, len(SPECS))
        path.unlink()


@pytest.mark.parametrize("length", [0, 1, 55, 4096, 100_000, -1, -56, -57, -160])
def test_a_file_cut_short_is_begun_anew(case, path, length):
    make(case, path, stop=2)
    with partial(path).open("r+b") as file:
        file.truncate(length if length >= 0 else partial(path).stat().st_size + length)
    assert _core.UnfinishedKeys.owner(path) is None
    assert make(case, path) == 0
    check(case, path)


def test_a_complete_file_that_lacks_its_name_only_gets_that(case, path):
    make(case, path)
    before = path.read_bytes()
    path.rename(partial(path))
    assert _core.UnfinishedKeys.owner(path) == case.secret_key.key_set
    assert make(case, path) == len(SPECS)
    assert path.read_bytes() == before


def test_files_of_other_keys_are_refused_or_begun_anew(case, path):
    make(case, path, stop=1)
    before = partial(path).read_bytes()
    other = make_case(plain_parameters())
    for who, specs in ((other, SPECS), (case, SPECS[:3]), (case, [*SPECS[:3], spec("galois", 5, LEVEL)])):
        with pytest.raises(ParameterMismatchError, match=r"keys\.partial: are unfinished keys of another program or"):
            make(who, path, specs)
    assert partial(path).read_bytes() == before
    assert make(other, path, continues=False) == 0
    check(other, path)


def test_one_writer_at_a_time(case, path):
    file = _core.UnfinishedKeys(path, case.secret_key.key_set, SPECS, case.context, False)
    for again in (lambda: make(case, path), lambda: _core.UnfinishedKeys.remove_file(path)):
        with pytest.raises(OSError, match=r"keys\.partial: another process is writing this file") as caught:
            again()
        assert caught.value.errno == errno.EBUSY
    file.remove()
    assert not partial(path).exists() and not _core.UnfinishedKeys.remove_file(path)


def test_nothing_but_files_of_ones_own_is_continued(case, path):
    partial(path).symlink_to("elsewhere")
    with pytest.raises(OSError, match=r"keys\.partial: is a symbolic link"):
        make(case, path)
    partial(path).unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="keys: is a folder"):
        make(case, path)
    assert not partial(path).exists()


def test_weak_keys_are_refused_before_a_file_is_there(path):
    parameters = plain_parameters(insecure=False)
    context = _core.Context(parameters)
    with pytest.raises(SecurityError):
        _core.UnfinishedKeys(path, bytes(range(16)), SPECS, context, False)
    assert not partial(path).exists()


def test_no_keys_are_a_file_too(case, path):
    assert make(case, path, specs=[]) == 0
    assert header(path)["keys"] == [] and not partial(path).exists()


# Keys to and from the sparse secret, which is forgotten when the process ends


def is_raised_well(raised, keys):
    """Whether a value switched to the sparse secret and back is the message plus multiples of q0."""
    x = raised.encrypt(random_slots(np.random.default_rng(4), 64))
    down = raise_modulus(raised, x, TOP, 1, keys)
    t = raised.decryptor.coefficients(raised.evaluator.mod_down(down, TOP, down.scale))
    residual = (t - raised.decryptor.coefficients(x)) / raised.q0
    return np.abs(residual - np.rint(residual)).max() < 0.01


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("stop", range(3))
def test_the_pair_is_made_together_or_not_at_all(raised, path, order, stop):
    specs = [PAIR_SPECS[i] for i in order]
    make(raised, path, specs, stop=stop)
    done = specs[: stop + 1]
    pairs = [s for s in done if s["kind"] != "galois"]
    whole = len(done) - (len(pairs) if len(pairs) < 2 else 0)
    before = partial(path).read_bytes()
    assert make(raised, path, specs) == whole
    keys = _core.load_evaluation_keys(path, raised.context)
    assert is_raised_well(raised, keys)
    pair_seeds = {seed for seed, s in zip(seeds(path), specs, strict=True) if s["kind"] != "galois"}
    assert len(pair_seeds) == 1 and (pair_seeds.pop() in before) == (len(pairs) == 2)


def test_halves_of_two_pairs_do_not_count(raised, path, tmp_path):
    """Two notes that are each in order, of two processes: one to a sparse secret, one from another."""
    specs = PAIR_SPECS[:2]
    files = []
    for name in "ab":
        make(raised, tmp_path / name, specs, stop=1)
        files.append(partial(tmp_path / name).read_bytes())
    notes = 2 * 104 + 56
    first_note, size = len(files[0]) - notes, len(files[0])
    entries = _sections_of(raised, tmp_path / "a", specs)
    mixed = bytearray(files[0])
    begin, end = entries[1]
    mixed[begin:end] = files[1][begin:end]
    mixed[first_note + 104 : first_note + 208] = files[1][first_note + 104 : first_note + 208]
    assert len(mixed) == size
    partial(path).write_bytes(mixed)
    assert make(raised, path, specs) == 0
    assert is_raised_well(raised, _core.load_evaluation_keys(path, raised.context))


def _sections_of(case, path, specs):
    """Where the sections of a finished file begin and end."""
    make(case, path, specs)
    data, places = path.read_bytes(), []
    table = 128 + int.from_bytes(data[16:20], "little")
    for i in range(len(specs)):
        entry = data[table + 64 * i : table + 64 * (i + 1)]
        offset, size = int.from_bytes(entry[8:16], "little"), int.from_bytes(entry[16:24], "little")
        places.append((offset, offset + size))
    return places


def test_a_key_that_is_kept_is_bit_for_bit_the_one_that_was_made(case, path):
    make(case, path, stop=1)
    before = partial(path).read_bytes()
    make(case, path)
    x = case.encrypt(np.arange(16.0), scale=SCALE)
    begin, end = _sections_of(case, path.with_name("other"), SPECS)[1]
    assert path.read_bytes()[begin:end] == before[begin:end]
    keys = _core.load_evaluation_keys(path, case.context)
    again = [to_bytes(case.evaluator.rotate(x, galois(1, N), keys)) for _ in range(2)]
    assert again[0] == again[1]
