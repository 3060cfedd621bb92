"""Encoding against the definition of the canonical embedding, and products against NumPy."""

import math

import numpy as np
import pytest
from rlwe_cases import (
    PARAMETER_SETS,
    SCALE,
    SIGMA,
    coefficients_of,
    galois,
    plain_parameters,
    random_slots,
    shared_case,
    to_bytes,
)

from latticework import _core
from latticework.errors import LevelError, RangeError, ScaleError, ShapeError


@pytest.fixture(params=PARAMETER_SETS)
def case(request):
    return shared_case(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def exact_coefficients(case, plaintext) -> np.ndarray:
    """The integers that were encoded: a trivial ciphertext has no noise."""
    return case.decryptor.coefficients(case.evaluator.trivial(plaintext))


@pytest.mark.parametrize("slots", [1, 2, 16, 512])
@pytest.mark.parametrize("scale", [2.0**20, 2.0**36, 1.5 * 2.0**30])
def test_encoding_rounds_the_inverse_embedding(case, rng, slots, scale):
    values = random_slots(rng, slots)
    plain = case.encoder.encode(values, (0, 1), scale)
    assert (plain.level, plain.scale, plain.slots, plain.basis) == ((0, 1), scale, slots, "Q")
    coefficients = exact_coefficients(case, plain)
    wanted = coefficients_of(values, case.n) * scale
    assert np.max(np.abs(coefficients - wanted)) <= 0.5 + 1e-10 * scale
    assert np.count_nonzero(coefficients[np.arange(case.n) % (case.n // (2 * slots)) != 0]) == 0


def test_decoding_inverts_encoding(case, rng):
    for slots in (1, 4, 512):
        values = random_slots(rng, slots)
        coefficients = exact_coefficients(case, case.encoder.encode(values, (0, 1), SCALE))
        decoded = case.encoder.decode(coefficients, SCALE, slots)
        np.testing.assert_allclose(decoded, values, atol=math.sqrt(2 * slots) / SCALE)


def test_a_constant_is_one_coefficient(case):
    coefficients = exact_coefficients(case, case.encoder.encode([0.75], (0, 0), 2.0**30))
    assert coefficients[0] == 0.75 * 2**30 and np.count_nonzero(coefficients) == 1


def test_real_values_and_lists_are_taken(case):
    plain = case.encoder.encode([1, 2, 3, 4], (0, 0), 2.0**30)
    np.testing.assert_allclose(
        case.encoder.decode(exact_coefficients(case, plain), 2.0**30, 4), [1, 2, 3, 4], atol=1e-7
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, 2.0**22, 1e300])
def test_what_cannot_be_rounded_is_refused(case, value):
    with pytest.raises(RangeError, match=r"2\^40"):
        case.encoder.encode([value], (0, 0), SCALE)
    case.encoder.encode([2.0**21], (0, 0), SCALE)


def test_bad_encodings_are_refused(case):
    with pytest.raises(ShapeError, match="3 slots"):
        case.encoder.encode([1, 2, 3], (0, 0), SCALE)
    with pytest.raises(ShapeError):
        case.encoder.encode(np.zeros(case.n), (0, 0), SCALE)
    with pytest.raises(LevelError, match="level 9 of track 0"):
        case.encoder.encode([1.0], (0, 9), SCALE)
    for scale in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ScaleError):
            case.encoder.encode([1.0], (0, 0), scale)
    with pytest.raises(ValueError, match="basis"):
        case.encoder.encode([1.0], (0, 0), SCALE, basis="P")


def slot_bound(case, x: np.ndarray, y: np.ndarray) -> float:
    """8 sigma of a product of two fresh encryptions: each slot error times the largest other factor."""
    slot_error = SIGMA * math.sqrt(case.n) / SCALE
    return 8 * slot_error * (np.max(np.abs(x)) + np.max(np.abs(y)))


def test_product_of_degree_two_decrypts(case, rng):
    x, y = random_slots(rng, 512), random_slots(rng, 512)
    product = case.evaluator.rescale(case.evaluator.mul(case.encrypt(x), case.encrypt(y)))
    assert product.degree == 2
    error = np.abs(case.decryptor.decrypt(product) - x * y)
    # Rescaling rounds three parts; the slots of the secret are Gaussian of variance 2N/3, so E|s|^4 = 2 (2N/3)^2.
    variance = 2 * case.n / 3
    rounding = math.sqrt(case.n * (1 + variance + 2 * variance**2) / 12) / product.scale
    assert rounding / 3 <= np.sqrt(np.mean(error**2)) <= 3 * (slot_bound(case, x, y) / 8 + rounding)


def test_relinearised_product(case, rng):
    x, y = random_slots(rng, 512), random_slots(rng, 512)
    e = case.evaluator
    product = e.rescale(e.relinearize(e.mul(case.encrypt(x), case.encrypt(y)), case.keys))
    assert product.degree == 1 and product.level == (0, case.top - 1)
    error = np.abs(case.decryptor.decrypt(product) - x * y)
    rounding = 8 * math.sqrt(case.n * (1 + 2 * case.n / 3) / 12) / product.scale
    assert 1e-3 * rounding <= np.max(error) <= slot_bound(case, x, y) + rounding


def test_square_is_mul_of_itself_bit_for_bit(case, rng):
    x = case.encrypt(random_slots(rng, 64))
    assert to_bytes(case.evaluator.square(x)) == to_bytes(case.evaluator.mul(x, x))


def test_relinearize_is_its_expansion_bit_for_bit(case, rng):
    e = case.evaluator
    product = e.square(case.encrypt(random_slots(rng, 64)))
    expanded = e.mod_down(e.key_product(e.hoist(product), 0, case.keys), product.level, product.scale)
    assert to_bytes(e.relinearize(product, case.keys)) == to_bytes(expanded)


def test_power_down_the_whole_chain(case, rng):
    """x^(2^top), one squaring a level: two-prime levels and q0 included."""
    values = rng.uniform(0.5, 1, 512) * np.exp(1j * rng.uniform(0, 6, 512))
    x = case.encrypt(values)
    for _ in range(case.top):
        x = case.evaluator.rescale(case.evaluator.relinearize(case.evaluator.square(x), case.keys))
        values = values**2
    assert x.level == (0, 0)
    np.testing.assert_allclose(case.decryptor.decrypt(x), values, atol=1e-5)


def test_linear_combination_before_relinearising(case, rng):
    """Degree 2 and degree 1 add up: one relinearisation for a whole sum."""
    x, y = random_slots(rng, 64), random_slots(rng, 64)
    e, cx, cy = case.evaluator, case.encrypt(x), case.encrypt(y)
    linear = e.mul_int(cx, round(SCALE), SCALE * round(SCALE))
    total = e.sub(linear, e.add(e.mul(cx, cy), e.square(cy)))
    assert total.degree == 2
    result = e.rescale(e.relinearize(total, case.keys))
    np.testing.assert_allclose(case.decryptor.decrypt(result), x - x * y - y * y, atol=1e-6)


def test_factors_must_be_over_q_and_of_degrees_up_to_four(case):
    e, x = case.evaluator, case.encrypt(np.ones(4))
    fourth = e.square(e.square(x))
    assert fourth.degree == 4
    with pytest.raises(ShapeError, match="at most 4; these add up to 5, relinearize or mod_down them first"):
        e.mul(fourth, x)
    with pytest.raises(ShapeError):
        e.square(e.key_product(e.hoist(x), 5, case.keys))
    with pytest.raises(ShapeError):
        e.rotate(e.square(x), 5, case.keys)
    with pytest.raises(ShapeError):
        e.relinearize(x, case.keys)


def test_threads_do_not_change_a_bit(rng):
    """The same client material in contexts of 1 and 2 threads: the same bytes out."""
    parameters = plain_parameters(4096)
    first = _core.Context(parameters, threads=1)
    generator = _core.KeyGenerator(first)
    secret = generator.secret_key()
    specs = [
        {"kind": "relin", "galois_element": 0, "track": 0, "level": 4},
        {"kind": "galois", "galois_element": galois(1, 4096), "track": 0, "level": 4},
    ]
    keys = _core.save_evaluation_keys(None, generator.evaluation_keys(secret, specs))
    plain = _core.Encoder(first).encode(random_slots(rng, 2048), (0, 4), SCALE)
    message = to_bytes(_core.Encryptor(first, secret).encrypt(plain))

    def run(context):
        e, k = _core.Evaluator(context), _core.load_evaluation_keys(keys, context)
        (x,), _, _ = _core.load_ciphertexts(message, context)
        y = e.rescale(e.relinearize(e.square(e.rotate(x, galois(1, 4096), k)), k))
        return to_bytes(y), _core.save_evaluation_keys(None, k)

    assert run(first) == run(_core.Context(parameters, threads=2))


def test_a_message_is_read_whatever_the_scale_is_said_to_be(case, rng):
    x = random_slots(rng, 16)
    trivial = case.evaluator.trivial(case.encoder.encode(x, (0, 0), SCALE))
    tiny = case.evaluator.relabel(trivial, (0, 0), SCALE * 2.0**-120, 16)
    np.testing.assert_allclose(case.decryptor.decrypt(tiny) * 2.0**-120, x, atol=2.0**-20)
