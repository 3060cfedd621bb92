"""Every method of latticework.ckks, by decryption against NumPy; what it refuses and how it says so."""

import copy
import pickle
import subprocess
import sys
from math import log2

import numpy as np
import pytest

import latticework as lw
from latticework import _core, ckks
from latticework.errors import (
    DtypeError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    PrecisionError,
    RangeError,
    ScaleError,
    SecretKeyError,
    SecurityError,
    ShapeError,
    UserError,
)

SLOTS = 32
RNG = np.random.default_rng(8)


@pytest.fixture(scope="module")
def parameters():
    return ckks.Parameters(2**10, [46, 40, 40, (20, 20), 40], scale_bits=40, num_special=2, insecure=True)


@pytest.fixture(scope="module")
def generator(parameters):
    return ckks.KeyGenerator(parameters)


@pytest.fixture(scope="module")
def keys(generator):
    return generator.evaluation_keys(steps=[1, -3, 5], conjugate=True, slots=SLOTS)


@pytest.fixture(scope="module")
def evaluator(parameters, keys):
    return ckks.Evaluator(parameters, keys)


@pytest.fixture(scope="module")
def encryptor(parameters, generator, evaluator):
    return ckks.Encryptor(parameters, generator.secret_key(), evaluator=evaluator)


@pytest.fixture(scope="module")
def decryptor(parameters, generator):
    return ckks.Decryptor(parameters, generator.secret_key())


@pytest.fixture(scope="module")
def x():
    return RNG.uniform(-1, 1, SLOTS) + 1j * RNG.uniform(-1, 1, SLOTS)


@pytest.fixture(scope="module")
def y():
    return RNG.uniform(-1, 1, SLOTS)


@pytest.fixture
def close(decryptor):
    def check(ciphertext, expected, tolerance=1e-7):
        np.testing.assert_allclose(decryptor.decrypt(ciphertext), expected, atol=tolerance)

    return check


# -- parameters -------------------------------------------------------------------------------


def test_stated_sizes_and_scales_that_do_not_drift():
    p = ckks.Parameters(2**14, [50, 40, (21, 19), 40, 40], scale_bits=40, p_bits=[45, 45])
    chain = p.chain
    assert [len(g) for g in chain.main.groups] == [2, 1, 2, 1, 1] and len(chain.special) == 2
    stated = [50, 40, 40, 40, 40]
    assert all(abs(log2(p.dropped(level)) - bits) < 0.05 for level, bits in enumerate(stated))
    assert [round(log2(q)) for q in chain.special] == [45, 45]
    assert all(abs(log2(s) - 40) < 0.05 for s in p.scales)
    for level in range(1, 5):
        assert p.scales[level - 1] == pytest.approx(p.scales[level] ** 2 / p.dropped(level), rel=2**-50)
    assert p.levels == 4 and p.slots == 2**13 and not p.is_insecure
    assert p.log2_qp == pytest.approx(p.log2_q + p.log2_p) and p.log2_qp <= p.limit_bits


def test_a_profile_of_scales():
    p = ckks.Parameters(2**13, [40, 30, 35], scale_bits=[30, 35, 35], num_special=1)
    assert [round(log2(s)) for s in p.scales] == [30, 35, 35]


@pytest.mark.parametrize("num_digits", [1, 2, 4])
def test_digits_come_with_special_primes_that_hold_them(num_digits):
    p = ckks.Parameters(2**14, [46] + [40] * 3, scale_bits=40, num_digits=num_digits)
    assert p.num_digits == num_digits
    largest = max(sum(log2(p.chain.primes[limb]) for limb in digit) for digit in p.chain.digits)
    assert largest <= p.log2_p + 1


def test_digits_larger_than_p_are_refused():
    with pytest.raises(PrecisionError, match=r"num_digits=1 the largest digit has 166.*more than P"):
        ckks.Parameters(2**14, [46, 40, 40, 40], scale_bits=40, num_digits=1, num_special=1)


def test_insecure_sets_are_refused_with_numbers():
    with pytest.raises(SecurityError, match=r"log2\(QP\) = 295.*N=8192 allows at most 2\d\d .*ring_degree=16384") as e:
        ckks.Parameters(2**13, [46] + [40] * 5, scale_bits=40, num_special=1)
    assert "test_expert_ckks.py" in str(e.value.at)
    assert ckks.Parameters(2**13, [46] + [40] * 5, scale_bits=40, num_special=1, insecure=True).is_insecure
    assert not ckks.Parameters(2**13, [46, 40], scale_bits=40, num_special=1, insecure=True).is_insecure


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((1000, [40, 40]), RangeError, "not a power of two"),
        ((2**12, []), LevelError, "0 levels"),
        ((2**12, [40, 8]), RangeError, "a prime of 8 bits"),
        ((2**12, [40, (20, 20, 20)]), RangeError, "3 primes"),
        ((2**12, [40, (50, 30)]), RangeError, "50 bits"),
    ],
)
def test_impossible_sizes_are_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        ckks.Parameters(*arguments, scale_bits=40, insecure=True)


