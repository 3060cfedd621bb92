"""Gadgets of lower levels: more special primes for their keys, and so fewer digits, within the same security.

A key is as secure as log2 of the product of its primes says, special ones and those of its level. A key that serves low
levels alone may thus have more special primes than one for the top; with P larger, digits may be larger, and there are
fewer of them to transform and to multiply. At the lowest levels a single digit is enough, and fewer special primes
than at the top are the gain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import inf, log2

from latticework.errors import LevelError, RangeError, SecurityError
from latticework.errors.rounded_numbers import over
from latticework.plan.parameters.modulus_chain import Gadget, ModulusChain
from latticework.plan.parameters.secrets import secret_limit_bits
from latticework.plan.parameters.select import DIGIT_GAP_BITS, MAX_PRIME_BITS, PrimeSupply, cut_digits
from latticework.values.sums import add_up

MAX_COUNT = 64  # of special primes: far above what is quick


def with_gadgets(chain: ModulusChain, special: Mapping[int, int]) -> ModulusChain:
    """Return a chain whose keys for low levels have other numbers of special primes.

    special   number of Q limbs -> special primes of keys for levels within so many: the first ones of one list, whose
              first are those of the chain
    raises    SecurityError where a key would be too weak, unless the chain is marked insecure; LevelError where digits
              of one limb exceed P
    """
    low = low_special_primes(chain, max(special.values(), default=0))
    every = chain.special + low
    gadgets = []
    for limbs in sorted(special, reverse=True):
        p_bits = add_up(log2(p) for p in every[: special[limbs]])
        primes = chain.primes[:limbs]
        digits = cut_digits(primes, evenest_limit(primes, p_bits - DIGIT_GAP_BITS))
        largest = max(add_up(log2(primes[limb]) for limb in digit) for digit in digits)
        if largest >= p_bits:
            raise LevelError(
                f"keys for {limbs} primes: {special[limbs]} special primes of {p_bits:.1f} bits are less than a digit "
                f"of {over(largest, p_bits)} bits; give more"
            )
        gadgets.append(Gadget(limbs, special[limbs], digits))
    made = replace(chain, low_special=low, gadgets=tuple(gadgets))
    return check_gadget_security(made)


def low_special_primes(chain: ModulusChain, count: int) -> tuple[int, ...]:
    """Primes that make those of P `count` ones, for keys of lower levels; none where P has as many.

    raises  LevelError where the ring has no more
    """
    supply = PrimeSupply(2 * chain.ring_degree)
    supply.used.update(chain.primes + chain.every_special, {chain.plain_modulus})
    more = count - len(chain.special)
    return supply.group(2.0**MAX_PRIME_BITS, more, below=True) if more > 0 else ()


def gadgets_by_level(chain: ModulusChain, special: Mapping[int, int]) -> ModulusChain:
    """The chain with these numbers of special primes of keys for a level of the main track and those below.

    raises  RangeError for what is no mapping, and for a level or a number that there is not; errors as of
            `with_gadgets`
    """
    if not isinstance(special, Mapping):
        raise RangeError(f"special_below={special!r:.60}; give numbers of special primes by level, such as {{8: 6}}")
    if not chain.special:
        raise RangeError("special_below: num_special=0 leaves no evaluation keys to have special primes; leave one out")
    for level, count in special.items():
        if type(level) is not int or not 0 <= level < chain.main.top:
            raise RangeError(f"special_below: there is no level {level!r:.60} below the highest, {chain.main.top}")
        if type(count) is not int or not 1 <= count <= MAX_COUNT:
            raise RangeError(f"special_below: {count!r:.60} special primes for level {level}; give 1 to {MAX_COUNT}")
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
    fewest, enough = len(cut_digits(primes, limit_bits)), _sums_of_stretches(primes)
    place = bisect_left(enough, True, key=lambda s: len(cut_digits(primes, s)) <= fewest)
    return enough[place] if place < len(enough) else limit_bits


@lru_cache(maxsize=64)
def _sums_of_stretches(primes: tuple[int, ...]) -> list[float]:
    """Bits of all stretches of primes that are as long as the longest prime, ascending, and a bit more."""
    bits = [log2(p) for p in primes]
    sums = {add_up(bits[a:b]) for a in range(len(bits)) for b in range(a + 1, len(bits) + 1)}
    return [s + 1e-9 for s in sorted(sums) if s >= max(bits)]


# -- which numbers of special primes are best -----------------------------------------------------

Digits = tuple[tuple[int, ...], ...]


def quickest_special(chain: ModulusChain, band_price: Callable[[int], float]) -> dict[int, int]:
    """Numbers of special primes by numbers of Q limbs, for `with_gadgets`: the quickest for switches at all levels.

    A band costs the sum of its switches' work over what they are on the chain without gadgets, each level counted
    alike. No key becomes larger than those of the top, so that it is as secure.

    band_price  by number of Q limbs: what the first level of a band has to gain on its work, in units of what a switch
                took, because keys that are used on both sides of a border exist twice
    """
    track = max(chain.tracks, key=lambda t: t.top)
    levels = [track.basis(level) for level in range(track.top + 1)]
    before = [switch_work(len(q), len(chain.special), _sizes(chain.digits, q)) for q in levels]

    def price(top: int, special: int, digits: Digits) -> Iterator[float]:
        work = 0.0
        for bottom in range(top, -1, -1):
            q = levels[bottom]
            work += switch_work(len(q), special, _sizes(digits, q)) / before[bottom]
            yield work + band_price(levels[top][-1] + 1)

    return cheapest_bands(chain, levels, price, lambda bottom: float(len(levels) - bottom), chain.log2_qp)


def cheapest_bands(
    chain: ModulusChain,
    levels: Sequence[Sequence[int]],
    price: Callable[[int, int, Digits], Iterator[float]],
    rest: Callable[[int], float],
    most_bits: float,
    most_special: int = MAX_COUNT,
    *,
    top_too: bool = False,
) -> dict[int, int]:
    """Numbers of special primes by numbers of Q limbs, for `with_gadgets`: those of the cheapest bands of levels.

    By dynamic programming over the levels: a band has one gadget, and all bands together are to cost the least.

    levels  limbs of each, the lowest first
    price   (highest level, special primes, digits) -> of the bands that reach down to this level, the next lower, ...
    rest    of the levels from this one up, with the keys that a chain has without gadgets
    most_bits, most_special  bits of the modulus of a key, and special primes that it may have
    top_too  whether keys for all limbs may have others than the chain's too
    """
    least: list[tuple[float, dict[int, int]]] = [(0.0, {})]  # for so many of the lowest levels
    for top, limbs in enumerate(levels):
        count = limbs[-1] + 1
        ways: list[tuple[float, int, dict[int, int]]] = [(inf, 0, {})]  # there may be none
        may = top_too or count < len(chain.primes)
        for special, digits in gadgets_for(chain, count, most_bits, most_special) if may else ():
            for (below, chosen), band in zip(reversed(least), price(top, special, digits), strict=True):
                ways.append((below + band, special, chosen))
        cost, special, chosen = min(ways, key=lambda way: way[0])
        least.append((cost, {**chosen, count: special}))
    return min(enumerate(least), key=lambda each: each[1][0] + rest(each[0]))[1][1]


def gadgets_for(chain: ModulusChain, count: int, most_bits: float, most_special: int) -> Iterator[tuple[int, Digits]]:
    """Numbers of special primes for keys of `count` limbs whose moduli have at most so many bits, with digits.

    P is so much larger than each digit that switches add little noise. Of numbers that make the same digits the least.
    """
    primes = chain.primes[:count]
    left = most_bits - add_up(log2(p) for p in primes)
    p_bits = 0.0
    before: Digits = ()
    for special in range(1, min(count, most_special) + 1):
        p_bits += log2(chain.special[special - 1]) if special <= len(chain.special) else MAX_PRIME_BITS
        if p_bits > left:
            return
        limit = p_bits - DIGIT_GAP_BITS
        digits = cut_digits(primes, evenest_limit(primes, limit))
        if digits != before and max(add_up(log2(primes[limb]) for limb in digit) for digit in digits) <= limit:
            before = digits
            yield special, digits


def _sizes(digits: Sequence[Sequence[int]], q_limbs: Sequence[int]) -> list[int]:
    """Limbs of a level in each digit that it has a part in."""
    here = set(q_limbs)
    return [size for size in (len(here.intersection(digit)) for digit in digits) if size]


TERM, KEY_ROW = 0.075, 0.25  # of a conversion's sum, and of two rows of a key, in transforms: rates of one core


def switch_work(limbs: int, special: int, digits: Sequence[int]) -> float:
    """Work of a key switch in transforms: those it has, terms of its base conversions and rows of its key.

    digits  limbs of each
    """
    rows = limbs + special
    transforms = 3 * limbs + 2 * special + sum(rows - size for size in digits)
    terms = 2 * special * limbs + sum(size * (rows - size) for size in digits)
    return transforms + TERM * terms + KEY_ROW * len(digits) * rows
