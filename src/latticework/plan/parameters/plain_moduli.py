"""Several plaintext moduli of one BFV chain, whose product holds integers that no single one does.

Every one is run by the same instructions, on ciphertexts of its own under the same keys: encoding, products of
ciphertexts and decoding alone know a plaintext modulus. So a plan with several is one plan, with a list of primes in
its chain, and not several plans that would have to agree; and secret key, evaluation keys, levels and noise are those
of the first, the largest.
Source: residue number systems; BFV products of 64-bit integers by residues, as in the workloads of
HomomorphicEncryption.org.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, log2, prod

from latticework.errors import RangeError
from latticework.plan.parameters.modulus_chain import ModulusChain
from latticework.plan.parameters.select import MAX_PRIME_BITS, MOST_MODULI, is_batching_prime

LEAST_BITS = 26  # of a plaintext modulus: below, rings have few such primes
LOOKED_AT = 4  # numbers of moduli, from the fewest on
ROOM_BITS = 0.02  # that a prime may have less than the largest number of its bits


def numbers_of_moduli(largest: int) -> list[tuple[int, float]]:
    """(number of moduli, bits of each) that hold integers from -largest to largest, for the fewest moduli and some
    more: more of fewer bits leave room for more products."""
    bits = log2(2 * largest + 1)
    fewest = max(2, ceil(bits / (MAX_PRIME_BITS - ROOM_BITS)))
    found = ((count, bits / count + ROOM_BITS) for count in range(fewest, fewest + LOOKED_AT))
    return [(count, max(size, float(LEAST_BITS))) for count, size in found if size >= LEAST_BITS or count == fewest]


def with_plain_moduli(chain: ModulusChain, largest: int) -> ModulusChain:
    """The chain with as many plaintext moduli, the next smaller primes, as hold integers from -largest to largest; two
    at least, so that all such chains are of one kind.

    raises  RangeError where there are not enough
    """
    more: list[int] = []
    smaller = _smaller_moduli(chain)
    while not more or prod((chain.plain_modulus, *more)) <= 2 * largest:
        found = next(smaller, None)
        if found is None or len(more) + 1 == MOST_MODULI:
            raise RangeError(
                f"integers of {largest.bit_length() + 1} bits take more than the {len(more) + 1} plaintext moduli of "
                f"{chain.plain_modulus.bit_length()} bits or less that N={chain.ring_degree} has: give a larger "
                "plain_bits="
            )
        more.append(found)
    return replace(chain, more_plain_moduli=tuple(more))


def _smaller_moduli(chain: ModulusChain) -> Iterator[int]:
    """Primes below the plaintext modulus that are 1 modulo 2N, and not in use, of at least LEAST_BITS."""
    two_n, used = 2 * chain.ring_degree, {*chain.primes, *chain.every_special}
    for candidate in range(chain.plain_modulus - two_n, 1 << (LEAST_BITS - 1), -two_n):
        if candidate not in used and is_batching_prime(candidate, two_n):
            yield candidate
