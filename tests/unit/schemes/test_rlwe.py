"""Parameters, key generation, encryption and the scheme-free evaluator, measured against NumPy and noise formulas."""

import copy
import math
import pickle

import numpy as np
import pytest
from rlwe_cases import (
    PARAMETER_SETS,
    SCALE,
    SIGMA,
    coefficients_of,
    galois,
    grouped_parameters,
    make_case,
    plain_parameters,
    primes,
    random_slots,
    shared_case,
    spec,
    to_bytes,
)

from latticework import _core
from latticework.errors import (
    FormatError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    ScaleError,
    SecretKeyError,
    SecurityError,
    ShapeError,
)


@pytest.fixture(params=PARAMETER_SETS)
def case(request):
    return shared_case(request.param)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# Standard deviations of one coefficient of the noise, in units of the integer polynomial.


def rounding_std(n: int) -> float:
    """Division with rounding of c0 and c1: two roundings of variance 1/12, one times a ternary secret."""
    return math.sqrt((1 + 2 * n / 3) / 12)


def key_switch_std(parameters: _core.Parameters, limbs: list[int]) -> float:
    """Uniform centred digits times errors, over P, plus the rounding of the mod_down."""
    n, big_p = parameters.ring_degree, math.prod(parameters.p)
    digits = [math.prod(parameters.q[i] for i in digit if i in limbs) for digit in parameters.digits]
    product = sum(n * (digit / big_p) ** 2 / 12 * SIGMA**2 for digit in digits if digit > 1)
    return math.sqrt(product + rounding_std(n) ** 2)


def assert_noise(noise: np.ndarray, std: float) -> None:
    """Below 8 sigma everywhere, and not suspiciously small: the noise is really there."""
    assert np.max(np.abs(noise)) <= 8 * std
    assert 0.7 * std <= np.sqrt(np.mean(noise**2)) <= 1.4 * std


def noise_of(case, ciphertext, values: np.ndarray) -> np.ndarray:
    """Decrypted coefficients less the exact ones."""
    return case.decryptor.coefficients(ciphertext) - coefficients_of(values, case.n) * ciphertext.scale


# Parameters


def fields(parameters) -> dict:
    names = ["ring_degree", "q", "p", "digits", "tracks", "secret", "security_bits", "insecure"]
    return {name: getattr(parameters, name) for name in names}


@pytest.mark.parametrize("make", PARAMETER_SETS.values(), ids=PARAMETER_SETS)
def test_parameters_are_their_canonical_cbor(make):
    parameters = make()
    assert parameters.to_cbor() == _core.cbor_encode(fields(parameters))
    assert parameters.fingerprint == _core.blake3(parameters.to_cbor())
    again = _core.Parameters.from_cbor(parameters.to_cbor())
    assert again == parameters and fields(again) == fields(parameters)


def test_basis_follows_the_track_not_the_chain():
    parameters = grouped_parameters()
    assert parameters.basis((0, 2)) == [0, 1, 2, 3, 4]
    assert parameters.basis((1, 2)) == [0, 1, 2, 5]
    with pytest.raises(LevelError):
        parameters.basis((1, 3))


BAD_FIELDS = {
    "ring degree": {"ring_degree": 1000},
    "composite": {"q": [2048 * 3 * 5 * 7 * 11 + 1, *primes(40, 1024, 4)]},
    "not 1 mod 2N": {"q": [97, *primes(40, 1024, 4)]},
    "prime twice": {"q": [primes(40, 1024, 1)[0], *primes(40, 1024, 4)]},
    "no special prime": {"p": []},
    "digit order": {"digits": [[0, 2], [1, 3], [4]]},
    "digit missing": {"digits": [[0, 1], [2, 3]]},
    "limb of no prime": {"tracks": [{"groups": [[0], [9]], "scales": [SCALE] * 2}]},
    "limb twice": {"tracks": [{"groups": [[0], [0]], "scales": [SCALE] * 2}]},
    "descending": {"tracks": [{"groups": [[1], [0]], "scales": [SCALE] * 2}]},
    "three limbs": {"tracks": [{"groups": [[0, 1, 2]], "scales": [SCALE]}]},
    "scales": {"tracks": [{"groups": [[0], [1]], "scales": [SCALE]}]},
    "scale": {"tracks": [{"groups": [[0]], "scales": [math.nan]}]},
    "no track": {"tracks": []},
    "secret": {"secret": "sparse"},
    "security": {"security_bits": 100},
}


