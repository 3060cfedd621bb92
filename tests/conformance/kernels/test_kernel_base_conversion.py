"""Base conversion: the integer that a base conversion assigns, with centred digits and the rounded quotient u, in every target."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import ring_oracles as oracle
from ring_oracles import NUM_LIMBS

LIMBS = list(range(NUM_LIMBS))
SOURCES = [[0], [2], [4], [0, 1], [1, 2, 3], [2, 4], [3, 4], LIMBS]


def residues_around(ring, fractions, sources):
    """Consecutive integers around the given fractions of the product of the source primes."""
    primes = [ring.primes[limb] for limb in sources]
    reach = ring.degree // len(fractions) // 2
    integers = [
        int(fraction * math.prod(primes)) + offset for fraction, offset in product(fractions, range(-reach, reach))
    ]
    return np.array([[[v % q for v in integers] for q in primes]], dtype=np.uint64)


def expected_conversion(ring, x, sources, targets):
    source_primes = [ring.primes[limb] for limb in sources]
    polys, _, degree = x.shape
    values = [[oracle.base_convert(x[p, :, i].tolist(), source_primes) for i in range(degree)] for p in range(polys)]
    return np.array([[[v % ring.primes[t] for v in row] for t in targets] for row in values], dtype=np.uint64)


@pytest.mark.parametrize("sources", SOURCES, ids=str)
def test_base_conversion_equals_its_definition(make_ring, rng, sources):
    ring = make_ring(64)
    targets = LIMBS[::-1]  # sources are among the targets: there it is the identity
    primes = [ring.primes[limb] for limb in sources]
    for name, x in oracle.residue_patterns(primes, 64, rng).items():
        np.testing.assert_array_equal(
            ring.base_convert(x, sources, targets), expected_conversion(ring, x, sources, targets), err_msg=name
        )


@pytest.mark.parametrize("sources", [[0], [0, 1], [1, 2, 3]], ids=str)
def test_base_conversion_near_the_ends_of_the_centred_interval(make_ring, sources):
    ring = make_ring(64)
    x = residues_around(ring, [0, Fraction(1, 2), Fraction(-1, 2), Fraction(1, 4)], sources)
    np.testing.assert_array_equal(ring.base_convert(x, sources, LIMBS), expected_conversion(ring, x, sources, LIMBS))


def test_quotient_is_summed_by_fused_operations(make_ring):
    ring, sources = make_ring(1024), [1, 2, 3, 4]
    x = residues_around(ring, [Fraction(1, 2), Fraction(-1, 2)], sources)
    primes = [ring.primes[limb] for limb in sources]
    columns = x[0].T.tolist()
    unfused = [oracle.base_convert(column, primes, fma=lambda a, b, c: a * b + c) for column in columns]
    assert unfused != [oracle.base_convert(column, primes) for column in columns]  # the case tells them apart
    np.testing.assert_array_equal(ring.base_convert(x, sources, [0]), expected_conversion(ring, x, sources, [0]))


def test_base_conversion_of_a_small_integer_is_the_integer(make_ring, rng):
    ring = make_ring(1024)
    values = rng.integers(-(2**45), 2**45, 1024)
    x = ring.import_signed(values, [1, 2, 3])
    np.testing.assert_array_equal(ring.base_convert(x, [1, 2, 3], [0, 4]), ring.import_signed(values, [0, 4]))


def test_base_conversion_reads_the_source_rows_in_any_order(make_ring, rng):
    ring = make_ring(64)
    x = oracle.random_residues([ring.primes[4], ring.primes[1], ring.primes[2]], 64, 2, rng)
    np.testing.assert_array_equal(
        ring.base_convert(x, [4, 1, 2], [0, 3]), ring.base_convert(x[:, [1, 2, 0]], [1, 2, 4], [0, 3])
    )


def test_repeated_source_limb_is_refused(make_ring):
    with pytest.raises(ValueError, match="more than once"):
        make_ring(16).base_convert(np.zeros((1, 2, 16), dtype=np.uint64), [1, 1], [0])