def test_scales_one_a_level_or_one_for_all():
    with pytest.raises(RangeError, match="2 entries for 3 levels"):
        ckks.Parameters(2**13, [40, 30, 30], scale_bits=[30, 30])


def test_chosen_parameters():
    p = ckks.Parameters.choose(depth=3, scale_bits=35, slots=2**13)
    assert p.levels == 3 and p.slots >= 2**13 and not p.is_insecure and round(log2(p.scales[-1])) == 35
    assert ckks.Parameters.choose(depth=2, ring_degree=2**14).ring_degree == 2**14
    with pytest.raises(LevelError, match="levels of 40 bits"):
        ckks.Parameters.choose(depth=12, ring_degree=2**13)
    with pytest.raises(PrecisionError, match="bits less"):
        ckks.Parameters.choose(depth=5, precision_bits=50)


def test_a_chosen_precision_is_reached():
    p = ckks.Parameters.choose(depth=3, precision_bits=18)
    g = ckks.KeyGenerator(p)
    e = ckks.Encryptor(p, g.public_key(), evaluator=ckks.Evaluator(p, g.relin_key()))
    values = RNG.uniform(0.9, 1, (8, p.slots))
    factors = e.encrypt_many(values)
    while len(factors) > 1:
        factors = [a * b for a, b in zip(factors[::2], factors[1::2], strict=True)]
    error = np.max(np.abs(ckks.Decryptor(p, g.secret_key()).decrypt(factors[0].settle()) - values.prod(axis=0)))
    assert error < 2**-18


def test_the_summary_tells_everything(parameters):
    text = str(parameters)
    for part in ("1024", "log2 Q", "log2 P", "log2 QP", "INSECURE", "digits", "evaluation key", "MB"):
        assert part in text
    assert len(text.splitlines()) == 9 + len(parameters.scales)
    assert "INSECURE" in repr(parameters)


def test_parameters_are_values(parameters):
    same = ckks.Parameters(2**10, [46, 40, 40, (20, 20), 40], scale_bits=40, num_special=2, insecure=True)
    assert same == parameters and hash(same) == hash(parameters) and same.fingerprint == parameters.fingerprint
    assert ckks.Parameters(2**10, [46, 40], scale_bits=40, insecure=True) != parameters
    assert parameters.on(threads=1) == parameters


# -- encoding and encryption ------------------------------------------------------------------


@pytest.mark.parametrize("slots", [1, 2, 64, 512])
def test_encode_and_decode(parameters, slots):
    encoder = ckks.Encoder(parameters)
    values = RNG.normal(size=slots) + 1j * RNG.normal(size=slots)
    p = encoder.encode(values, level=2)
    assert (p.level, p.slots, p.scale) == (2, slots, parameters.scales[2])
    np.testing.assert_allclose(encoder.decode(p), values, atol=1e-9)


def test_scalars_and_lists_encode(parameters):
    encoder = ckks.Encoder(parameters)
    assert encoder.decode(encoder.encode(2.5)) == pytest.approx([2.5])
    np.testing.assert_allclose(encoder.decode(encoder.encode([1, 2], scale=2.0**30)), [1, 2], atol=1e-6)


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        (np.ones(3), ShapeError, r"np.pad\(values, \(0, 1\)\)"),
        (np.ones(1024), ShapeError, "split it"),
        (np.ones((2, 2)), ShapeError, "reshape"),
        ([[1], [1, 2]], ShapeError, "different lengths"),
        ([1.0, np.nan], RangeError, "1 of 2 values"),
        (["a"], DtypeError, "dtype"),
        ([2.0**30], RangeError, r"2\^62"),
    ],
)
def test_what_cannot_be_encoded(parameters, values, error, text):
    with pytest.raises(error, match=text):
        ckks.Encoder(parameters).encode(values)


def test_bad_levels_and_scales(parameters):
    encoder = ckks.Encoder(parameters)
    with pytest.raises(LevelError, match="levels 0 to 4"):
        encoder.encode([1.0], level=5)
    with pytest.raises(ScaleError, match=r"2\.0\*\*40"):
        encoder.encode([1.0], scale=0.0)


def test_public_and_secret_encryption(parameters, generator, decryptor, x):
    for key in (generator.public_key(), generator.secret_key()):
        c = ckks.Encryptor(parameters, key).encrypt(x, level=1)
        assert (c.level, c.degree, c.slots, c.is_settled) == (1, 1, SLOTS, True)
        np.testing.assert_allclose(decryptor.decrypt(c), x, atol=1e-7)


def test_plaintexts_encrypt(parameters, encryptor, close, x):
    plain = ckks.Encoder(parameters).encode(x, level=3)
    close(encryptor.encrypt(plain), x)
    with pytest.raises(UserError, match="has its level and scale"):
        encryptor.encrypt(plain, level=2)