@pytest.mark.parametrize("change", BAD_FIELDS.values(), ids=BAD_FIELDS)
def test_bad_parameters_are_refused_by_both_doors(change):
    changed = fields(plain_parameters()) | change
    with pytest.raises(ValueError, match="parameters: "):
        _core.Parameters(**changed)
    with pytest.raises(FormatError):
        _core.Parameters.from_cbor(_core.cbor_encode(changed))


def test_primes_above_49_bits_only_when_insecure():
    wide = fields(plain_parameters()) | {"q": [primes(55, 1024, 1)[0], *primes(40, 1024, 4)]}
    _core.Parameters(**wide)
    with pytest.raises(ValueError, match="49 bits"):
        _core.Parameters(**(wide | {"insecure": False}))


def test_parameter_cbor_with_other_keys_is_refused():
    good = fields(plain_parameters())
    with pytest.raises(FormatError):
        _core.Parameters.from_cbor(_core.cbor_encode(good | {"extra": 1}))
    with pytest.raises(FormatError):
        _core.Parameters.from_cbor(_core.cbor_encode({k: v for k, v in good.items() if k != "p"}))


# Security: every key is an instance of its own


def test_security_table_doubles_and_ends_where_the_source_does():
    table = _core.security_table()
    assert [table[2**k][128] for k in range(10, 18)] == [26, 53, 106, 214, 430, 868, 1747, 3523]
    assert table[1024][192] is None and table[1024][256] is None
    for k in range(11, 18):
        assert table[2**k][128] > table[2**k][192] > table[2**k][256]


def test_only_the_key_that_is_too_long_is_refused():
    n = 4096  # 106 bits
    q, p = [primes(36, n, 4)[0], primes(36, n, 4)[1]], [primes(33, n, 1)[0]]
    parameters = _core.Parameters(n, q, p, [[0], [1]], [{"groups": [[0], [1]], "scales": [2.0**36] * 2}])
    assert sum(map(math.log2, q + p)) < 106
    context = _core.Context(parameters, threads=1)
    generator = _core.KeyGenerator(context)
    secret = generator.secret_key()
    assert len(generator.evaluation_keys(secret, [spec("relin", 0, 1)])) == 1

    longer = _core.Parameters(n, q, [primes(36, n, 4)[2]], [[0], [1]], parameters.tracks)
    context = _core.Context(longer, threads=1)
    generator = _core.KeyGenerator(context)
    secret = generator.secret_key()
    with pytest.raises(SecurityError, match=r"public key: .*108\.0 bits"):
        generator.public_key(secret)
    assert len(generator.evaluation_keys(secret, [spec("galois", 5, 0)])) == 1
    made = []
    with pytest.raises(SecurityError, match=r"galois key 5 .*108\.0 bits.*N = 4096.*106 for 128-bit"):
        generator.evaluation_keys(secret, [spec("relin", 0, 0), spec("galois", 5, 1)], lambda *key: made.append(key))
    assert made == []


def test_public_key_and_ciphertext_are_checked_too():
    parameters = plain_parameters(insecure=False)  # 208 bits at N = 2^10
    context = _core.Context(parameters, threads=1)
    generator = _core.KeyGenerator(context)
    secret = generator.secret_key()
    with pytest.raises(SecurityError, match="public key"):
        generator.public_key(secret)
    message = _core.Encoder(context).encode([1.0], (0, 0), 2.0**20)
    with pytest.raises(SecurityError, match="ciphertext"):
        _core.Encryptor(context, secret).encrypt(message)


# Distributions


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    expected = counts.sum() * probabilities
    return float(np.sum((counts - expected) ** 2 / expected))


def test_ternary_secret_is_uniform():
    draws = _core.sample_ternary(1 << 17, bytes(range(32)))
    assert set(np.unique(draws)) == {-1, 0, 1}
    assert chi_square(np.bincount(draws + 1), np.full(3, 1 / 3)) < 27.6  # p = 1e-6, 2 degrees of freedom


def test_error_is_centred_binomial():
    draws = _core.sample_error(1 << 17, bytes(range(32)))
    assert np.max(np.abs(draws)) <= 21
    probabilities = np.array([math.comb(42, 21 + k) / 2**42 for k in range(-13, 14)])
    counts = np.bincount(np.clip(draws, -13, 13) + 13, minlength=27)
    tail = (1 - probabilities.sum()) / 2
    probabilities[[0, -1]] += tail
    assert chi_square(counts, probabilities) < 73.2  # p = 1e-6, 26 degrees of freedom
    assert not np.array_equal(draws, _core.sample_error(1 << 17, bytes(range(32)), digit=1))


# Keys keep their secret


