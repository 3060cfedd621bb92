"""Primality, the search for primes of a ring, and their roots of unity."""

import math

import pytest
import ring_oracles as oracle

from latticework import _core


def test_small_numbers_against_a_sieve():
    limit = 2000
    composite = {k for p in range(2, limit) for k in range(2 * p, limit, p)}
    assert [n for n in range(limit) if _core.is_prime(n)] == [n for n in range(2, limit) if n not in composite]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (2**61 - 1, True),
        (2**64 - 59, True),  # the largest 64-bit prime
        (2**64 - 1, False),
        ((2**31 - 1) ** 2, False),
        (3215031751, False),  # strong pseudoprime to bases 2, 3, 5, 7
        (3825123056546413051, False),  # to the first nine primes
        (561, False),  # Carmichael numbers
        (41041, False),
    ],
)
def test_hard_numbers(n, expected):
    assert _core.is_prime(n) is expected


def test_large_numbers_against_the_oracle(rng):
    for n in (rng.integers(2**63, 2**64, 200, dtype="uint64") | 1).tolist():
        assert _core.is_prime(n) == oracle.is_prime(n)


@pytest.mark.parametrize("target", [2**20, 2**40, 2**49, 1.5 * 2**45, 2**59])
def test_primes_near_are_the_nearest(target):
    two_n, num_primes = 2048, 12
    primes = _core.primes_near(target, two_n, num_primes)
    reach = max(abs(p - int(target)) for p in primes)
    start = (int(target) - reach) // two_n * two_n + 1
    candidates = [p for p in range(start, int(target) + reach + two_n, two_n) if p > two_n and oracle.is_prime(p)]
    candidates.sort(key=lambda p: max(p * 2**80 // int(target), int(target) * 2**80 // p))
    assert primes == candidates[:num_primes]


def test_primes_near_go_on_to_one_side_when_the_other_is_used_up():
    primes = _core.primes_near(100, 32, 6)
    assert primes == [97, 193, 257, 353, 449, 577]
    assert [abs(math.log(p / 100)) for p in primes] == sorted(abs(math.log(p / 100)) for p in primes)


def test_impossible_searches_are_refused():
    for target, two_n in ((10, 32), (2.0**61, 32), (2**40, 48)):
        with pytest.raises(ValueError, match="primes_near"):
            _core.primes_near(target, two_n, 1)
    with pytest.raises(ValueError, match="ask for fewer"):
        _core.primes_near(2**59 - 1, 2**59 - 2**58, 50)


@pytest.mark.parametrize("two_n", [32, 128, 2048])
def test_smallest_root_by_exhaustion(two_n):
    q = oracle.find_prime(two_n * 4, two_n)
    expected = next(x for x in range(2, q) if pow(x, two_n // 2, q) == q - 1)
    assert _core.smallest_primitive_root(q, two_n) == expected


def test_smallest_root_of_a_large_prime():
    q = oracle.find_prime(2**58, 2048)
    assert _core.smallest_primitive_root(q, 2048) == oracle.smallest_root(q, 2048)