def test_products_decrypt_at_any_scale_that_fits(encryptor, decryptor, x):
    """A message wider than the first two primes is read from as many as it takes."""
    c = encryptor.encrypt(x, scale=2.0**55)
    e = c.evaluator
    np.testing.assert_allclose(decryptor.decrypt(e.mul(c, c)), x * x, atol=1e-10)
    np.testing.assert_allclose(decryptor.decrypt(e.mul_plain(e.mul(c, c), x, scale=2.0**50)), x**3, atol=1e-10)


# -- keys -------------------------------------------------------------------------------------


def test_keys_say_what_they_are(keys, parameters):
    assert keys.has_relin_key and len(keys) == 5 and keys.steps == (-3, 1, 5)
    assert keys.num_bytes == pytest.approx(5 * parameters.key_bytes(), rel=0.02)  # rows are padded a little
    text = keys.summary()
    assert "rotation by -3" in text and "relinearisation" in text and "conjugation" in text and "MB" in text


def test_level_limited_keys_are_smaller(generator, parameters, encryptor, close, x):
    low = generator.galois_keys([1], level=1, slots=SLOTS)
    assert low.num_bytes == pytest.approx(parameters.key_bytes(1), rel=0.02) and low.num_bytes < parameters.key_bytes()
    e = ckks.Evaluator(parameters, low)
    c = encryptor.encrypt(x)
    with pytest.raises(MissingKeyError, match="serves levels up to 1, the ciphertext is at level 4"):
        e.rotate(c, 1)
    close(e.rotate(e.mod_switch(c, 1), 1), np.roll(x, -1))


def test_key_sets_join(generator, parameters, encryptor, close, x):
    both = generator.relin_key() | generator.galois_keys([2], slots=SLOTS)
    e = ckks.Evaluator(parameters, both)
    close(e.rotate(e.relinearize(e.square(encryptor.encrypt(x))), 2), np.roll(x * x, -2))
    with pytest.raises(ParameterMismatchError):
        both | ckks.KeyGenerator(parameters).relin_key()


def test_keys_in_files(tmp_path, generator, parameters, keys, decryptor, x):
    generator.secret_key().save(tmp_path / "secret")
    generator.public_key().save(tmp_path / "public")
    keys.save(tmp_path / "keys")
    secret = ckks.SecretKey.load(tmp_path / "secret", parameters)
    public = ckks.PublicKey.load(tmp_path / "public", parameters)
    e = ckks.Evaluator(parameters, ckks.EvaluationKeys.load(tmp_path / "keys", parameters))
    c = ckks.Encryptor(parameters, public, evaluator=e).encrypt(x)
    ckks.save_ciphertexts(tmp_path / "c", [c, c.rotate(1)])
    first, second = ckks.load_ciphertexts(tmp_path / "c", parameters, evaluator=e).values()
    np.testing.assert_allclose(ckks.Decryptor(parameters, secret).decrypt(second), np.roll(x, -1), atol=1e-7)
    np.testing.assert_allclose(decryptor.decrypt(first.rotate(1)), np.roll(x, -1), atol=1e-7)
    c.save(tmp_path / "one")
    assert len(ckks.load_ciphertexts(tmp_path / "one", parameters)) == 1


def test_a_secret_key_stays_where_it_is(generator):
    secret = generator.secret_key()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SecretKeyError, match="save"):
            attempt(secret)
    assert "hidden" in repr(secret)


def test_one_secret_key_for_many_generators(parameters, generator, encryptor, close, x):
    again = ckks.KeyGenerator(parameters, generator.secret_key()).galois_keys([1], slots=SLOTS)
    close(ckks.Evaluator(parameters, again).rotate(encryptor.encrypt(x), 1), np.roll(x, -1))


# -- exact operations -------------------------------------------------------------------------


def test_sums_and_products(evaluator, encryptor, close, x, y):
    a, b = encryptor.encrypt(x), encryptor.encrypt(y)
    e = evaluator
    close(e.add(a, b), x + y)
    close(e.sub(a, b), x - y)
    close(e.neg(a), -x)
    close(e.add(a, y), x + y)
    close(e.sub(a, 1.5), x - 1.5)
    close(e.add(a, 1j), x + 1j)
    close(e.mul_plain(a, y), x * y)
    close(e.mul_plain(a, -0.3), -0.3 * x)
    close(e.mul_plain(a, 0.5 - 2j), (0.5 - 2j) * x)
    close(e.mul_int(a, -7), -7 * x, 1e-6)
    close(e.mul_i(a), 1j * x)
    product = e.mul(a, b)
    assert product.degree == 2 and product.scale == a.scale * b.scale and product.level == a.level
    close(product, x * y)
    close(e.square(a), x * x)
    three = e.add(product, e.square(a))  # of degree 2, like everything in it
    assert three.degree == 2
    close(e.rescale(e.relinearize(three)), x * y + x * x)
    merged = e.relinearize(three, rescale=True)
    assert (merged.level, merged.degree) == (a.level - 1, 1) and merged.is_settled
    close(merged, x * y + x * x)
    close(e.relinearize(e.mul_plain(a, y), rescale=True), x * y)
    bottom = e.square(encryptor.encrypt(x, level=0, scale=2.0**20))
    with pytest.raises(LevelError, match="level 0, from which nothing can be rescaled"):
        e.relinearize(bottom, rescale=True)


