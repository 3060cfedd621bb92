"""Fused key switches of the evaluator: batches, sums of diagonals, merged divisions, values in place; by decryption."""

import numpy as np
import pytest
from rlwe_cases import PARAMETER_SETS, SCALE, Case, galois, make_case, random_slots, spec, to_bytes

from latticework import _core
from latticework.errors import LevelError, MissingKeyError, ParameterMismatchError, ScaleError, ShapeError

TOLERANCE = 2.0**-24


@pytest.fixture
def rng():
    return np.random.default_rng(20260417)


@pytest.fixture(
    scope="module", params=[(p, b) for p in PARAMETER_SETS for b in _core.backend_names()], ids=lambda p: "-".join(p)
)
def case(request) -> Case:
    name, backend = request.param
    parameters = PARAMETER_SETS[name]()
    if backend != "ref" and max(*parameters.q, *parameters.p) >= 2**50:
        pytest.skip("primes of more than 50 bits")
    return make_case(parameters, threads=2, backend=backend)


def conjugated(steps: int, n: int) -> int:
    return galois(steps, n) * (2 * n - 1) % (2 * n)


def places(case: Case):
    """Levels of every track but the lowest."""
    for track, described in enumerate(case.parameters.tracks):
        for level in range(1, len(described["groups"])):
            yield track, level


def test_rotate_many_is_rotate_bit_for_bit(case, rng):
    x = case.encrypt(random_slots(rng, 64), 2)
    elements = [galois(1, case.n), 2 * case.n - 1, galois(-3, case.n)]
    many = case.evaluator.rotate_many(x, elements, case.keys)
    assert [to_bytes(r) for r in many] == [to_bytes(case.evaluator.rotate(x, e, case.keys)) for e in elements]
    assert case.evaluator.rotate_many(x, [], case.keys) == []


def test_every_track_and_level_rotates(case, rng):
    """Keys of the top of the main track serve groups of two primes, split digits and tracks that skip limbs."""
    for track, level in places(case):
        x = random_slots(rng, 32)
        turned, conj = case.evaluator.rotate_many(
            case.encrypt(x, level, track=track), [galois(-3, case.n), 2 * case.n - 1], case.keys
        )
        np.testing.assert_allclose(case.decryptor.decrypt(turned), np.roll(x, 3), atol=TOLERANCE)
        np.testing.assert_allclose(case.decryptor.decrypt(conj), np.conj(x), atol=TOLERANCE)


def test_relinearize_may_take_levels_with_it(case, rng):
    x, y = random_slots(rng, 32), random_slots(rng, 32)
    for track, level in places(case):
        product = case.evaluator.mul(case.encrypt(x, level, track=track), case.encrypt(y, level, track=track))
        result = case.evaluator.relinearize(product, case.keys, (track, level - 1))
        assert (result.level, result.degree) == ((track, level - 1), 1)
        assert result.scale == pytest.approx(SCALE * SCALE / case.group_product(level, track), rel=1e-12)
        np.testing.assert_allclose(case.decryptor.decrypt(result), x * y, atol=TOLERANCE)
    with pytest.raises(LevelError, match="no way down"):
        case.evaluator.relinearize(case.evaluator.square(case.encrypt(x, 1)), case.keys, (0, 2))


def test_extend_is_undone_by_mod_down(case, rng):
    x = case.encrypt(random_slots(rng, 32), 2)
    extended = case.evaluator.extend(x)
    assert extended.basis == "QP"
    unseeded = case.evaluator.neg(case.evaluator.neg(x))
    assert to_bytes(case.evaluator.mod_down(extended, (0, 2), x.scale)) == to_bytes(unseeded)
    with pytest.raises(ShapeError, match="over QP"):
        case.evaluator.extend(extended)


def encode(case, values, level, track, scale=None):
    scale = float(case.group_product(level, track)) if scale is None else scale
    return case.encoder.encode(values, (track, level), scale, basis="QP")


@pytest.mark.parametrize("stored", [False, True], ids=["extended in the kernel", "stored digits"])
def test_diag_sums_are_diagonals_times_turned_copies(case, rng, stored):
    for track, level in places(case):
        x = random_slots(rng, 32)
        elements = [galois(1, case.n), 2 * case.n - 1, galois(-3, case.n)]
        babies = [x, np.roll(x, -1), np.conj(x), np.roll(x, 3)]
        pairs = [(0, 0), (1, 0), (2, 0), (3, 2), (0, 2), (1, 2)]
        weights = [random_slots(rng, 32) for _ in pairs]
        plains = [encode(case, w, level, track) for w in weights]
        ciphertext = case.encrypt(x, level, track=track)
        operand = case.evaluator.hoist(ciphertext) if stored else ciphertext
        terms = [(*pair, plain) for pair, plain in zip(pairs, plains, strict=True)]
        sums = case.evaluator.diag_sums(operand, elements, case.keys, terms, 3)
        for number, total in enumerate(sums):
            assert total.basis == "QP"
            expected = sum((w * babies[b] for w, (b, g) in zip(weights, pairs, strict=True) if g == number), 0 * x)
            result = case.evaluator.mod_down(total, (track, level - 1), SCALE)
            np.testing.assert_allclose(case.decryptor.decrypt(result), expected, atol=TOLERANCE)


