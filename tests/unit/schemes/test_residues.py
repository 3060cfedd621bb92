"""Residues of ciphertexts, plaintexts and keys: recomputed here with whole numbers, from the formulas of the docs."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from latticework import bfv, ckks
from latticework.errors import (
    DtypeError,
    FormatError,
    LayoutError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    ScaleError,
    SecurityError,
    ShapeError,
    UserError,
)

N = 1024
REAL = ckks.Parameters(N, [46, 40, 40], scale_bits=40, num_special=1, insecure=True)
EXACT = bfv.Parameters(N, [46, 46, 46], p_bits=[48], plain_bits=17, insecure=True)
MODULES = pytest.mark.parametrize("module", [ckks, bfv])


def world(module):
    parameters = REAL if module is ckks else EXACT
    generator = module.KeyGenerator(parameters)
    return parameters, generator, module.Encryptor(parameters, generator.secret_key())


def smallest_root(q: int) -> int:
    """The smallest primitive 2N-th root of unity modulo q."""
    root = next(r for r in (pow(g, (q - 1) // (2 * N), q) for g in range(2, 99)) if pow(r, N, q) == q - 1)
    return min(pow(root, k, q) for k in range(1, 2 * N, 2))


def bits_reversed(k: int) -> int:
    return int(format(k, "010b")[::-1], 2)


def at_place(coefficients: np.ndarray, q: int, k: int) -> int:
    """What the NTT form holds at place k."""
    point = pow(smallest_root(q), 2 * bits_reversed(k) + 1, q)
    value = 0
    for c in coefficients[::-1].tolist():
        value = (value * point + c) % q
    return value


def product(a, b, modulus: int) -> np.ndarray:
    """The product modulo X^N + 1 and a modulus, term by term."""
    a, b = np.asarray(a).astype(object), np.asarray(b).astype(object)
    total = np.zeros(2 * N, dtype=object)
    for i in np.flatnonzero(b):
        total[i : i + N] += a * b[i]
    return (total[:N] - total[N:]) % modulus


def composed(residues: np.ndarray, primes: tuple[int, ...]) -> np.ndarray:
    """Whole numbers in (-Q/2, Q/2] by the Chinese remainder theorem."""
    modulus = prod(primes)
    total = sum(
        row.astype(object) * (modulus // q) * pow(modulus // q, -1, q) for row, q in zip(residues, primes, strict=True)
    )
    total %= modulus
    return np.where(total > modulus // 2, total - modulus, total)


def secret_of(key) -> np.ndarray:
    """The coefficients of a secret key, -1, 0 and 1."""
    q = key.parameters.primes[0]
    first = key.secret_residues()[0, 0].astype(np.int64)
    return np.where(first == q - 1, -1, first)


def phase(residues: np.ndarray, secret: np.ndarray, primes: tuple[int, ...]) -> np.ndarray:
    """c0 + c1 s + c2 s^2 over whole numbers modulo Q."""
    parts = [composed(part, primes) for part in residues]
    modulus = prod(primes)
    total = parts[-1]
    for part in parts[-2::-1]:
        total = (product(total, secret, modulus) + part) % modulus
    return np.where(total > modulus // 2, total - modulus, total)


def slots_of(coefficients: np.ndarray, scale: float) -> np.ndarray:
    """Slot i is the value at exp(pi i 5^i / N), by the sum itself; the first 8."""
    powers = [pow(5, i, 2 * N) for i in range(8)]
    points = np.exp(1j * np.pi * np.outer(powers, np.arange(N)) / N)
    return points @ (coefficients.astype(np.float64) / scale)


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("level", [0, 2])
def test_a_ckks_decryption_is_recomputed(degree, level):
    parameters, generator, encryptor = world(ckks)
    x = np.linspace(-1, 1, N // 2) + 0.25j
    value, wanted = encryptor.encrypt(x, level=level, scale=2.0**20), x
    if degree == 2:
        value, wanted = value.evaluator.square(value), x * x
    primes = parameters.primes_at(level)
    residues = value.residues()
    assert residues.dtype == np.uint64 and residues.shape == (degree + 1, len(primes), N)
    message = phase(residues, secret_of(generator.secret_key()), primes)
    np.testing.assert_allclose(slots_of(message, value.scale), wanted[:8], atol=2e-2)
    opened = ckks.Decryptor(parameters, generator.secret_key()).decrypt(value)
    np.testing.assert_allclose(slots_of(message, value.scale), opened[:8], atol=1e-9)


def test_a_bfv_decryption_is_recomputed():
    parameters, generator, encryptor = world(bfv)
    values = np.arange(N, dtype=np.int64).reshape(2, N // 2) * 37 - 19_000
    value = encryptor.encrypt(values, level=1)
    primes, t = parameters.primes_at(1), parameters.plain_modulus
    modulus = prod(primes)
    noisy = phase(value.residues(), secret_of(generator.secret_key()), primes)
    message = (2 * noisy * t + modulus) // (2 * modulus) % t
    root = smallest_root(t)
    for i, row in ((0, 0), (5, 0), (3, 1)):
        power = pow(5, i, 2 * N) if row == 0 else -pow(5, i, 2 * N) % (2 * N)
        point, found = pow(root, power, t), 0
        for c in message[::-1].tolist():
            found = (found * point + c) % t
        assert found == values[row, i] % t
    plain = bfv.Encoder(parameters).encode(values)
    np.testing.assert_array_equal(plain.residues()[0, 0], message.astype(np.uint64))
    again = bfv.Plaintext.from_residues(plain.residues(), parameters)
    np.testing.assert_array_equal(bfv.Encoder(parameters).decode(again), values)
    with pytest.raises(UserError, match='use form="coefficients"'):
        plain.residues("ntt")


@MODULES
def test_ntt_form_is_in_the_order_of_the_formula(module):
    parameters, generator, encryptor = world(module)
    x = encryptor.encrypt([1, 2])
    flat, ntt = x.residues(), x.residues("ntt")
    for part, limb, place in ((0, 0, 0), (1, 1, 1), (1, 2, 777)):
        assert at_place(flat[part, limb], parameters.primes[limb], place) == ntt[part, limb, place]
    secret = generator.secret_key()
    assert at_place(secret.secret_residues()[0, 1], parameters.primes[1], 5) == secret.secret_residues("ntt")[0, 1, 5]
    assert all((flat[:, j] < q).all() and (ntt[:, j] < q).all() for j, q in enumerate(parameters.primes))


@MODULES
def test_keys_hold_what_their_formulas_say(module):
    parameters, generator, _ = world(module)
    secret = secret_of(generator.secret_key())
    public = generator.public_key().residues()
    primes = (parameters.special[0], *parameters.primes)
    assert public.shape == (2, len(primes), N)
    assert np.abs(phase(public, secret, primes)).max() <= 21
    keys = generator.evaluation_keys(steps=[3], level=1)
    special = prod(parameters.special)
    for spec in keys.specs:
        residues, q = keys.residues(spec), parameters.primes_at(1)
        assert residues.shape[1:] == (2, len(parameters.special) + len(q), N)
        target, payload = secret, product(secret, secret, 1 << 40)
        payload = np.where(payload > 1 << 39, payload - (1 << 40), payload)
        if spec.kind == "galois":
            inverse = pow(spec.galois_element, -1, 2 * N)
            target, payload = np.zeros(N, dtype=object), secret
            for i, c in enumerate(secret):
                at = i * inverse % (2 * N)
                target[at % N] += c if at < N else -c
        all_primes = (*parameters.special, *q)
        for digit, pair in enumerate(residues):
            limbs = [j for j in parameters.chain.digits[digit] if j < len(q)]
            for j, prime in enumerate(all_primes):
                held = (product(pair[1, j], target, prime) + pair[0, j].astype(object)) % prime
                if j - len(parameters.special) in limbs:
                    held = (held - special * payload) % prime
                held = np.where(held > prime // 2, held - prime, held)
                assert np.abs(held).max() <= 21


@MODULES
@pytest.mark.parametrize("form", ["coefficients", "ntt"])
def test_what_is_made_of_residues_computes_and_is_marked(module, form):
    parameters, generator, encryptor = world(module)
    keys = generator.evaluation_keys(steps=[1])
    decryptor = module.Decryptor(parameters, generator.secret_key())
    key_set = generator.secret_key().key_set
    x = encryptor.encrypt(np.tile([1, 2], N // 4))
    assert not x.is_unproved and "UNPROVED" not in repr(x)
    back = module.Ciphertext.from_residues(x.residues(form), parameters, key_set=key_set, form=form)
    assert back.is_unproved and "UNPROVED" in repr(back)
    np.testing.assert_array_equal(back.residues(), x.residues())
    np.testing.assert_array_equal(
        decryptor.decrypt(back), decryptor.decrypt(module.Ciphertext.from_bytes(x.to_bytes(), parameters))
    )
    foreign = module.EvaluationKeys.from_residues(
        {s: keys.residues(s, form) for s in keys.specs}, parameters, key_set=key_set, form=form
    )
    assert foreign.is_unproved and not keys.is_unproved
    ours, theirs = module.Evaluator(parameters, keys), module.Evaluator(parameters, foreign)
    turned = theirs.rotate(theirs.relinearize(theirs.mul(x, x)), 1)
    same = ours.rotate(ours.relinearize(ours.mul(x, x)), 1)
    np.testing.assert_array_equal(turned.residues(), same.residues())
    assert turned.is_unproved and not same.is_unproved
    for y in (
        ours.add(x, back),
        ours.add(back, x),
        ours.mul(x, back),
        ours.mul_relin(x, back),
        -back,
        ours.rotate(back, 1),
        ours.mod_switch(back, 0),
        back * 2,
        ours.rotate_many(back, [1])[0],
    ):
        assert y.is_unproved  # fmt: skip
    assert module.Ciphertext.from_bytes(back.to_bytes(), parameters).is_unproved
    kept = module.ciphertexts_from_bytes(module.ciphertexts_to_bytes({"a": x, "b": back}), parameters)
    assert not kept["a"].is_unproved and kept["b"].is_unproved
    public = generator.public_key()
    stranger = module.PublicKey.from_residues(public.residues(form), parameters, key_set=key_set, form=form)
    y = module.Encryptor(parameters, stranger).encrypt(np.tile([1, 2], N // 4))
    assert y.is_unproved and np.allclose(decryptor.decrypt(y), decryptor.decrypt(x), atol=1e-4)
    secret = generator.secret_key()
    again = module.SecretKey.from_secret_residues(secret.secret_residues(form), parameters, form=form, key_set=key_set)
    np.testing.assert_array_equal(module.Decryptor(parameters, again).decrypt(x), decryptor.decrypt(x))
    np.testing.assert_array_equal(
        module.SecretKey.from_bytes(again.to_bytes(), parameters).secret_residues(), secret.secret_residues()
    )
    for half in (foreign, stranger):
        with pytest.raises(FormatError, match=r"made from residues and has no seed.*numpy\.save"):
            half.to_bytes()


def test_plans_and_plaintexts_keep_the_mark():
    parameters, generator, encryptor = world(ckks)
    x = encryptor.encrypt([1.0, 2.0])
    plain = ckks.Encoder(parameters).encode([3.0, 4.0])
    assert plain.residues().shape == (1, 3, N)
    back = ckks.Plaintext.from_residues(plain.residues(), parameters, slots=2)
    np.testing.assert_allclose(ckks.Encoder(parameters).decode(back), [3, 4], atol=1e-6)
    evaluator = x.evaluator
    assert evaluator.mul_plain(x, back).is_unproved and evaluator.add(x, back).is_unproved
    assert encryptor.encrypt(back).is_unproved
    known = ckks.Ciphertext.from_residues(x.residues(), parameters, key_set=x.key_set, slots=2)
    tools = ckks.Evaluator(parameters, generator.evaluation_keys(steps=[1], slots=2))
    assert tools.inner_sum(known).is_unproved and not tools.inner_sum(x).is_unproved
    estimator = ckks.Estimator(parameters)
    assert estimator.fresh(2.0, ciphertext=x).level == 2
    with pytest.raises(UserError, match="made from residues: state its noise"):
        estimator.fresh(2.0, ciphertext=known)
    assert estimator.stated(ckks.Bound(2.0, 1.0), ciphertext=known).level == 2


@MODULES
def test_secure_parameters_take_no_keys_from_residues(module):
    if module is ckks:
        secure = ckks.Parameters(2**12, [40], scale_bits=30, p_bits=[45])
    else:
        secure = bfv.Parameters(2**12, [40], plain_bits=17, p_bits=[45])
    generator = module.KeyGenerator(secure)
    marked = secure.mark_insecure()
    assert marked.is_insecure and marked.primes == secure.primes and marked != secure and "INSECURE" in repr(marked)
    secret, public = generator.secret_key(), generator.public_key()
    keys = generator.evaluation_keys()
    for refused in (
        lambda: module.SecretKey.from_secret_residues(secret.secret_residues(), secure),
        lambda: module.PublicKey.from_residues(public.residues(), secure, key_set=public.key_set),
        lambda: module.EvaluationKeys.from_residues({keys.specs[0]: keys.residues(keys.specs[0])}, secure, key_set=keys.key_set),
    ):  # fmt: skip
        with pytest.raises(
            SecurityError, match=r"promise 128-bit security; for tests, use parameters\.mark_insecure\(\)"
        ):
            refused()
    known = module.SecretKey.from_secret_residues(secret.secret_residues(), marked)
    x = module.Encryptor(secure, secret).encrypt(1)
    with pytest.raises(ParameterMismatchError):
        module.Decryptor(marked, known).decrypt(x)
    with pytest.raises(SecurityError, match="INSECURE"):
        module.Parameters.from_bytes(marked.to_bytes())


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda r, p: (r.astype(np.float64), {}), DtypeError, "an array of dtype float64; give a NumPy array of uint64"),
        (lambda r, p: (r.tolist(), {}), DtypeError, "the residues are list"),
        (lambda r, p: (r[:, :2], {}), ShapeError, r"shape \(2, 2, 1024\); \(2, 3, 1024\) or \(3, 3, 1024\) \(parts, limbs, N\)"),
        (lambda r, p: (r[:1], {}), ShapeError, r"shape \(1, 3, 1024\)"),
        (lambda r, p: (r + np.uint64(p.primes[0]), {}), RangeError, r"not in \[0, prime\); the first is .* at \[0, 0, 0\]"),
        (lambda r, p: (-r.astype(np.int64) - 1, {}), RangeError, "reduce them first"),
        (lambda r, p: (r, {"level": 9}), LevelError, "no level 9"),
        (lambda r, p: (r, {"form": "fft"}), UserError, 'choose "coefficients" or "ntt"'),
        (lambda r, p: (r, {"key_set": bytes(16)}), RangeError, "give the key_set of the secret key"),
        (lambda r, p: (r, {"key_set": b"short"}), RangeError, "give the key_set of the secret key"),
        (lambda r, p: (r, {"scale": 40}), None, ""),
        (lambda r, p: (r, {"scale": 0.0}), ScaleError, "give the factor itself"),
        (lambda r, p: (r, {"slots": 3}), LayoutError, "power of two up to 512"),
    ],
)  # fmt: skip
def test_residues_that_do_not_fit(change, error, text):
    parameters, generator, encryptor = world(ckks)
    given, options = change(encryptor.encrypt([1.0]).residues(), parameters)
    options = {"key_set": generator.secret_key().key_set, **options}
    if error is None:
        assert ckks.Ciphertext.from_residues(given, parameters, **options).scale == options["scale"]
        return
    with pytest.raises(error, match=r"test_residues\.py:\d+: .*" + text):
        ckks.Ciphertext.from_residues(given, parameters, **options)


def test_secrets_and_keys_that_do_not_fit():
    parameters, generator, _ = world(ckks)
    residues = generator.secret_key().secret_residues()
    apart = residues.copy()
    apart[0, 1, 7] = (int(apart[0, 1, 7]) + 1) % parameters.primes[1]
    with pytest.raises(RangeError, match="not those of one polynomial"):
        ckks.SecretKey.from_secret_residues(apart, parameters)
    with pytest.raises(RangeError, match="these parameters have ternary secrets: -1, 0 and 1; this key is none"):
        ckks.SecretKey.from_secret_residues(np.full_like(residues, 2), parameters)
    keys = generator.evaluation_keys()
    spec = keys.specs[0]
    with pytest.raises(ShapeError, match=r"the relin key has shape \(1, 2\)"):
        ckks.EvaluationKeys.from_residues({spec: np.zeros((1, 2))}, parameters, key_set=keys.key_set)
    with pytest.raises(DtypeError, match="dictionary of residues by KeySpec"):
        ckks.EvaluationKeys.from_residues([keys.residues(spec)], parameters, key_set=keys.key_set)
    with pytest.raises(MissingKeyError, match=r"take one of \.specs"):
        keys.residues("relin")
