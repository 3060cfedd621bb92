"""Gadgets of lower levels: more special primes for their keys, and so fewer digits, within the same security.

A key is as secure as log2 of the product of its primes says, special ones and those of its level. A key that serves low
levels alone may thus have more special primes than one for the top; with P larger, digits may be larger, and there are
fewer of them to transform and to multiply. At the lowest levels a single digit is enough, and fewer special primes
than at the top are the gain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log2

from latticework.errors import LevelError, RangeError, SecurityError
from latticework.errors.rounded_numbers import over
from latticework.plan.parameters.modulus_chain import Gadget, ModulusChain
from latticework.plan.parameters.secrets import secret_limit_bits
from latticework.plan.parameters.select import DIGIT_GAP_BITS, MAX_PRIME_BITS, PrimeSupply, cut_digits
from latticework.values.sums import add_up

MAX_COUNT = 64  # of special primes: far above what is quick


def with_gadgets(
    chain: ModulusChain, special: Mapping[int, int], gap_bits: Mapping[int, float] | None = None
) -> ModulusChain:
    """Return a chain whose keys for low levels have other numbers of special primes.

    special   number of Q limbs -> special primes of keys for levels within so many: the first ones of one list, whose
              first are those of the chain
    gap_bits  by number of Q limbs, how much larger than a digit P is; by default enough that switches add little noise
    raises    SecurityError where a key would be too weak, unless the chain is marked insecure; LevelError where digits
              of one limb exceed P
    """
    supply = PrimeSupply(2 * chain.ring_degree)
    supply.used.update(chain.primes + chain.every_special, {chain.plain_modulus})
    more = max(special.values(), default=0) - len(chain.special)
    low = supply.group(2.0**MAX_PRIME_BITS, more, below=True) if more > 0 else ()
    every = chain.special + low
    gadgets = []
    for limbs in sorted(special, reverse=True):
        p_bits = add_up(log2(p) for p in every[: special[limbs]])
        limit = p_bits - (gap_bits or {}).get(limbs, DIGIT_GAP_BITS)
        primes = chain.primes[:limbs]
        digits = cut_digits(primes, evenest_limit(primes, limit))
        largest = max(add_up(log2(primes[limb]) for limb in digit) for digit in digits)
        if largest >= p_bits:
            raise LevelError(
                f"keys for {limbs} primes: {special[limbs]} special primes of {p_bits:.1f} bits are less than a digit "
                f"of {over(largest, p_bits)} bits; give more"
            )
        gadgets.append(Gadget(limbs, special[limbs], digits))
    made = replace(chain, low_special=low, gadgets=tuple(gadgets))
    return check_gadget_security(made)


def gadgets_by_level(chain: ModulusChain, special: Mapping[int, int]) -> ModulusChain:
    """The chain with these numbers of special primes of keys for a level of the main track and those below.

    raises  RangeError for a level or a number that there is not; errors as of `with_gadgets`
    """
    for level, count in special.items():
        if type(level) is not int or not 0 <= level < chain.main.top:
            raise RangeError(f"special_below: there is no level {level!r:.60} below the highest, {chain.main.top}")
        if type(count) is not int or not 1 <= count <= MAX_COUNT:
            raise RangeError(f"special_below: {count!r:.60} special primes for level {level}; give a whole number")
    return with_gadgets(chain, {len(chain.main.basis(level)): count for level, count in special.items()})


def check_gadget_security(chain: ModulusChain) -> ModulusChain:
    """The chain, if the largest key of each gadget is as secure as it promises.

    raises  SecurityError
    """
    limit = secret_limit_bits(chain)
    for gadget, bits in zip(chain.gadgets, chain.log2_qp_of_gadgets, strict=True):
        if not chain.insecure and (limit is None or bits > limit):
            raise SecurityError(
                f"keys for {gadget.limbs} primes with {gadget.num_special} special ones would have log2(QP) = "
                f"{over(bits, limit or 0)} at N={chain.ring_degree}; {chain.security_bits}-bit security allows "
                f"{'none' if limit is None else limit}; use fewer special primes"
            )
    return chain


def evenest_limit(primes: tuple[int, ...], limit_bits: float) -> float:
    """The smallest limit that cuts these primes into as few digits as `limit_bits` does."""
    fewest = len(cut_digits(primes, limit_bits))
    bits = [log2(p) for p in primes]
    sums = {add_up(bits[a:b]) for a in range(len(bits)) for b in range(a + 1, len(bits) + 1)}
    enough = (s + 1e-9 for s in sorted(sums) if s >= max(bits))
    return next((s for s in enough if len(cut_digits(primes, s)) == fewest), limit_bits)