def test_degrees_mix_in_sums(evaluator, encryptor, close, x, y):
    e, a, b = evaluator, encryptor.encrypt(x), encryptor.encrypt(y)
    linear = e.mul_plain(a, 2.0, scale=b.scale)
    close(e.sub(linear, e.mul(a, b)), 2 * x - x * y)


def test_rescale_ends_on_the_canonical_scale(evaluator, encryptor, parameters, x):
    c = encryptor.encrypt(x)
    for level in range(parameters.levels - 1, -1, -1):
        c = evaluator.rescale(evaluator.relinearize(evaluator.square(c)))
        assert c.level == level and c.scale == parameters.scales[level] and c.is_settled
    with pytest.raises(LevelError, match="level 0, the last"):
        evaluator.rescale(c)


def test_plain_products_rescale_onto_the_canonical_scale(evaluator, encryptor, parameters, x, y):
    c = evaluator.rescale(evaluator.mul_plain(encryptor.encrypt(x, scale=2.0**37), y))
    assert c.scale == parameters.scales[c.level]


def test_levels(evaluator, encryptor, parameters, close, x):
    c = encryptor.encrypt(x)
    dropped = evaluator.mod_switch(c, 1)
    assert dropped.level == 1 and dropped.scale == c.scale and dropped.num_bytes < c.num_bytes
    close(dropped, x)
    for level in range(parameters.levels):
        settled = evaluator.level_to(c, level)
        assert settled.level == level and settled.scale == parameters.scales[level]
        close(settled, x)
    assert evaluator.level_to(c, c.level).level == c.level
    wide = evaluator.mul_plain(c, 1.0, scale=2.0**80)
    down = evaluator.mod_down(wide, 2)
    assert down.level == 2 and down.scale == pytest.approx(2.0**40, rel=0.01)
    close(down, x)
    with pytest.raises(LevelError, match="levels only go down"):
        evaluator.level_to(dropped, 3)


def test_level_to_settles_products_first(evaluator, encryptor, parameters, close, x):
    product = evaluator.relinearize(evaluator.square(encryptor.encrypt(x)))
    assert evaluator.level_to(product, 3).scale == parameters.scales[3]
    close(evaluator.level_to(product, 1), x * x)
    odd = encryptor.encrypt(x, level=2, scale=2.0**38.7)
    with pytest.raises(ScaleError, match="choose a lower level"):
        evaluator.level_to(odd, 2)
    close(evaluator.level_to(odd, 1), x)


def test_rotations(evaluator, encryptor, close, x):
    c = encryptor.encrypt(x)
    close(evaluator.rotate(c, 1), np.roll(x, -1))
    close(evaluator.rotate(c, SLOTS - 3), np.roll(x, 3))
    assert evaluator.rotate(c, 2 * SLOTS) is c
    for got, steps in zip(evaluator.rotate_many(c, [5, 0, 1, -3]), [5, 0, 1, -3], strict=True):
        close(got, np.roll(x, -steps))
    close(evaluator.conjugate(c), x.conj())
    with pytest.raises(MissingKeyError, match=r"no key for rotation by 2 .*galois_keys\(steps=\[2\]\)"):
        evaluator.rotate(c, 2)


def test_keys_for_longer_vectors_serve_shorter_ones(parameters, generator, encryptor, close):
    """A key of 5^k for N/2 slots rotates periodic vectors by k modulo their length."""
    e = ckks.Evaluator(parameters, generator.galois_keys([65]))
    values = RNG.normal(size=SLOTS)
    close(e.rotate(encryptor.encrypt(values), 1), np.roll(values, -1))


