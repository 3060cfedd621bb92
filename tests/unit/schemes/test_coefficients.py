"""Coefficients: products are negacyclic convolutions, recomputed with whole numbers; slots and coefficients never meet."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest

from latticework import bfv, ckks
from latticework.errors import DtypeError, RangeError, ShapeError, UserError

N = 1024
POWERS = (2, 2**16, 2**32, 2**59, 2**60, 2**60 - 93, 3**20, 257)  # moduli without slots


def convolve(a, b, modulus: int | None = None) -> np.ndarray:
    """The product modulo X^N + 1, of whole numbers (or floats)."""
    a, b = (
        np.concatenate([x, np.zeros(N - len(x), dtype=object)]) for x in (np.asarray(a, object), np.asarray(b, object))
    )
    total = np.zeros(2 * N, dtype=object)
    for i in np.flatnonzero(b):
        total[i : i + N] += a * b[i]
    found = total[:N] - total[N:]
    return found if modulus is None else found % modulus


@pytest.fixture(scope="module")
def real():
    parameters = ckks.Parameters(N, [46, 40, 40], scale_bits=40, num_special=1, insecure=True)
    generator = ckks.KeyGenerator(parameters)
    evaluator = ckks.Evaluator(parameters, generator.evaluation_keys(steps=[1], conjugate=True))
    encryptor = ckks.Encryptor(parameters, generator.secret_key(), evaluator=evaluator)
    return ckks.Encoder(parameters), encryptor, ckks.Decryptor(parameters, generator.secret_key()), evaluator


def exact_world(t: int, batching: bool, limbs: int = 6):
    parameters = bfv.Parameters(N, [47] * limbs, p_bits=[49] * 2, plain_modulus=t, batching=batching, insecure=True)
    generator = bfv.KeyGenerator(parameters)
    evaluator = bfv.Evaluator(parameters, generator.evaluation_keys(steps=[1], swap_rows=True))
    encryptor = bfv.Encryptor(parameters, generator.public_key(), evaluator=evaluator)
    return bfv.Encoder(parameters), encryptor, bfv.Decryptor(parameters, generator.secret_key()), evaluator


def test_ckks_products_are_negacyclic(real):
    encoder, encryptor, decryptor, evaluator = real
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1, 1, N), rng.uniform(-1, 1, 7)
    plain = encoder.encode(a, encoding="coefficients")
    assert plain.encoding == "coefficients" and plain.slots == N and "1024 coefficients" in repr(plain)
    np.testing.assert_allclose(encoder.decode(plain, float), a, atol=2.0**-39)
    x, y = encryptor.encrypt(plain), encryptor.encrypt(encoder.encode(b, encoding="coefficients"))
    assert x.encoding == "coefficients" and "1024 coefficients" in repr(x)
    product = convolve(a, b).astype(float)
    whole = np.zeros(N)
    whole[:7] = b
    for got, wanted in (
        (evaluator.mul_relin(x, y, rescale=True), product),
        (evaluator.rescale(evaluator.mul_plain(x, b)), product),
        (x * y + x, product + a),
        ((x * b).settle(), product),
        (x - b, a - whole),
        (x + encoder.encode(b, encoding="coefficients"), a + whole),
        (3 * x - x * 0.5, 2.5 * a),
        (y**2, convolve(b, b).astype(float)),
        (-evaluator.mod_switch(x, 0), -a),
    ):
        assert got.encoding == "coefficients"
        np.testing.assert_allclose(decryptor.decrypt(got, float), wanted, atol=1e-5)
    again = ckks.Ciphertext.from_bytes((x * y).to_bytes(), x.parameters)
    assert again.encoding == "coefficients"
    np.testing.assert_allclose(decryptor.decrypt(again, float), product, atol=1e-5)


@pytest.mark.parametrize("t", [*POWERS, "slots"])
def test_bfv_products_are_negacyclic_and_exact(t):
    batching = t == "slots"
    t = 120_833 if batching else t
    encoder, encryptor, decryptor, evaluator = exact_world(t, batching)
    parameters = encoder.parameters
    assert parameters.batching == batching and gcd(t, parameters.primes[0]) == 1
    rng = np.random.default_rng(t % 1000)
    a, b = (rng.integers(0, t, n, dtype=np.uint64) for n in (N, 9))
    plain = encoder.encode(a, encoding="coefficients")
    np.testing.assert_array_equal(encoder.decode(plain, np.uint64), a)
    np.testing.assert_array_equal(plain.residues()[0, 0], a)
    x, y = encryptor.encrypt(plain), encryptor.encrypt(encoder.encode(b, encoding="coefficients"))
    wide, product = np.concatenate([b, np.zeros(N - 9, np.uint64)]).astype(object), convolve(a, b, t)
    model = bfv.NoiseModel(parameters)
    for got, wanted in (
        (x, a.astype(object)),
        (x * y, product),
        (evaluator.mul_plain(x, b), product),
        (x + y, (a.astype(object) + wide) % t),
        (x - b, (a.astype(object) - wide) % t),
        (evaluator.mod_switch(x * y, 4) - x, (product - a.astype(object)) % t),
        (x * (t - 1), -a.astype(object) % t),
    ):
        assert got.encoding == "coefficients"
        np.testing.assert_array_equal(decryptor.decrypt(got, np.uint64).astype(object), wanted)
    signed = decryptor.decrypt(x)
    assert signed.dtype == np.int64 and signed.min() >= -(t // 2) and signed.max() <= (t - 1) // 2
    np.testing.assert_array_equal(signed.astype(object) % t, a.astype(object))
    fresh = model.fresh()
    assert abs(model.budget(fresh) - decryptor.noise_budget(x)) < 2
    expected = model.budget(model.mul(fresh, fresh))
    if t > 2:
        full = encryptor.encrypt(encoder.encode(rng.integers(0, t, N, dtype=np.uint64), encoding="coefficients"))
        assert abs(expected - decryptor.noise_budget(x * full)) < 3
        assert model.worst_budget(model.mul(fresh, fresh)) <= decryptor.noise_budget(x * full)


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_slots_and_coefficients_never_meet(real, scheme):
    encoder, encryptor, decryptor, evaluator = real if scheme == "ckks" else exact_world(120_833, True)
    slots, plain = encryptor.encrypt([1, 2]), encoder.encode([1, 2])
    other = encoder.encode([1, 2], encoding="coefficients")
    x = encryptor.encrypt(other)
    for mixed in (
        lambda: x + slots, lambda: slots - x, lambda: x * slots, lambda: evaluator.mul(slots, x),
        lambda: evaluator.mul_relin(x, slots), lambda: x + plain, lambda: slots * other, lambda: evaluator.sub(slots, other),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=r"test_coefficients\.py:\d+: .*one operand holds .*: encode both alike"):
            mixed()
    moved = [lambda: x.rotate(1), lambda: x.rotate(0), lambda: x.rotate_many([1]), lambda: x.inner_sum(2)]
    if scheme == "ckks":
        moved += [lambda: x.conjugate(), lambda: evaluator.mul_i(x), lambda: evaluator.with_slots(x, N // 2),
                  lambda: evaluator.polynomial(x, ckks.Polynomial([0, 0, 1])), lambda: evaluator.linear_transform(x, np.eye(2)),
                  lambda: ckks.Estimator(x.parameters).fresh(1.0, ciphertext=x)]  # fmt: skip
    else:
        moved += [lambda: x.swap_rows()]
    for refused in moved:
        with pytest.raises(ShapeError, match="holds coefficients, which have sums and products only"):
            refused()
    for constant in (lambda: x + 1, lambda: 1 - x, lambda: x - 2):
        with pytest.raises(ShapeError, match=r"a number is no polynomial: give \[number\]"):
            constant()
    core = evaluator._core
    for below in (lambda: core.add(x.core, slots.core), lambda: core.mul_plain(x.core, encryptor._plaintext(plain, None, None).core)
                  if scheme == "ckks" else core.add_plain(x.core, plain._as_addend(x.level)),
                  lambda: core.rotate(x.core, 5, evaluator.keys.core)):  # fmt: skip
        with pytest.raises(ShapeError, match="coefficients"):
            below()
    back = type(x).from_residues(x.residues(), x.parameters, key_set=x.key_set, encoding="coefficients")
    assert back.encoding == "coefficients"
    np.testing.assert_array_equal(decryptor.decrypt(back), decryptor.decrypt(x))
    for wrong in ("slot", None, 1):
        with pytest.raises(UserError, match='choose "slots" or "coefficients"'):
            encoder.encode([1], encoding=wrong)


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ([1j], DtypeError, "coefficients are real numbers"),
        (1.0, ShapeError, r"shape \(\); coefficients are one vector of 1 to 1024"),
        (np.ones((2, 2)), ShapeError, r"shape \(2, 2\)"),
        (np.ones(N + 1), ShapeError, r"shape \(1025,\)"),
        ([np.nan], RangeError, "NaN or infinite"),
        ([2.0**30], RangeError, "too large for level 2"),
    ],
)
def test_coefficients_that_do_not_fit(real, values, error, text):
    with pytest.raises(error, match=text):
        real[0].encode(values, encoding="coefficients")


def test_moduli_without_slots_say_so():
    encoder, encryptor, _, _ = exact_world(2**16, False)
    parameters = encoder.parameters
    assert "integer coefficients, no slots" in str(parameters)
    for refused in (lambda: encoder.encode([1]), lambda: encryptor.encrypt([1]),
                    lambda: bfv.Plaintext.from_residues(np.zeros((1, 1, N), np.uint64), parameters)):  # fmt: skip
        with pytest.raises(ShapeError, match='t = 65536 has no slots; use encoding="coefficients"'):
            refused()
    with pytest.raises(ShapeError, match=r"coefficients are one vector of up to 1024"):
        encoder.encode(3, encoding="coefficients")
    with pytest.raises(RangeError, match=r"outside \[-32768, 32767\]"):
        encoder.encode([2**15], encoding="coefficients")
    assert encoder.decode(encoder.encode([-(2**15)], encoding="coefficients"))[0] == -(2**15)
    shared = parameters.primes[0] * 3
    for t, text in (
        (2**60 + 1, r"2 to 2\^60"),
        (1, r"2 to 2\^60"),
        (shared, "is a multiple of the prime|share the prime"),
    ):
        with pytest.raises(RangeError, match=text):
            bfv.Parameters(
                N, primes=parameters.primes, special=parameters.special, plain_modulus=t, batching=False, insecure=True
            )
    with pytest.raises(RangeError, match="give plain_modulus, a whole number from 2 to"):
        bfv.Parameters(N, [40], plain_bits=20, batching=False, insecure=True)
    with pytest.raises(RangeError, match="is not a prime that is 1 modulo 2N"):
        bfv.Parameters(N, [40], plain_modulus=2**16, insecure=True)
    chosen = bfv.Parameters.choose(depth=1, plain_modulus=2**32, batching=False)
    assert not chosen.is_insecure and chosen.plain_modulus == 2**32 and not chosen.batching
    assert bfv.Parameters.from_bytes(chosen.to_bytes()) == chosen