def test_diag_sums_are_their_expansion_bit_for_bit(case, rng):
    x = case.encrypt(random_slots(rng, 16), 1)
    plains = [encode(case, random_slots(rng, 16), 1, 0) for _ in range(3)]
    e, elements = case.evaluator, [galois(1, case.n), galois(-3, case.n)]
    (total,) = e.diag_sums(x, elements, case.keys, list(zip(range(3), [0] * 3, plains, strict=True)), 1)
    digits = e.hoist(x)
    parts = [e.extend(x), *(e.key_product(digits, g, case.keys) for g in elements)]
    expected = None
    for part, plain in zip(parts, plains, strict=True):
        term = e.mul_plain(part, plain)
        expected = term if expected is None else e.add(expected, term)
    down = (e.mod_down(value, (0, 0), SCALE) for value in (total, expected))
    assert len({to_bytes(value) for value in down}) == 1


def test_diag_sums_refuse_what_does_not_fit(case, rng):
    e, x = case.evaluator, case.encrypt(np.ones(4), 2)
    plain = encode(case, np.ones(4), 2, 0)
    cases = [
        (LevelError, [(0, 0, encode(case, np.ones(4), 1, 0))], 1),
        (LevelError, [(0, 0, case.encoder.encode(np.ones(4), (0, 2), SCALE))], 1),
        (ScaleError, [(0, 0, plain), (0, 0, encode(case, np.ones(4), 2, 0, 2.0**20))], 1),
        (ValueError, [(1, 0, plain)], 1),
        (ValueError, [(0, 1, plain)], 1),
        (ValueError, [], 1),
        (ValueError, [(0, 0, plain)], 0),
    ]
    for error, terms, giants in cases:
        with pytest.raises(error, match="diag_sums"):
            e.diag_sums(x, [], case.keys, terms, giants)
    with pytest.raises(MissingKeyError):
        e.diag_sums(x, [galois(7, case.n)], case.keys, [(0, 0, plain)], 1)
    with pytest.raises(ShapeError, match="degree 2"):
        e.diag_sums(e.square(x), [], case.keys, [(0, 0, encode(case, np.ones(4), 2, 0))], 1)


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_monomials_turn_slots_by_i(case, rng, quarters):
    x = random_slots(rng, 16)
    result = case.evaluator.mul_monomial(case.encrypt(x), quarters * case.n // 2)
    np.testing.assert_allclose(case.decryptor.decrypt(result), x * 1j**quarters, atol=TOLERANCE)


def test_monomials_shift_coefficients(case, rng):
    x = case.encrypt(random_slots(rng, 16))
    before = case.decryptor.coefficients(x)
    for shift in (1, case.n - 1, case.n + 5):
        after = case.decryptor.coefficients(case.evaluator.mul_monomial(x, shift))
        expected = np.roll(np.concatenate([before, -before]), shift)[: case.n]
        np.testing.assert_array_equal(after, expected)
    with pytest.raises(ValueError, match="not below 2N"):
        case.evaluator.mul_monomial(x, 2 * case.n)


def test_a_dropped_level_is_a_view_and_stands_alone(case, rng):
    x = random_slots(rng, 16)
    ciphertext = case.encrypt(x)
    before = case.context.live_bytes
    dropped = case.evaluator.drop_level(ciphertext, (0, 1))
    assert case.context.live_bytes == before
    assert dropped.num_bytes < ciphertext.num_bytes
    saved = to_bytes(dropped)
    case.evaluator.add(dropped, dropped)
    del ciphertext
    np.testing.assert_allclose(case.decryptor.decrypt(dropped), x, atol=TOLERANCE)
    assert to_bytes(dropped) == saved


def test_lists_are_one_by_one(case, rng):
    x, y = ([case.encrypt(random_slots(rng, 8), 1) for _ in range(3)] for _ in "xy")
    e = case.evaluator
    for many, one in [
        (e.add_each(x, y), [e.add(a, b) for a, b in zip(x, y, strict=True)]),
        (e.mul_each(x, y), [e.mul(a, b) for a, b in zip(x, y, strict=True)]),
        (e.rotate_each(x, 5, case.keys), [e.rotate(a, 5, case.keys) for a in x]),
    ]:
        assert to_bytes(*many) == to_bytes(*one)
    with pytest.raises(ShapeError, match="3 ciphertexts against 2"):
        e.add_each(x, y[:2])


def test_operands_of_python_are_never_changed(case, rng):
    """Values with another handle, or that share memory, do not lend their rows."""
    e, x = case.evaluator, case.encrypt(random_slots(rng, 8))
    plain = case.encoder.encode(np.ones(8), (0, case.top), SCALE)
    saved = to_bytes(x)
    for operation in (
        lambda: e.add(x, x),
        lambda: e.sub(x, x),
        lambda: e.neg(x),
        lambda: e.add_plain(x, plain),
        lambda: e.mul_plain(x, plain),
        lambda: e.mul_int(x, 3),
        lambda: e.add_int(x, 3),
        lambda: e.mul_monomial(x, 3),
    ):
        operation()
        assert to_bytes(x) == saved


def test_math_of_keys_of_others_is_refused(case):
    other = make_case(case.parameters, backend=case.context.backend)
    with pytest.raises(ParameterMismatchError, match="key set"):
        case.evaluator.rotate_many(other.encrypt(np.ones(4)), [5], case.keys)
    lower = _core.KeyGenerator(case.context).evaluation_keys(case.secret_key, [spec("galois", 5, 0)])
    with pytest.raises(MissingKeyError, match="galois key 5"):
        case.evaluator.rotate_many(case.encrypt(np.ones(4)), [5], lower)