def test_secret_key_shows_and_gives_nothing():
    case = shared_case("plain")
    assert repr(case.secret_key) == "SecretKey(...)"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SecretKeyError):
            leak(case.secret_key)


def test_progress_names_every_key():
    case = shared_case("plain")
    seen = []
    specs = [spec("relin", 0, 1), spec("galois", 25, 0)]
    _core.KeyGenerator(case.context).evaluation_keys(case.secret_key, specs, lambda *key: seen.append(key))
    assert seen == [(0, 2, specs[0]), (1, 2, specs[1])]


@pytest.mark.parametrize("element", [0, 1, 2, 2048, 2049])
def test_impossible_galois_elements_are_refused(element):
    case = shared_case("plain")
    with pytest.raises(ValueError, match="galois element"):
        _core.KeyGenerator(case.context).evaluation_keys(case.secret_key, [spec("galois", element, 0)])


# Encryption


@pytest.mark.parametrize("slots", [1, 8, 512])
def test_symmetric_encryption_has_one_error(case, rng, slots):
    values = random_slots(rng, slots)
    ciphertext = case.encrypt(values)
    assert ciphertext.is_seeded and ciphertext.degree == 1 and ciphertext.key_set == case.secret_key.key_set
    noise = noise_of(case, ciphertext, values)
    assert_noise(noise, math.hypot(SIGMA, math.sqrt(1 / 12) * math.sqrt(2 * slots / case.n)))
    np.testing.assert_allclose(case.decryptor.decrypt(ciphertext), values, atol=8 * SIGMA * case.n**0.5 / SCALE)


