"""Residues and primes at the limits of every range, at every degree: all backends answer as `ref` does."""

import functools

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import EXCEPT_REF, ONE_ORDER, with_sizes

from latticework import _core

LOG_DEGREES = range(4, 18)
# Just below the sizes at which `cpu` changes where it reduces, and a prime that 2^32 exceeds.
LIMITS = (2**28, 2**47, 2**49, 2**50)


def primes_below(limits, degree):
    """The largest prime of a ring below each limit."""
    return [
        next(p for p in range(limit - (limit - 1) % (2 * degree), 0, -2 * degree) if oracle.is_prime(p))
        for limit in limits
    ]


@functools.cache
def signs_of_powers(q, degree, exponent):
    """The signs of the centred powers of psi^exponent: a polynomial with these has its largest sum there."""
    root, power, signs = pow(oracle.smallest_root(q, 2 * degree), exponent, q), 1, []
    for _ in range(degree):
        signs.append(power <= q // 2)
        power = power * root % q
    return np.array(signs)


def patterns(primes, degree, rng):
    """Arrays of shape (1, limbs, degree)."""
    position = np.arange(degree)
    rows = {
        "largest": lambda q: np.full(degree, (q - 1) // 2),
        "smallest": lambda q: np.full(degree, (q + 1) // 2),
        "q - 1": lambda q: np.full(degree, q - 1),
        "one": lambda q: np.full(degree, 1),
        "alternating": lambda q: np.where(position % 2, (q - 1) // 2, (q + 1) // 2),
        "halves": lambda q: np.where(position < degree // 2, (q - 1) // 2, (q + 1) // 2),
        "random sign": lambda q: np.where(rng.integers(0, 2, degree), (q - 1) // 2, (q + 1) // 2),
        "largest first slot": lambda q: np.where(signs_of_powers(q, degree, 1), (q - 1) // 2, (q + 1) // 2),
        "random": lambda q: rng.integers(0, q, degree),
    }
    return {name: np.array([[row(q) for q in primes]]).astype(np.uint64) for name, row in rows.items()}


@pytest.mark.parametrize(("backend", "log_degree"), with_sizes(EXCEPT_REF, LOG_DEGREES, 6, most_quick=13))
def test_transforms_equal_ref(backend, log_degree, rng):
    degree = 1 << log_degree
    primes = primes_below(LIMITS if degree < 2**16 else LIMITS[2:], degree)
    limbs = list(range(len(primes)))
    ref, other = (_core.Ring(degree, primes, backend=name, threads=1) for name in ("ref", backend))
    for name, x in patterns(primes, degree, rng).items():
        values = ref.ntt(x, limbs)
        np.testing.assert_array_equal(other.ntt(x, limbs), values, err_msg=name)
        np.testing.assert_array_equal(other.intt(values, limbs), x, err_msg=name)
        np.testing.assert_array_equal(other.intt(x, limbs), ref.intt(x, limbs), err_msg=name)


@pytest.mark.parametrize(("backend", "log_degree"), with_sizes(EXCEPT_REF, [4, 7, 10], 7, most_quick=7))
def test_other_kernels_equal_ref(backend, log_degree, rng):
    degree = 1 << log_degree
    primes = primes_below(LIMITS, degree)
    limbs = [3, 0, 2]
    primes_used = [primes[limb] for limb in limbs]
    rings = [_core.Ring(degree, primes, backend=name, threads=1) for name in ("ref", backend)]
    extremes = [np.repeat(x, 3, axis=0) for x in patterns(primes_used, degree, rng).values()]
    scalars = [[1] * 3, [q - 1 for q in primes_used], [(q - 1) // 2 for q in primes_used]]
    for x in extremes:
        for y in extremes:
            for kernel in ("add", "sub", "mul"):
                expected, got = (getattr(ring, kernel)(x, y, limbs) for ring in rings)
                np.testing.assert_array_equal(got, expected, err_msg=kernel)
            expected, got = (ring.mul_add(x, y, y, limbs) for ring in rings)
            np.testing.assert_array_equal(got, expected)
            for s in scalars:
                expected, got = (ring.sub_scale(x, y, s, limbs) for ring in rings)
                np.testing.assert_array_equal(got, expected)
        for s in scalars:
            for kernel in ("mul_scalar", "add_scalar"):
                expected, got = (getattr(ring, kernel)(x, s, limbs) for ring in rings)
                np.testing.assert_array_equal(got, expected, err_msg=kernel)
    for g in (3, 5, degree + 1, 2 * degree - 3, 2 * degree - 1):
        expected, got = (ring.automorphism(extremes[-1], g, limbs) for ring in rings)
        np.testing.assert_array_equal(got, expected, err_msg=str(g))


@pytest.mark.parametrize(
    "backend", [backend for backend in EXCEPT_REF if backend.id.startswith("sim") and backend in ONE_ORDER]
)
def test_long_transforms_equal_ref_in_a_simulation(backend, rng):
    """Of the longest but one, the slow tests have the others: the largest sums, and no pattern."""
    degree = 1 << 16
    primes = primes_below(LIMITS[3:], degree)
    ref, other = (_core.Ring(degree, primes, backend=name, threads=1) for name in ("ref", backend))
    rows = patterns(primes, degree, rng)
    for name in ("largest first slot", "random"):
        values = ref.ntt(rows[name], [0])
        np.testing.assert_array_equal(other.ntt(rows[name], [0]), values, err_msg=name)
        np.testing.assert_array_equal(other.intt(values, [0]), rows[name], err_msg=name)


@pytest.mark.parametrize("backend", EXCEPT_REF)
def test_small_integers_are_imported_like_in_ref(backend, rng):
    primes = primes_below(LIMITS, 64)
    edges = [0, 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**62 - 1, *(k * q // 2 for q in primes for k in (1, 2, 3))]
    values = np.array([*edges, *(-v for v in edges), *rng.integers(-(2**62) + 1, 2**62, 64)][:64])
    expected, got = (
        _core.Ring(64, primes, backend=name, threads=1).import_signed(values, [0, 1, 2, 3]) for name in ("ref", backend)
    )
    np.testing.assert_array_equal(got, expected)
