"""Residues modulo several primes give back every integer that their product holds, as Python's arithmetic says."""

from math import prod

import numpy as np
import pytest

from latticework.values.chinese_remainders import as_exact, from_residues, to_residues
from latticework.values.extension import _core

MODULI = {  # primes that are 1 modulo 2^13, by their bits
    bits: [int(p) for p in _core.primes_near(2.0**bits - 2.0**14, 1 << 13, 9) if p < 1 << bits][:4]
    for bits in (49, 43, 32, 26)
}


def integers(most, rng, count=500):
    drawn = [
        int(rng.integers(0, 1 << 62)) * int(rng.integers(0, 1 << 62)) ** 2 % (2 * most + 1) - most for _ in range(count)
    ]
    return [0, 1, -1, most, -most, most - 1, *drawn]


@pytest.mark.parametrize("bits", MODULI)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_integers_come_back(bits, count):
    rng = np.random.default_rng(bits)
    moduli = MODULI[bits][:count]
    assert all(pow(3, t - 1, t) == 1 and t % 2**13 == 1 for t in moduli)
    numbers = integers(prod(moduli) // 2, rng)
    residues = [to_residues(np.array(numbers, dtype=object), t) for t in moduli]
    for t, found in zip(moduli, residues, strict=True):
        assert [int(r) % t for r in found] == [n % t for n in numbers] and np.abs(found).max() <= t // 2
    assert from_residues(residues, moduli, is_small=False).tolist() == numbers


@pytest.mark.parametrize("bits", MODULI)
def test_small_integers_are_int64_to_its_ends(bits):
    rng = np.random.default_rng(bits)
    moduli = MODULI[bits]
    numbers = [*integers(min(prod(moduli) // 2, (1 << 63) - 1), rng), -(1 << 63)]
    residues = [to_residues(np.array(numbers, dtype=np.int64), t) for t in moduli]
    found = from_residues(residues, moduli, is_small=True)
    assert found.dtype == np.int64 and found.tolist() == numbers


def test_unsigned_integers_have_their_own_residues():
    numbers = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
    for t in MODULI[43]:
        found = to_residues(np.array(numbers, dtype=np.uint64), t)
        assert [int(r) % t for r in found] == [n % t for n in numbers]


def test_kinds_that_numpy_would_join_as_floats_are_pythons_own():
    signed, unsigned = np.array([-1]), np.array([(1 << 64) - 1], dtype=np.uint64)
    assert np.result_type(signed, unsigned) == np.float64
    assert [a.tolist() for a in as_exact([signed, unsigned])] == [[-1], [(1 << 64) - 1]]
    assert all(a.dtype == object for a in as_exact([signed, unsigned]))
    assert as_exact([signed, signed])[0].dtype == np.int64