@pytest.mark.parametrize("backend", _core.backend_names())
def test_public_key_encryption_has_its_noise(backend, rng):
    case = make_case(plain_parameters(), backend=backend)
    values = random_slots(rng, case.n // 2)
    public_key = _core.KeyGenerator(case.context).public_key(case.secret_key)
    ciphertext = _core.Encryptor(case.context, public_key).encrypt(case.encoder.encode(values, (0, 1), SCALE))
    assert not ciphertext.is_seeded
    rounding = math.sqrt((2 + 2 * case.n / 3) / 12)  # of both polynomials, and of the encoding
    assert_noise(noise_of(case, ciphertext, values), rounding)


def test_two_encryptions_of_one_message_differ(case):
    first, second = (case.encrypt(np.ones(4)) for _ in range(2))
    assert to_bytes(first) != to_bytes(second)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_any_level_and_track_decrypts(rng, level):
    case = shared_case("grouped")
    values = random_slots(rng, 16)
    for track in (0, 1):
        ciphertext = case.encrypt(values, level, track=track)
        assert ciphertext.level == (track, level)
        assert_noise(noise_of(case, ciphertext, values), SIGMA)


# Evaluator


def test_addition_family_is_numpy(case, rng):
    x, y = random_slots(rng, 64), random_slots(rng, 64)
    cx, cy, py = case.encrypt(x), case.encrypt(y), case.encoder.encode(y, (0, case.top), SCALE)
    e = case.evaluator
    results = {
        "add": (e.add(cx, cy), x + y, 2),
        "sub": (e.sub(cx, cy), x - y, 2),
        "neg": (e.neg(cx), -x, 1),
        "add_plain": (e.add_plain(cx, py), x + y, 1),
        "sub_plain": (e.sub_plain(cx, py), x - y, 1),
        "mul_int": (e.mul_int(cx, -3), -3 * x, 9),
        "relabel": (e.relabel(cx, (0, case.top), SCALE / 4, 64), 4 * x, 1),
        "drop_level": (e.drop_level(cx, (0, 1)), x, 1),
        "trivial": (e.add(e.trivial(py), cx), x + y, 1),
    }
    for name, (result, values, variance) in results.items():
        assert result.slots == 64, name
        assert_noise(noise_of(case, result, values), SIGMA * math.sqrt(variance))


def test_add_int_adds_a_constant_polynomial(case, rng):
    x = random_slots(rng, 512)
    addend = round(0.375 * SCALE)
    assert_noise(noise_of(case, case.evaluator.add_int(case.encrypt(x), addend), x + 0.375), SIGMA)
    assert_noise(noise_of(case, case.evaluator.add_int(case.encrypt(x), -addend), x - 0.375), SIGMA)


def test_operands_may_have_fewer_slots(case, rng):
    x, y = random_slots(rng, 64), random_slots(rng, 4)
    result = case.evaluator.add(case.encrypt(y), case.encrypt(x))
    assert result.slots == 64
    np.testing.assert_allclose(case.decryptor.decrypt(result), x + np.tile(y, 16), atol=1e-8)


def test_mul_plain_and_rescale_over_every_level(case, rng):
    """Down the whole chain, two-prime levels and a two-prime q0 included."""
    x = random_slots(rng, case.n // 2)
    ciphertext, values = case.encrypt(x), x
    std = SIGMA
    for level in range(case.top, 0, -1):
        factor = random_slots(rng, case.n // 2)
        plain = case.encoder.encode(factor, (0, level), float(case.group_product(level)))
        ciphertext, values = case.evaluator.rescale(case.evaluator.mul_plain(ciphertext, plain)), values * factor
        assert ciphertext.level == (0, level - 1)
        assert ciphertext.scale == pytest.approx(SCALE, rel=1e-12)
        # plaintext rounding is 1/12 of a unit at the scale of the group: nothing next to the other two
        std = math.hypot(std, rounding_std(case.n))
        noise = noise_of(case, ciphertext, values)
        assert np.max(np.abs(noise)) <= 8 * std
        assert np.sqrt(np.mean(noise**2)) >= 0.7 * rounding_std(case.n)


def test_one_mod_down_over_several_levels_rounds_once(case, rng):
    """Multiplied by about the dropped primes, then divided by them at once."""
    x = random_slots(rng, 512)
    ciphertext = case.encrypt(x)
    limbs = case.parameters.basis((0, case.top))
    dropped = [case.parameters.q[limb] for limb in limbs if limb not in case.parameters.basis((0, 1))]
    scale = SCALE
    for prime in dropped:
        ciphertext = case.evaluator.mul_int(ciphertext, prime - 12345, ciphertext.scale * (prime - 12345))
        scale *= (prime - 12345) / prime
    result = case.evaluator.mod_down(ciphertext, (0, 1), scale)
    assert result.level == (0, 1) and result.scale == scale
    assert_noise(noise_of(case, result, x), math.hypot(SIGMA, rounding_std(case.n)))


@pytest.mark.parametrize("steps", [1, -3])
def test_rotation_turns_left(case, rng, steps):
    x = random_slots(rng, case.n // 2)
    result = case.evaluator.rotate(case.encrypt(x), galois(steps, case.n), case.keys)
    std = math.hypot(SIGMA, key_switch_std(case.parameters, case.parameters.basis((0, case.top))))
    assert_noise(noise_of(case, result, np.roll(x, -steps)), std)


def test_rotation_of_few_slots_is_cyclic_in_them(case, rng):
    x = random_slots(rng, 8)
    result = case.evaluator.rotate(case.encrypt(x), galois(-3, case.n), case.keys)
    np.testing.assert_allclose(case.decryptor.decrypt(result), np.roll(x, 3), atol=1e-7)


def test_conjugation(case, rng):
    x = random_slots(rng, 32)
    result = case.evaluator.rotate(case.encrypt(x), 2 * case.n - 1, case.keys)
    np.testing.assert_allclose(case.decryptor.decrypt(result), np.conj(x), atol=1e-7)


def test_a_key_serves_lower_levels_and_other_tracks(rng):
    case = shared_case("grouped")
    x = random_slots(rng, 512)
    for track, level in [(0, 2), (0, 1), (0, 0), (1, 2), (1, 1)]:
        result = case.evaluator.rotate(case.encrypt(x, level, track=track), galois(1, case.n), case.keys)
        std = math.hypot(SIGMA, key_switch_std(case.parameters, case.parameters.basis((track, level))))
        assert_noise(noise_of(case, result, np.roll(x, -1)), std)


def test_a_key_made_for_a_lower_level_decrypts_as_well(case, rng):
    x = random_slots(rng, 512)
    lower = _core.KeyGenerator(case.context).evaluation_keys(case.secret_key, [spec("galois", 5, 1)])
    assert lower.num_bytes < case.keys.num_bytes / len(case.keys)
    ciphertext = case.encrypt(x, 1)
    for keys in (lower, case.keys):
        result = case.evaluator.rotate(ciphertext, 5, keys)
        np.testing.assert_allclose(case.decryptor.decrypt(result), np.roll(x, -1), atol=1e-7)
    with pytest.raises(MissingKeyError, match=r"galois key 5 \(rotation by 1 steps\)"):
        case.evaluator.rotate(case.encrypt(x), 5, lower)


def test_rotate_is_its_expansion_bit_for_bit(case, rng):
    x = case.encrypt(random_slots(rng, 128))
    e, digits = case.evaluator, case.evaluator.hoist(x)
    for element in (galois(1, case.n), galois(-3, case.n), 2 * case.n - 1):  # one hoist, many products
        expanded = e.mod_down(e.key_product(digits, element, case.keys), x.level, x.scale)
        assert to_bytes(e.rotate(x, element, case.keys)) == to_bytes(expanded)


def test_sums_over_qp_need_one_mod_down(case, rng):
    """Products and sums before the mod_down, which then divides by P and by the level's primes at once."""
    x = random_slots(rng, 128)
    weights = [random_slots(rng, 128) for _ in range(2)]
    ciphertext, e = case.encrypt(x), case.evaluator
    digits = e.hoist(ciphertext)
    terms = []
    for steps, weight in zip((1, -3), weights, strict=True):
        plain = case.encoder.encode(weight, ciphertext.level, float(case.group_product(case.top)), basis="QP")
        terms.append(e.mul_plain(e.key_product(digits, galois(steps, case.n), case.keys), plain))
    result = e.mod_down(e.add(*terms), (0, case.top - 1), SCALE)
    assert result.basis == "Q" and result.level == (0, case.top - 1)
    expected = weights[0] * np.roll(x, -1) + weights[1] * np.roll(x, 3)
    std = math.hypot(2 * SIGMA, rounding_std(case.n))  # |weights| <= sqrt(2), two terms
    noise = noise_of(case, result, expected)
    assert np.max(np.abs(noise)) <= 8 * std
    assert np.sqrt(np.mean(noise**2)) >= 0.7 * rounding_std(case.n)


def test_operations_refuse_what_does_not_fit(case):
    e, top = case.evaluator, case.top
    x, other_level = case.encrypt(np.ones(4)), case.encrypt(np.ones(4), 1)
    other_scale = case.encrypt(np.ones(4), scale=SCALE * 2)
    over_qp = e.key_product(e.hoist(x), 5, case.keys)
    with pytest.raises(LevelError, match="add: operands are at level"):
        e.add(x, other_level)
    with pytest.raises(ScaleError, match=r"sub: scales differ \(2\^41"):
        e.sub(x, other_scale)
    with pytest.raises(LevelError):
        e.drop_level(other_level, (0, top))
    with pytest.raises(LevelError, match="at level 0, the last one"):
        e.rescale(case.encrypt(np.ones(4), 0))
    with pytest.raises(ScaleError):
        e.mod_down(x, (0, top - 1), SCALE)
    with pytest.raises(LevelError):
        e.relabel(x, (0, 1), SCALE, 4)
    with pytest.raises(LevelError, match="over QP"):
        e.add(x, over_qp)
    for refused in (lambda: e.add_int(over_qp, 1), lambda: e.hoist(over_qp), lambda: case.decryptor.decrypt(over_qp)):
        with pytest.raises(ShapeError, match="mod_down it first"):
            refused()
    with pytest.raises(MissingKeyError, match="rotation by 7 steps"):
        e.rotate(x, galois(7, case.n), case.keys)


def test_values_of_other_keys_and_parameters_do_not_mix(case):
    other = make_case(case.parameters)
    x, y = case.encrypt(np.ones(4)), other.encrypt(np.ones(4))
    with pytest.raises(ParameterMismatchError, match="key set"):
        case.evaluator.add(x, y)
    with pytest.raises(ParameterMismatchError, match="key set"):
        case.evaluator.rotate(y, 5, case.keys)
    with pytest.raises(ParameterMismatchError, match="key set"):
        case.decryptor.decrypt(y)
    foreign = shared_case("grouped" if case.parameters == plain_parameters() else "plain")
    for mix in (
        lambda: case.evaluator.neg(foreign.encrypt(np.ones(4))),
        lambda: _core.Decryptor(case.context, foreign.secret_key),
        lambda: _core.Encryptor(case.context, foreign.secret_key),
        lambda: case.encryptor.encrypt(foreign.encoder.encode(np.ones(4), (0, 0), SCALE)),
        lambda: case.evaluator.rotate(x, 5, foreign.keys),
    ):
        with pytest.raises(ParameterMismatchError) as error:
            mix()
        assert case.parameters.fingerprint.hex()[:16] in str(error.value)
        assert foreign.parameters.fingerprint.hex()[:16] in str(error.value)


def test_rows_outlive_their_context_object():
    case = make_case(plain_parameters())
    ciphertext, decryptor = case.encrypt(np.arange(4.0)), case.decryptor
    del case
    np.testing.assert_allclose(decryptor.decrypt(ciphertext), np.arange(4), atol=1e-8)