def test_short_vectors_repeat(evaluator, encryptor, close, y):
    c = evaluator.with_slots(encryptor.encrypt(y[:4]), SLOTS)
    close(evaluator.add(c, encryptor.encrypt(y)), np.tile(y[:4], SLOTS // 4) + y)
    with pytest.raises(ShapeError, match="power of two"):
        evaluator.with_slots(c, 2)


def test_lists_of_ciphertexts(evaluator, encryptor, close, x, y):
    a, b = encryptor.encrypt_many([x, y]), encryptor.encrypt_many([y, x])
    for got, want in zip(evaluator.add(a, b), [x + y, y + x], strict=True):
        close(got, want)
    for got, want in zip(evaluator.mul_plain(a, y), [x * y, y * y], strict=True):
        close(got, want)
    for got, want in zip(evaluator.mul(a, a[0]), [x * x, x * y], strict=True):
        close(got, want)
    for got, want in zip(evaluator.rotate(a, 1), [x, y], strict=True):
        close(got, np.roll(want, -1))
    close(evaluator.add(a[0], list(y)), x + y)  # a list of numbers is one vector
    with pytest.raises(ShapeError, match=r"lists of \[1, 2\]"):
        evaluator.add(a, b[:1])


# -- refusals ---------------------------------------------------------------------------------


def test_operands_that_do_not_fit(evaluator, encryptor, x):
    a, low = encryptor.encrypt(x), encryptor.encrypt(x, level=2)
    with pytest.raises(LevelError, match=r"level 4 \(scale 2\^40.000\) and level 2.*level_to\(x, 2\)") as e:
        evaluator.add(a, low)
    assert "test_expert_ckks.py" in str(e.value)
    with pytest.raises(ScaleError, match=r"2\^40.000 and 2\^80.000, both at level 4"):
        evaluator.add(a, evaluator.square(a))
    with pytest.raises(ShapeError, match="degree 2; relinearize it first"):
        evaluator.mul(evaluator.square(a), evaluator.square(a))
    with pytest.raises(ShapeError, match="degree 2; relinearize it first"):
        evaluator.rotate(evaluator.square(a), 1)
    with pytest.raises(ShapeError, match="32 and 4 slots"):
        evaluator.add(a, encryptor.encrypt(x[:4]))
    with pytest.raises(ShapeError, match="4 public values for 32 slots"):
        evaluator.add(a, x[:4])
    with pytest.raises(ScaleError, match=r"scale 2\^80.000.*no level is left"):
        evaluator.square(evaluator.level_to(a, 0))
    with pytest.raises(ScaleError, match="nothing of the values"):
        evaluator.rescale(a)
    with pytest.raises(UserError, match="encrypt it"):
        evaluator.add(x, a)
    with pytest.raises(TypeError, match="truth value"):
        bool(a)


def test_plaintexts_that_do_not_fit(evaluator, encryptor, parameters, close, x, y):
    a, encoder = encryptor.encrypt(x), ckks.Encoder(parameters)
    with pytest.raises(LevelError, match="encode it with level=4"):
        evaluator.add(a, encoder.encode(y, level=1))
    with pytest.raises(ScaleError, match=r"encode it with level=ciphertext.level and scale"):
        evaluator.add(a, encoder.encode(y, scale=2.0**30))
    close(evaluator.add(a, encoder.encode(y)), x + y)
    close(evaluator.mul_plain(a, encoder.encode(y, scale=2.0**30)), x * y)


def test_other_keys_and_parameters_are_refused(parameters, evaluator, encryptor, decryptor, x):
    other = ckks.KeyGenerator(parameters)
    strange = ckks.Encryptor(parameters, other.secret_key()).encrypt(x)
    with pytest.raises(ParameterMismatchError, match="key set"):
        evaluator.add(encryptor.encrypt(x), strange)
    with pytest.raises(ParameterMismatchError, match="key set"):
        evaluator.rotate(strange, 1)
    with pytest.raises(ParameterMismatchError, match="key set"):
        decryptor.decrypt(strange)
    small = ckks.Parameters(2**10, [46, 40], scale_bits=40, insecure=True)
    foreign = ckks.Encryptor(small, ckks.KeyGenerator(small).secret_key()).encrypt(x)
    with pytest.raises(ParameterMismatchError, match="one parameter set"):
        evaluator.neg(foreign)
    with pytest.raises(ParameterMismatchError):
        ckks.Evaluator(small, evaluator.keys)


def test_without_keys(parameters, generator, decryptor, x):
    c = ckks.Encryptor(parameters, generator.secret_key()).encrypt(x)
    np.testing.assert_allclose(decryptor.decrypt(c * c + c * c), 2 * x * x, atol=1e-7)
    with pytest.raises(MissingKeyError, match="no keys"):
        c.rotate(1)
    with pytest.raises(MissingKeyError, match="using"):
        c**3


# -- operators --------------------------------------------------------------------------------


def test_operators(encryptor, close, x, y):
    a, b = encryptor.encrypt(x), encryptor.encrypt(y)
    close(a + b - 2 * a, y - x)
    close(y - a, y - x)
    close(1.5 - a * 0.25, 1.5 - 0.25 * x)
    close(y * a + a * y, 2 * x * y)
    close(-a + 1j, -x + 1j)
    close(+a, x)
    for exponent in (1, 2, 3, 5, 8):
        power = a**exponent
        close(power, x**exponent, 1e-6)
        assert power.settle().level == 4 - (exponent - 1).bit_length()
    with pytest.raises(RangeError, match="exponent 0"):
        a**0


def test_operators_wait_with_relinearising(encryptor, close, x, y):
    a, b = encryptor.encrypt(x), encryptor.encrypt(y)
    total = a * b + b * b - a * a
    assert total.degree == 2 and total.level == 4
    close(total, x * y + y * y - x * x)
    assert total.settle().is_settled and total.settle().level == 3
    close(total * a + 0.5, (x * y + y * y - x * x) * x + 0.5)


def test_operators_bring_operands_to_one_level(encryptor, parameters, close, x, y):
    deep = encryptor.encrypt(y) ** 4
    total = deep + encryptor.encrypt(x)
    assert total.scale == parameters.scales[2] and total.level == 2
    close(total, y**4 + x)
    odd = encryptor.encrypt(x, scale=2.0**38.4)
    close(odd + encryptor.encrypt(y), x + y)


def test_alignment_as_an_option(parameters, keys, encryptor, close, x, y):
    e = ckks.Evaluator(parameters, keys, align=True)
    close(e.add(encryptor.encrypt(x), encryptor.encrypt(y, level=1)), x + y)
    close(e.mul(encryptor.encrypt(x), encryptor.encrypt(y, level=1)), x * y)


def test_no_level_left_to_align(encryptor, x):
    a, b = encryptor.encrypt(x, level=0), encryptor.encrypt(x, level=0, scale=2.0**39)
    with pytest.raises(LevelError, match="no level is left"):
        a + b


# -- planned operations -----------------------------------------------------------------------


def planned(parameters, generator, *operations):
    required = [key for op in operations for key in op.required_keys(parameters, slots=SLOTS)]
    return ckks.Evaluator(parameters, generator.evaluation_keys(required=required))


def test_linear_transforms(parameters, generator, encryptor, close, x):
    a = RNG.normal(size=(SLOTS, SLOTS)) + 1j * RNG.normal(size=(SLOTS, SLOTS))
    b = RNG.normal(size=(SLOTS, SLOTS))
    transform = ckks.LinearTransform(a, conjugate_diagonals=b)
    e = planned(parameters, generator, transform)
    result = e.linear_transform(encryptor.encrypt(x), transform)
    assert result.level == 3 and result.is_settled
    close(result, a @ x + b @ x.conj(), 1e-5)
    np.testing.assert_allclose(transform(x), a @ x + b @ x.conj())


def test_a_transform_from_diagonals_and_a_rectangle(parameters, generator, encryptor, close, x, y):
    diagonals = ckks.LinearTransform({0: y, -2: 1j * x, 5: 0.5}, slots=SLOTS)
    wide = RNG.normal(size=(3, 7))
    rectangle = ckks.LinearTransform(wide, slots=SLOTS)
    e = planned(parameters, generator, diagonals, rectangle)
    c = encryptor.encrypt(x)
    close(e.linear_transform(c, diagonals), y * x + 1j * x * np.roll(x, 2) + 0.5 * np.roll(x, -5))
    close(e.linear_transform(c, rectangle), np.pad(wide @ x[:7], (0, SLOTS - 3)))
    low = encryptor.encrypt(x, level=1, scale=2.0**38)
    assert e.linear_transform(low, diagonals).scale == parameters.scales[0]
    for got in e.linear_transform([c, low], diagonals):
        close(got, diagonals(x))


def test_transforms_need_their_keys(parameters, evaluator, encryptor, x):
    transform = ckks.LinearTransform(RNG.normal(size=(SLOTS, SLOTS)))
    with pytest.raises(MissingKeyError, match=r"keys are missing.*required_keys\(parameters, level=4\)"):
        evaluator.linear_transform(encryptor.encrypt(x), transform)
    with pytest.raises(LevelError, match="spends 1 levels, the ciphertext is at level 0"):
        evaluator.linear_transform(encryptor.encrypt(x, level=0), transform)
    with pytest.raises(ShapeError, match="made for 32 slots"):
        evaluator.linear_transform(encryptor.encrypt(x[:4]), transform)
    with pytest.raises(ShapeError, match="slots=16"):
        ckks.LinearTransform(np.ones((32, 4)), slots=16)
    with pytest.raises(RangeError, match="every diagonal is zero"):
        ckks.LinearTransform(np.zeros((4, 4)))


@pytest.mark.parametrize(
    ("polynomial", "depth"),
    [
        (ckks.Polynomial([0.5]), 0),
        (ckks.Polynomial([0.5, 2.0]), 1),
        (ckks.Polynomial([1, 0, -0.5, 0.25]), 2),
        (ckks.Polynomial([0.1, 0.2, 0.3], basis="chebyshev", interval=(-0.5, 0.5)), 2),
        (ckks.Polynomial([0.1, 0.2, 0.3], basis="chebyshev", interval=(-3, 1)), 3),
        (ckks.chebyshev(np.exp, (-1, 1), 7), 3),
        (ckks.chebyshev(np.sin, (-2, 2), 7), 4),
    ],
)
def test_polynomials(parameters, generator, encryptor, close, polynomial, depth):
    lo, hi = polynomial.interval
    values = RNG.uniform(lo, hi, SLOTS)
    e = planned(parameters, generator, polynomial)
    result = e.polynomial(encryptor.encrypt(values), polynomial)
    assert polynomial.depth == depth and result.level == 4 - depth and result.is_settled
    close(result, polynomial(values))


def test_power_coefficients_mean_powers(x):
    np.testing.assert_allclose(ckks.Polynomial([1, 2, 0, 3.0])(x), 1 + 2 * x + 3 * x**3)


def test_chebyshev_states_its_error():
    p = ckks.chebyshev(np.exp, (-1, 1), 5)
    grid = np.linspace(-1, 1, 999)
    assert np.max(np.abs(p(grid) - np.exp(grid))) <= p.max_error < 1e-4
    for arguments, error in (((np.log, (-1, 1), 5), RangeError), ((np.exp, (1, 1), 5), RangeError),
                             ((np.exp, (0, 1), 0), RangeError)):  # fmt: skip
        with pytest.raises(error), np.errstate(all="ignore"):
            ckks.chebyshev(*arguments)


def test_polynomials_that_cannot_be(evaluator, encryptor, x):
    for coefficients, error in (([1j, 2], DtypeError), ([], DtypeError), ([np.inf], RangeError)):
        with pytest.raises(error):
            ckks.Polynomial(coefficients)
    with pytest.raises(LevelError, match="spends 5 levels, the ciphertext is at level 4"):
        evaluator.polynomial(encryptor.encrypt(x), ckks.chebyshev(np.abs, (-1, 1), 31))


@pytest.mark.parametrize(("count", "stride"), [(1, 1), (2, 1), (5, 3), (7, -1), (32, 1), (4, 8)])
def test_inner_sums(parameters, generator, encryptor, close, x, count, stride):
    steps = [1 << k for k in range(5)] + [stride * k for k in range(32)]
    e = ckks.Evaluator(parameters, generator.galois_keys(steps, slots=SLOTS))
    close(e.inner_sum(encryptor.encrypt(x), count, stride), sum(np.roll(x, -j * stride) for j in range(count)), 1e-6)


def test_all_slots_add_up(parameters, generator, encryptor, close, y):
    e = ckks.Evaluator(parameters, generator.galois_keys([1, 2, 4, 8, 16], slots=SLOTS))
    close(e.inner_sum(encryptor.encrypt(y)), np.full(SLOTS, y.sum()), 1e-6)


# -- the package ------------------------------------------------------------------------------


def test_the_package_is_loaded_when_it_is_used():
    program = (
        "import sys, latticework as lw; assert not any(m.startswith('latticework.ckks') for m in sys.modules); "
        "lw.ckks.Parameters; assert 'latticework.ckks' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    assert lw.ckks is ckks
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        lw.nothing


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda p, g, x: ckks.KeyGenerator(1024), ckks.UserError, "KeyGenerator: the parameters: got int; give ckks.Parameters"),
        (lambda p, g, x: ckks.Encoder(None), ckks.UserError, "Encoder: the parameters: got NoneType; give ckks.Parameters"),
        (lambda p, g, x: ckks.Decryptor(p, g.secret_key()).decrypt([x]), ckks.UserError, "got list; give one ckks.Ciphertext; decrypt_many"),
        (lambda p, g, x: p.on(backend="gpu"), ckks.UserError, "no backend 'gpu'; choose one of auto"),
        (lambda p, g, x: p.on(threads=-1), ckks.RangeError, "threads=-1; give 1 to 1024"),
        (lambda p, g, x: g.evaluation_keys(steps=3), TypeError, "steps is 3, a int; give a list"),
        (lambda p, g, x: g.evaluation_keys(required="x"), TypeError, "give what required_keys"),
        (lambda p, g, x: ckks.LinearTransform([[1, 2], [3]]), ckks.ShapeError, "rows of different lengths"),
        (lambda p, g, x: ckks.chebyshev(3, (-1, 1), 3), ckks.UserError, "takes a NumPy function"),
        (lambda p, g, x: ckks.chebyshev(lambda v: 1 / v, (-1, 1), 4), ckks.RangeError, "without its poles"),
        (lambda p, g, x: x + object(), TypeError, "add: got object; give a ckks.Ciphertext"),
        (lambda p, g, x: x / 0, TypeError, "number other than 0"),
        (lambda p, g, x: x / x, TypeError, "chebyshev"),
        (lambda p, g, x: 1 / x, TypeError, "chebyshev"),
        (lambda p, g, x: np.ones((8, 8)) @ x, TypeError, "LinearTransform"),
        (lambda p, g, x: ckks.Parameters.choose(depth=1, slots=0), ValueError, "slots=0; 1 to 65536"),
        (lambda p, g, x: ckks.Parameters(2**13, "abc", scale_bits=40), ckks.RangeError, "q_bits='abc'; give a list"),
        (lambda p, g, x: ckks.Parameters(2**14, [50, 40], scale_bits=70), ckks.RangeError, "level 0 is .*smaller scale"),
        (lambda p, g, x: ckks.Parameters(2**14, [50, 40], scale_bits=40, security_bits=100), ckks.SecurityError,
         "choose one of 128, 192, 256"),
    ],
)  # fmt: skip
def test_wrong_arguments_name_the_line_and_the_remedy(parameters, generator, encryptor, wrong, error, text):
    x = encryptor.encrypt(np.ones(8))
    with pytest.raises(error, match=r"test_expert_ckks\.py:\d+: .*" + text):
        wrong(parameters, generator, x)


