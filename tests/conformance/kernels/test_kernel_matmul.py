"""Products of integer matrices and lists of polynomials: exact against Python's integers, whatever the weights."""

from fractions import Fraction

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import BACKENDS
from ring_oracles import NUM_LIMBS

from latticework import _core

LIMBS = list(range(NUM_LIMBS))
MOST = 2**24


def product(ring, weights, terms, limbs=LIMBS):
    """The rows, by Python's integers."""
    exact = [oracle.exact(x) for x in terms]
    primes = oracle.column([ring.primes[j] for j in limbs])
    return [(sum(int(w) * x for w, x in zip(row, exact, strict=True)) % primes).astype(np.uint64) for row in weights]


def assert_product(ring, weights, terms, limbs=LIMBS):
    found = ring.integer_matmul(weights, terms, limbs)
    assert len(found) == len(weights)
    for row, expected in zip(found, product(ring, weights, terms, limbs), strict=True):
        np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("largest", [1, 12, 127, 2**15, MOST])
@pytest.mark.parametrize(("rows", "terms"), [(1, 1), (1, 40), (13, 7), (7, 300), (25, 33)])
def test_random_matrices(make_ring, rng, rows, terms, largest):
    """Sizes beside those of blocks; several blocks of terms."""
    ring = make_ring(32)
    polys = 2 if terms < 10 else 1
    residues = [oracle.random_residues(ring.primes, 32, polys, rng) for _ in range(terms)]
    assert_product(ring, rng.integers(-largest, largest, (rows, terms), endpoint=True), residues)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("largest", [3, 2**7, MOST])
@pytest.mark.parametrize("pattern", ["zero", "largest", "halves", "halves below"])
def test_weights_at_the_bound_of_one_sign(make_ring, pattern, largest, sign):
    """Sums as large as they can be: the representatives of residues are largest at half a prime."""
    ring, terms = make_ring(16), 600
    value = {"zero": lambda _: 0, "largest": lambda q: q - 1, "halves": lambda q: q // 2 + 1,
             "halves below": lambda q: q // 2}[pattern]  # fmt: skip
    x = np.array([[[value(q)] * 16 for q in ring.primes]], dtype=np.uint64)
    found = ring.integer_matmul(np.full((2, terms), sign * largest), [x] * terms, LIMBS)
    expected = [[sign * largest * terms * value(q) % q] * 16 for q in ring.primes]
    for row in found:
        assert row[0].tolist() == expected


def test_residues_of_kernels_are_as_good_as_canonical_ones(make_ring, rng):
    """Many tiles of a limb, of a few of its limbs, in another order than theirs."""
    ring, limbs = make_ring(1024), [3, 0]
    terms = [oracle.random_residues([ring.primes[j] for j in limbs], 1024, 2, rng) for _ in range(3)]
    assert_product(ring, rng.integers(-99, 99, (2, 3)), terms, limbs)
    once = ring.integer_matmul(rng.integers(-99, 99, (3, 3)), terms, limbs)
    assert_product(ring, rng.integers(-MOST, MOST, (2, 3)), once, limbs)


def test_products_without_rows_or_terms(make_ring, rng):
    ring = make_ring(16)
    x = oracle.random_residues(ring.primes, 16, 1, rng)
    assert ring.integer_matmul(np.zeros((0, 2), np.int64), [x, x], LIMBS) == []
    for row in ring.integer_matmul(np.zeros((3, 0), np.int64), [], LIMBS):
        assert row.shape == (1, NUM_LIMBS, 16) and not row.any()


def test_bad_products_are_refused(make_ring, rng):
    ring = make_ring(16)
    x = oracle.random_residues(ring.primes, 16, 1, rng)
    for weight in (MOST + 1, -MOST - 1, -(2**63)):
        with pytest.raises(ValueError, match=rf"weight {weight} at row 1, column 0 is above 2\^24"):
            ring.integer_matmul(np.array([[1], [weight]]), [x], LIMBS)
    with pytest.raises(ValueError, match="3 columns for 1 terms"):
        ring.integer_matmul(np.ones((2, 3), np.int64), [x], LIMBS)
    with pytest.raises(ValueError, match="different polys"):
        ring.integer_matmul(np.ones((2, 2), np.int64), [x, np.concatenate([x, x])], LIMBS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_do_not_change_a_bit(backend, rng):
    degree = 64 if backend.startswith("sim") else 1024
    rings = [_core.Ring(degree, oracle.PRIME_SETS["narrow"], backend=backend, threads=n) for n in (1, 2, 3)]
    terms = [oracle.random_residues(rings[0].primes, degree, 2, rng) for _ in range(20)]
    weights = rng.integers(-500, 500, (30, 20))
    expected, *others = (np.stack(ring.integer_matmul(weights, terms, LIMBS)).tobytes() for ring in rings)
    assert others == [expected, expected]


@pytest.mark.parametrize("bits", [7, 20, 30, 36, 40, 45, 49, 50])
@pytest.mark.parametrize("largest", [0, 1, 11, 12, 2**8, 2**15, MOST])
def test_the_way_is_exact_by_its_own_statement(bits, largest):
    """The largest sums of the whole residue or of its parts stay below 2^53, beside what they begin with."""
    q = 2**bits - 1
    parts, terms = _core.integer_matmul_way(q, largest)
    unit = 1 if parts == 1 else 2 ** ((bits + 1) // 2)
    at_rest = Fraction(11 * q, 16)
    residue = at_rest if parts == 1 else max(Fraction(unit, 2), at_rest / unit + Fraction(1, 2))
    assert terms >= 1 and 2 * at_rest + terms * largest * residue < 2**53


def test_ways_of_primes_and_weights():
    """Whole residues of 30 bits take weights of 8 bits for sums of 10,000 terms; wide primes go by two parts."""
    assert _core.integer_matmul_way(2**30 - 35, 2**8)[0] == 1 and _core.integer_matmul_way(2**30 - 35, 2**8)[1] > 10_000
    assert _core.integer_matmul_way(2**50 - 27, 2**8)[0] == 2
    for prime, largest in ((2**50, 1), (2**30, MOST + 1), (2**30, -1), (2, 1)):
        with pytest.raises(ValueError, match="integer_matmul_way"):
            _core.integer_matmul_way(prime, largest)
