"""Every BFV operation against exact integer arithmetic modulo t."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from bfv_cases import PLAIN_BITS, Case, backends, make_case, mul_mod, shared_case, small_parameters

from latticework import bfv
from latticework.errors import RangeError


@pytest.fixture(params=[(bits, name) for bits in PLAIN_BITS for name in backends()], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request) -> Case:
    return shared_case(*request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_encode_is_the_inverse_of_decode(case, rng):
    x = case.random(rng)
    plain = case.encoder.encode(x)
    np.testing.assert_array_equal(case.encoder.decode(plain, np.uint64), x)
    signed = case.encoder.decode(plain)
    assert signed.dtype == np.int64 and abs(signed).max() <= case.t // 2
    np.testing.assert_array_equal(signed % case.t, x.astype(np.int64))


def test_slots_are_values_of_the_polynomial(case, rng):
    # The polynomial X has the slots psi^(5^i) and psi^(-5^i). A product with it moves coefficients and leaves the noise
    # as large as it was; a product with a polynomial of any other slots multiplies it by about t.
    t, n = case.t, case.parameters.ring_degree
    root = next(r for r in (pow(g, (t - 1) // (2 * n), t) for g in range(2, 100)) if pow(r, n, t) == t - 1)
    psi = min(pow(root, k, t) for k in range(1, 2 * n, 2))
    powers = [pow(5, i, 2 * n) for i in range(n // 2)]
    slots = np.array([[pow(psi, e, t) for e in powers], [pow(psi, 2 * n - e, t) for e in powers]], dtype=np.uint64)
    x = case.random(rng)
    a = case.encryptor.encrypt(x)
    moved = a * slots
    np.testing.assert_array_equal(case.read(moved), mul_mod(x, slots, t))
    assert abs(case.decryptor.noise_budget(moved) - case.decryptor.noise_budget(a)) < 0.01


@pytest.mark.parametrize("public", [False, True])
def test_encryption_returns_what_was_encrypted(case, rng, public):
    key = case.keygen.public_key() if public else case.keygen.secret_key()
    x = case.random(rng)
    encrypted = bfv.Encryptor(case.parameters, key).encrypt(x)
    assert (encrypted.level, encrypted.degree) == (case.parameters.levels, 1)
    np.testing.assert_array_equal(case.read(encrypted), x)


def test_sums_and_products_of_ciphertexts(case, rng):
    x, y, t = case.random(rng), case.random(rng), case.t
    a, b = case.encryptor.encrypt(x), case.encryptor.encrypt(y)
    np.testing.assert_array_equal(case.read(a + b), (x + y) % t)
    np.testing.assert_array_equal(case.read(a - b), (x + t - y) % t)
    np.testing.assert_array_equal(case.read(-a), (t - x) % t)
    np.testing.assert_array_equal(case.read(a * b), mul_mod(x, y, t))
    np.testing.assert_array_equal(case.read(a * a), mul_mod(x, x, t))
    np.testing.assert_array_equal(case.read(case.evaluator.square(b)), mul_mod(y, y, t))


def test_products_without_relinearisation_can_be_summed(case, rng):
    x, y, z, t = case.random(rng), case.random(rng), case.random(rng), case.t
    a, b, c = (case.encryptor.encrypt(v) for v in (x, y, z))
    e = case.evaluator
    total = e.mul(a, b) + e.mul(b, c) - c
    wanted = (mul_mod(x, y, t) + mul_mod(y, z, t) + t - z) % t
    assert total.degree == 2
    np.testing.assert_array_equal(case.read(total), wanted)
    linear = e.relinearize(total)
    assert linear.degree == 1
    np.testing.assert_array_equal(case.read(linear), wanted)
    np.testing.assert_array_equal(case.read(total * a), mul_mod(wanted, x, t))


def test_merged_relinearisation_has_the_noise_of_the_separate_one(case, rng):
    a, b = case.encryptor.encrypt(case.random(rng)), case.encryptor.encrypt(case.random(rng))
    merged = case.decryptor.noise_budget(a * b)
    separate = case.decryptor.noise_budget(case.evaluator.relinearize(case.evaluator.mul(a, b)))
    assert abs(merged - separate) < 0.5


def test_public_operands(case, rng):
    x, y, t = case.random(rng), case.random(rng), case.t
    a, plain = case.encryptor.encrypt(x), case.encoder.encode(y)
    for operand in (plain, y):
        np.testing.assert_array_equal(case.read(a + operand), (x + y) % t)
        np.testing.assert_array_equal(case.read(a - operand), (x + t - y) % t)
        np.testing.assert_array_equal(case.read(operand * a if operand is y else a * operand), mul_mod(x, y, t))
    np.testing.assert_array_equal(case.read(y - a), (y + t - x) % t)


@pytest.mark.parametrize("number", [0, 1, -1, 12345, -54321])
def test_integer_operands(case, rng, number):
    x, t = case.random(rng), case.t
    a, wide = case.encryptor.encrypt(x), x.astype(object)
    for found, wanted in [
        (a + number, wide + number),
        (number - a, number - wide),
        (a - number, wide - number),
        (number * a, wide * number),
        (a * np.int64(number), wide * number),
    ]:
        np.testing.assert_array_equal(case.read(found).astype(object), wanted % t)


def test_rotations_are_np_roll(case, rng):
    x = case.random(rng)
    a = case.encryptor.encrypt(x)
    for steps in (0, 1, -3, 64, case.parameters.row_slots + 1):
        np.testing.assert_array_equal(case.read(a.rotate(steps)), np.roll(x, -steps, axis=1))
    np.testing.assert_array_equal(case.read(a.swap_rows()), x[::-1])
    for steps, rotated in zip((1, 0, -3), a.rotate_many([1, 0, -3]), strict=True):
        np.testing.assert_array_equal(case.read(rotated), np.roll(x, -steps, axis=1))


def test_hoisted_rotations_are_the_separate_ones(case, rng):
    a = case.encryptor.encrypt(case.random(rng))
    hoisted = bfv.ciphertexts_to_bytes(a.rotate_many([1, 64]))
    separate = bfv.ciphertexts_to_bytes([a.rotate(1), a.rotate(64)])
    assert hoisted == separate


def test_mod_switch_keeps_slots_and_allows_everything(case, rng):
    x, y, t = case.random(rng), case.random(rng), case.t
    a, b, e = case.encryptor.encrypt(x), case.encryptor.encrypt(y), case.evaluator
    low = e.mod_switch(a, 3)
    assert low.level == 3 and low.num_bytes < a.num_bytes
    np.testing.assert_array_equal(case.read(low), x)
    np.testing.assert_array_equal(case.read(low.rotate(1)), np.roll(x, -1, axis=1))
    mixed = low * b  # of different levels
    assert mixed.level == 3
    np.testing.assert_array_equal(case.read(mixed), mul_mod(x, y, t))
    np.testing.assert_array_equal(case.read(low + y), (x + y) % t)
    np.testing.assert_array_equal(case.read(e.mod_switch(case.evaluator.mul(a, b))), mul_mod(x, y, t))


def test_depth_until_the_budget_ends():
    for backend in backends():
        case = shared_case(30, backend)
        x = np.arange(2 * case.parameters.row_slots, dtype=np.uint64).reshape(2, -1) + 2
        a, refused = case.encryptor.encrypt(x), 0
        for _ in range(12):
            budget = case.decryptor.noise_budget(a)
            if budget >= 2:
                assert refused == 0
                np.testing.assert_array_equal(case.read(a), x)
            else:
                refused += 1
                with pytest.raises(bfv.DecryptionError, match="noise budget is used up"):
                    case.decryptor.decrypt(a)
            a, x = a * a, mul_mod(x, x, case.t)
        assert refused > 3


def test_backends_and_threads_give_the_same_bytes(rng):
    parameters = small_parameters(30)
    first = shared_case(30, "ref")
    x = first.random(rng)
    message = first.encryptor.encrypt(x).to_bytes()
    results = set()
    for backend in backends():
        for threads in (1, 2):
            case = make_case(parameters, backend, threads)
            keys = bfv.EvaluationKeys.from_bytes(first.keys.to_bytes(), case.parameters)
            evaluator = bfv.Evaluator(case.parameters, keys)
            a = bfv.Ciphertext.from_bytes(message, case.parameters, evaluator=evaluator)
            b = evaluator.mod_switch(((a * a).rotate(1) + 5) * x, 2)
            results.add(bfv.ciphertexts_to_bytes({"b": b * b, "c": evaluator.mul(a, a)}))
    assert len(results) == 1


def test_composed_rotations(rng):
    case = shared_case(17, "ref")
    keys = case.keygen.evaluation_keys(relin=False, steps=None)
    evaluator = bfv.Evaluator(case.parameters, keys)
    x = case.random(rng)
    a = case.encryptor.encrypt(x)
    for steps in (3, 7, -5, 173, 255, 256, -256, 300, 511):
        np.testing.assert_array_equal(case.read(evaluator.rotate(a, steps)), np.roll(x, -steps, axis=1))


def test_large_rings(rng):
    parameters = bfv.Parameters.choose(ring_degree=2**12, plain_bits=20, depth=1)
    case = make_case(parameters)
    x, y = case.random(rng), case.random(rng)
    a, b = case.encryptor.encrypt(x), case.encryptor.encrypt(y)
    np.testing.assert_array_equal(case.read((a * b).rotate(1)), np.roll(mul_mod(x, y, case.t), -1, axis=1))


def test_examples_of_the_docstrings():
    assert doctest.testmod(bfv).attempted > 5 and doctest.testmod(bfv).failed == 0


def test_parameters_without_a_budget_for_fresh_ciphertexts_are_refused():
    """Each honest decryption would count as a refusal, and the fourth ends the key."""
    for options in ({"plain_bits": 45}, {"plain_bits": 40}, {"plain_modulus": 2**41, "batching": False}):
        with pytest.raises(RangeError, match=r"fresh ciphertexts would have a noise budget of .* use \d+ bits more"):
            bfv.Parameters(2**13, [42], **options)
    p = bfv.Parameters(2**13, [42], plain_bits=25)
    keygen = bfv.KeyGenerator(p)
    assert bfv.Decryptor(p, keygen.secret_key()).noise_budget(bfv.Encryptor(p, keygen.public_key()).encrypt([1])) > 2