def test_division_by_a_number(encryptor, close, x):
    close((encryptor.encrypt(x) / 4).settle(), x / 4)


def test_a_pending_rescale_is_named_before_it_spoils_a_product(evaluator, encryptor, decryptor):
    a, b = RNG.uniform(-1, 1, (2, SLOTS))
    product = evaluator.relinearize(evaluator.mul(encryptor.encrypt(a), encryptor.encrypt(b)))
    for factor in (b, 0.3):
        with pytest.raises(ScaleError, match="rescale the ciphertext first"):
            evaluator.mul(product, factor)
    for operation in (ckks.Polynomial([1.0, 2.0, 3.0, 4.0]), ckks.LinearTransform(np.eye(SLOTS) + 1)):
        with pytest.raises(ScaleError, match="settle or rescale it first"):
            evaluator.run(operation, product)
    coarse = evaluator.mul_plain(product, b, scale=2.0**20)  # asked for
    assert np.allclose(decryptor.decrypt(coarse), a * b * b, atol=1e-4)


def test_values_beyond_the_modulus_are_refused(parameters, evaluator, encryptor, decryptor):
    room = parameters.chain.modulus(0) / parameters.scales[0]
    for too_large in (0.51 * room, np.full(SLOTS, -0.51j * room)):
        with pytest.raises(RangeError, match="do not fit the modulus"):
            encryptor.encrypt(too_large, level=0)
    low = encryptor.encrypt(-0.4 * room, level=0)
    for too_large in (1.1 * room, np.full(SLOTS, 1.1 * room)):
        with pytest.raises(RangeError, match="do not fit the modulus"):
            evaluator.add(low, too_large)
    assert np.allclose(decryptor.decrypt(evaluator.add(low, 0.6 * room)), 0.2 * room)  # the sum fits
    spread = RNG.uniform(-room, room, SLOTS)  # a vector whose coefficients are small although its slots are not
    spread *= np.arange(SLOTS) == 3
    assert np.allclose(decryptor.decrypt(encryptor.encrypt(spread, level=0)), spread, atol=1e-6)


