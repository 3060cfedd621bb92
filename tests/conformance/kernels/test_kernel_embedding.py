"""Canonical embedding: values at zeta^(5^j), its inverse, and the exact bits of the fixed graph."""

import math
from fractions import Fraction

import numpy as np
import pytest
import ring_oracles as oracle

from latticework import _core

SLOTS = (1, 2, 4, 32, 512)
EPSILON = 2.0**-53


@pytest.fixture
def values(rng):
    return lambda n: rng.standard_normal(n) + 1j * rng.standard_normal(n)


def slot_exponents(n):
    return np.array([pow(5, j, 4 * n) for j in range(n)])


def test_embed_evaluates_at_powers_of_five(make_ring, values):
    ring = make_ring(1024)
    for n in SLOTS:
        coefficients = values(n)
        # The order of zeta is 4n: reduce exponents before the angle is rounded.
        turns = np.outer(slot_exponents(n), np.arange(n)) % (4 * n)
        expected = np.exp(2j * np.pi * turns / (4 * n)) @ coefficients
        error = np.abs(ring.embed(coefficients) - expected).max()
        assert error <= 16 * EPSILON * np.abs(coefficients).sum(), n


def test_unembed_is_the_inverse(make_ring, values):
    ring = make_ring(1024)
    for n in SLOTS:
        slots = values(n)
        bound = 16 * EPSILON * (1 + math.log2(n)) * np.abs(slots).max()
        assert np.abs(ring.embed(ring.unembed(slots)) - slots).max() <= bound * math.sqrt(n), n
        assert np.abs(ring.unembed(ring.embed(slots)) - slots).max() <= bound * math.sqrt(n), n


def exact_product(a, w):
    return complex(
        oracle.fma(a.real, w.real, -(a.imag * w.imag)),
        oracle.fma(a.real, w.imag, a.imag * w.real),
    )


def root(exponent, order):
    return complex(*_core.cos_sin_turn(exponent, order))


def embed_graph(values):
    n = len(values)
    x = [values[oracle.bit_reverse(i, n.bit_length() - 1)] for i in range(n)]
    half = 1
    while half < n:
        for start in range(0, n, 2 * half):
            for j in range(half):
                u = x[start + j]
                v = exact_product(x[start + half + j], root(pow(5, j, 8 * half), 8 * half))
                x[start + j], x[start + half + j] = u + v, u - v
        half *= 2
    return x


def unembed_graph(values):
    n, x = len(values), list(values)
    half = n // 2
    while half >= 1:
        for start in range(0, n, 2 * half):
            for j in range(half):
                u, v = x[start + j], x[start + half + j]
                w = root(pow(5, j, 8 * half), 8 * half).conjugate()
                x[start + j], x[start + half + j] = u + v, exact_product(u - v, w)
        half //= 2
    return [x[oracle.bit_reverse(i, n.bit_length() - 1)] / n for i in range(n)]


@pytest.mark.parametrize("n", [2, 8, 64])
def test_embedding_is_bit_exact(make_ring, values, n):
    ring, x = make_ring(1024), values(n)
    assert ring.embed(x).tobytes() == np.array(embed_graph(x.tolist())).tobytes()
    assert ring.unembed(x).tobytes() == np.array(unembed_graph(x.tolist())).tobytes()


@pytest.mark.parametrize("n", [0, 3, 1024])
def test_wrong_number_of_slots_is_refused(make_ring, n):
    with pytest.raises(ValueError, match="power of two up to"):
        make_ring(1024).embed(np.zeros(n, dtype=complex))


TWO_PI = Fraction(2 * 314159265358979323846264338327950288419716939937510582097494, 10**59)


def nearest_cos_sin(k, m):
    """Taylor series in exact fractions, far beyond float64, rounded once."""
    x, power = TWO_PI * k / m, Fraction(1)
    sums = [Fraction(0), Fraction(0)]
    for i in range(60):
        sums[i % 2] += power * (1, 1, -1, -1)[i % 4]
        power = (power * x / (i + 1)).limit_denominator(2**220)
    return float(sums[0]), float(sums[1])


@pytest.mark.parametrize("m", [8, 64, 2**17])
def test_twiddles_are_correctly_rounded(m, rng):
    table = _core.roots_of_unity(m)
    assert table.shape == (m,)
    for k in range(m) if m <= 64 else rng.integers(0, m, 24).tolist():
        cosine, sine = _core.cos_sin_turn(k, m)
        assert table[k] == complex(cosine, sine)
        if k % (m // 4) == 0:  # exact zeros and ones
            assert (cosine, sine) == [(1, 0), (0, 1), (-1, 0), (0, -1)][4 * k // m]
        else:
            assert (cosine, sine) == nearest_cos_sin(k, m), k
