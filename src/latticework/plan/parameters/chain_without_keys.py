"""Chains of programs that need no evaluation key: Q alone counts, and all of it is there from the first step on."""

from __future__ import annotations

from math import ceil, log2

from latticework.plan.parameters.modulus_chain import ModulusChain, Track
from latticework.plan.parameters.security import modulus_limit_bits
from latticework.plan.parameters.select import MAX_RING_LOG2, MIN_RING_LOG2, SUPPLY_BITS, PrimeSupply

PRIME_BITS = 30.0  # at most: products of small integers and residues are then exact in one float64 each


def has_public_key(chain: ModulusChain) -> bool:
    """Whether owners may encrypt under a public key: its noise is divided by a special prime."""
    return bool(chain.special)


def chain_without_keys(
    bits: float, scale_bits: int, ring_degree: int, security_bits: int = 128, *, insecure: bool = False
) -> ModulusChain:
    """The chain of at least these bits, of primes of about 30.

    raises  LevelError where there are not enough primes
    """
    count = count_primes(bits)
    supply, primes = PrimeSupply(2 * ring_degree), list[int]()
    for left in range(count, 0, -1):
        each = (bits - sum(map(log2, primes))) / left
        primes += supply.group(2.0 ** max(each + 0.01, log2(ring_degree) + SUPPLY_BITS), 1)
    groups = tuple((limb,) for limb in range(count))
    track = Track(groups, (2.0**scale_bits,) * count)
    return ModulusChain(ring_degree, tuple(primes), (), (), (track,), security_bits, insecure)


def count_primes(bits: float) -> int:
    """Primes of a chain of so many bits."""
    return max(1, ceil(bits / PRIME_BITS))


def ring_without_keys(bits: float, slots: int, security_bits: int = 128) -> int | None:
    """The smallest ring degree that holds so many bits of Q, and slots; None if none does."""
    for degree in (1 << k for k in range(MIN_RING_LOG2, MAX_RING_LOG2 + 1)):
        limit = modulus_limit_bits(degree, security_bits)
        if limit is not None and slots <= degree // 2 and bits <= limit:
            return degree
    return None