def test_an_interval_too_far_from_zero_is_refused(evaluator, encryptor):
    far = ckks.Polynomial([1.0, 2.0], interval=(1e9, 1e9 + 1))
    with pytest.raises(RangeError, match="too far from 0"):
        evaluator.polynomial(encryptor.encrypt(np.zeros(SLOTS)), far)


def test_backends_of_one_form_share_values(parameters, generator, encryptor, decryptor):
    if parameters.context.backend != "cpu":
        pytest.skip("the reference is the only backend here")
    x, y = np.linspace(-1, 1, SLOTS), np.linspace(0, 1, SLOTS)
    for name in (name for name, is_here in _core.backend_variants("cpu") if is_here):
        there = parameters.on(backend=name)
        foreign = ckks.Encryptor(there, generator.secret_key()).encrypt(y)
        assert np.allclose(decryptor.decrypt(encryptor.encrypt(x) + foreign), x + y, atol=1e-4)


def test_values_of_another_backend_are_refused(tmp_path, parameters, generator, keys, encryptor, decryptor):
    secret = generator.secret_key()
    other = parameters.on(backend="ref")
    if other.context.backend == parameters.context.backend:
        pytest.skip("the reference is the fastest backend here")
    mine, foreign = encryptor.encrypt(np.ones(SLOTS)), ckks.Encryptor(other, secret).encrypt(np.ones(SLOTS))
    public = ckks.KeyGenerator(other, secret).public_key()
    there = ckks.Evaluator(other, keys)
    for attempt in (
        lambda: mine + foreign,
        lambda: foreign - mine,
        lambda: mine * ckks.Encoder(other).encode(np.ones(SLOTS)),
        lambda: decryptor.decrypt(foreign),
        lambda: ckks.Encryptor(parameters, public),
        lambda: foreign.using(there).rotate(1),
        lambda: there.relinearize(there.mul(foreign, foreign)),
        lambda: there.inner_sum(foreign, 2),
        lambda: keys | ckks.KeyGenerator(other, secret).relin_key(),
    ):
        with pytest.raises(ParameterMismatchError, match="balanced float64 on the host.*canonical|canonical.*balanced"):
            attempt()
    assert np.allclose(ckks.Decryptor(other, secret).decrypt(foreign), 1)  # a secret key serves everywhere
    ckks.save_ciphertexts(tmp_path / "both", [mine, foreign])  # files are the same, wherever the values were
    for read in ckks.load_ciphertexts(tmp_path / "both", parameters).values():
        assert np.allclose(decryptor.decrypt(read), 1)
