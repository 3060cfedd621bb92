"""A modulus chain from prime sizes that an expert states, refused where it is not secure.

Primes are chosen near their stated sizes such that the canonical scale of each
level follows from that of the level above: scales do not drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, log2, prod
from typing import Any

from latticework.errors import LevelError, PrecisionError, RangeError, SecurityError
from latticework.errors.rounded_numbers import over
from latticework.plan.parameters.modulus_chain import TERNARY, ModulusChain, Track, next_scale
from latticework.plan.parameters.secrets import secret_limit_bits, secret_text
from latticework.plan.parameters.security import modulus_limit_bits, security_levels, sparse_limits
from latticework.plan.parameters.select import (
    DIGIT_GAP_BITS,
    MAX_PRIME_BITS,
    MAX_RING_LOG2,
    MAX_SPECIAL,
    MIN_RING_LOG2,
    PrimeSupply,
    cut_digits,
    key_switch_ntts,
)
from latticework.plan.parameters.stated_primes import (
    PrimeRequest,
    StatedPrimes,
    check_digits,
    check_keyless,
    state_primes,
)
from latticework.values.extension import _core
from latticework.values.packing.embedding import SPARSE_WEIGHT
from latticework.values.sums import add_up

GroupBits = float | tuple[float, float]  # one prime (two where it exceeds 49 bits), or two of stated sizes
PAIR_CANDIDATES = 12  # first primes of a pair that are tried: small primes = 1 mod 2N are far apart
MAX_COUNT = 1024  # of special primes or digits that are asked for: far above what is possible
LADDER_SLACK_BITS = 0.25  # a level's prime may be moved this far from its stated size to keep scales from drifting


def explicit_chain(
    ring_degree: int,
    asked: PrimeRequest,
    scale_bits: float | Sequence[float],
    *,
    secret: tuple[str, int] = (TERNARY, 0),
    num_digits: int | None = None,
    security_bits: int = 128,
    insecure: bool = False,
) -> ModulusChain:
    """The chain with these primes; as many special ones as make key switching cheapest where nothing is asked of them.

    With num_special=0 it has none: nothing made of it has a larger modulus than Q, and there are no evaluation keys.

    asked        rescaling level i removes entry i of q_bits or primes, entry 0 stays
    scale_bits   log2 of the canonical scale, of all levels or of each (lowest first). Where it does not follow from the
                 level above by squaring and rescaling, it is a profile: values reach it by an integer factor
    secret       distribution and weight of secret keys, as `check_secret` gives them
    num_digits   digits of key switching; else cut so that each is smaller than P
    raises       SecurityError where log2(QP) is over the limit, unless `insecure`
    """
    _check_ring(ring_degree)
    if security_bits not in security_levels():
        known = ", ".join(str(bits) for bits in security_levels())
        raise SecurityError(f"Parameters: security_bits={security_bits!r}; choose one of {known}")
    q_bits, p_bits, num_special = asked.q_bits, asked.p_bits, asked.num_special
    stated = state_primes(ring_degree, asked, insecure=insecure)
    for name, sizes in (("q_bits", () if q_bits is None else q_bits), ("p_bits", () if p_bits is None else p_bits)):
        entries, example = ((int, float, tuple), [50, 40, 40]) if name == "q_bits" else ((int, float), [30, 31])
        listed = _is_list(sizes) and all(isinstance(e, entries) for e in sizes)
        if not listed:
            raise RangeError(f"Parameters: {name}={sizes!r:.60}; give a list of numbers of bits, as in {example}")
    scales: Any = scale_bits if _is_list(scale_bits) else [scale_bits]
    if not all(isinstance(bits, int | float) and not isinstance(bits, bool) for bits in scales):
        raise RangeError(f"Parameters: scale_bits={scale_bits!r:.60}; give a number of bits, or one for each level")
    for name, count, least in (("num_special", num_special, 0), ("num_digits", num_digits, 1)):
        if count is not None and (type(count) is not int or not least <= count <= MAX_COUNT):
            raise RangeError(f"Parameters: {name}={count!r:.60}; give a whole number, {least} or more")
    check_keyless(asked, num_digits)
    if p_bits is not None and num_special is not None and len(p_bits) != num_special:
        raise RangeError(f"Parameters: p_bits has {len(p_bits)} entries, num_special is {num_special}; give one")
    levels = [_sizes(entry) for entry in (() if q_bits is None else q_bits)]
    levels = levels if stated.groups is None else [tuple(log2(p) for p in group) for group in stated.groups]

    def make_chain(p_sizes: Sequence[float]) -> ModulusChain:
        chain = _chain(ring_degree, levels, scale_bits, p_sizes, stated, num_digits, security_bits)
        chain = replace(chain, secret=secret[0], secret_weight=secret[1])
        return check_digits(chain) if stated.all else chain

    if p_bits is not None or num_special is not None or stated.special is not None:
        sizes = list(p_bits) if p_bits is not None else [float(MAX_PRIME_BITS)] * (num_special or 0)
        return judge(make_chain(sizes), insecure)

    def with_special(count: int) -> ModulusChain:
        return make_chain([float(MAX_PRIME_BITS)] * count)

    if num_digits is None:
        chains = [with_special(count) for count in range(stated.least_special, MAX_SPECIAL + 1)]
        limit = secret_limit_bits(chains[0])
        fitting = [c for c in chains if limit is not None and c.log2_qp <= limit] or chains[:1]
        return judge(min(fitting, key=key_switch_ntts), insecure)
    share = add_up(add_up(sizes) for sizes in levels) / max(num_digits, 1)
    count = max(ceil(share / MAX_PRIME_BITS), 1)
    while True:  # a digit is at most all of Q, so this ends
        try:
            return judge(with_special(count), insecure)
        except PrecisionError:
            count += 1


def _is_list(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict)


def _check_ring(ring_degree: int) -> None:
    low, high = 1 << MIN_RING_LOG2, 1 << MAX_RING_LOG2
    if not isinstance(ring_degree, int) or not low <= ring_degree <= high or ring_degree & (ring_degree - 1):
        raise RangeError(f"Parameters: ring_degree={ring_degree!r} is not a power of two from {low} to {high}")


def _sizes(entry: GroupBits) -> tuple[float, ...]:
    """Bits of the one or two primes of a level."""
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise RangeError(f"Parameters: q_bits has a level of {len(entry)} primes, {entry}; 1 or 2 are possible")
        return entry
    return (entry,) if entry <= MAX_PRIME_BITS else (entry / 2, entry / 2)


def _check_sizes(name: str, sizes: Sequence[float], ring_degree: int) -> None:
    least = (2 * ring_degree).bit_length()  # the smallest primes = 1 mod 2N have a few bits more
    for bits in sizes:
        if not least <= bits <= MAX_PRIME_BITS:
            raise RangeError(
                f"Parameters: {name} has a prime of {bits:g} bits; at N={ring_degree} primes have {least} to "
                f"{MAX_PRIME_BITS} bits" + (_split_remedy(name, bits) if bits > MAX_PRIME_BITS else "")
            )


def _split_remedy(name: str, bits: float) -> str:
    """Say which two primes to give in place of one that is too large."""
    if bits > 2 * MAX_PRIME_BITS:
        return ""
    halves = f"{bits // 2:g}, {bits - bits // 2:g}"
    return f"; a level of more bits takes two, as in ({halves})" if name == "q_bits" else f"; use {name}=[{halves}]"


def _chain(
    ring_degree: int,
    levels: Sequence[tuple[float, ...]],
    scale_bits: float | Sequence[float],
    p_bits: Sequence[float],
    stated: StatedPrimes,
    num_digits: int | None,
    security_bits: int,
) -> ModulusChain:
    if not levels:
        raise LevelError("Parameters: q_bits has 0 levels; give one or more")
    if stated.groups is None:
        _check_sizes("q_bits", [bits for sizes in levels for bits in sizes], ring_degree)
    _check_sizes("p_bits", p_bits, ring_degree)
    wanted = _scale_profile(scale_bits, len(levels))
    supply = PrimeSupply(2 * ring_degree)
    supply.used.update(stated.all)
    special = stated.special or tuple(supply.group(2.0**bits, 1, below=bits == MAX_PRIME_BITS)[0] for bits in p_bits)
    scales, picked = [2.0 ** wanted[-1]], []
    for level in range(len(levels) - 1, 0, -1):
        ladder = scales[-1] * scales[-1] / 2.0 ** wanted[level - 1]
        size = add_up(levels[level])
        follows = abs(log2(ladder) - size) <= LADDER_SLACK_BITS
        own = None if stated.groups is None else stated.groups[level]
        picked.append(own or _group(supply, levels[level], ladder if follows else 2.0**size))
        below = next_scale(scales[-1], scales[-1], prod(picked[-1]))
        scales.append(below if follows else 2.0 ** wanted[level - 1])
    own = None if stated.groups is None else stated.groups[0]
    picked.append(own or _group(supply, levels[0], 2.0 ** add_up(levels[0])))
    picked.reverse()
    bits_left = 0.0
    for level, (group, scale) in enumerate(zip(picked, reversed(scales), strict=True)):
        bits_left += log2(prod(group))
        if log2(scale) > bits_left + 1:
            raise RangeError(
                f"Parameters: the scale of level {level} is 2^{log2(scale):.1f}, its modulus 2^{bits_left:.1f}: "
                "nothing would fit; use a smaller scale_bits, or a larger first entry of q_bits"
            )
    starts = [0]
    for group in picked:
        starts.append(starts[-1] + len(group))
    groups = tuple(tuple(range(a, b)) for a, b in pairwise(starts))
    primes = tuple(p for group in picked for p in group)
    digits = _digits(primes, log2(prod(special)), num_digits) if special else ()
    return ModulusChain(ring_degree, primes, special, digits, (Track(groups, tuple(reversed(scales))),), security_bits)


def _scale_profile(scale_bits: float | Sequence[float], levels: int) -> list[float]:
    wanted = [float(scale_bits)] * levels if isinstance(scale_bits, int | float) else [float(b) for b in scale_bits]
    if len(wanted) != levels:
        raise RangeError(
            f"Parameters: scale_bits has {len(wanted)} entries for {levels} levels; give one number or all"
        )
    if not all(1 <= bits <= 100 for bits in wanted):
        raise RangeError(f"Parameters: scale_bits={scale_bits}; scales of 2^1 to 2^100 are possible")
    return wanted


def _group(supply: PrimeSupply, sizes: tuple[float, ...], target: float) -> tuple[int, ...]:
    """One or two unused primes with a product near the target, each near its stated size."""
    if len(sizes) == 1:
        return supply.group(target, 1)
    pairs = [
        (first, second)
        for first in _unused_primes(supply, 2.0 ** sizes[0], PAIR_CANDIDATES)
        for second in _unused_primes(supply, target / first, 2)
        if first != second
    ]
    if not pairs:
        return supply.level(target)  # which says that there are no primes of this size
    best = min(pairs, key=lambda pair: abs(log2(pair[0]) + log2(pair[1]) - log2(target)))
    supply.used.update(best)
    return best


def _unused_primes(supply: PrimeSupply, target: float, count: int) -> list[int]:
    near = (int(p) for p in _core.primes_near(target, supply.two_n, count + len(supply.used)))
    return [p for p in near if p not in supply.used and p < 1 << MAX_PRIME_BITS][:count]


def _digits(primes: tuple[int, ...], log2_p: float, num_digits: int | None) -> tuple[tuple[int, ...], ...]:
    """The Q limbs in consecutive digits: each smaller than P, or the stated number with the largest as small as can be.

    raises  PrecisionError where the largest digit would be larger than P
    """
    if num_digits is None:
        return cut_digits(primes, log2_p - DIGIT_GAP_BITS)
    bits = [log2(p) for p in primes]
    if not 1 <= num_digits <= len(primes):
        raise RangeError(f"Parameters: num_digits={num_digits}; {len(primes)} primes make 1 to {len(primes)} digits")
    sums = sorted({add_up(bits[a:b]) for a in range(len(bits)) for b in range(a + 1, len(bits) + 1)})
    smallest = next(s for s in sums if len(cut_digits(primes, s * (1 + 1e-12))) <= num_digits)
    digits = cut_digits(primes, smallest * (1 + 1e-12))
    largest = max(add_up(bits[limb] for limb in digit) for digit in digits)
    if largest > log2_p + 1:
        raise PrecisionError(
            f"Parameters: with num_digits={num_digits} the largest digit has {over(largest, log2_p)} bits, more than P "
            f"with {log2_p:.1f}, and key switching would drown the values in noise; use more digits or special primes"
        )
    return digits


def judge(chain: ModulusChain, insecure: bool) -> ModulusChain:
    """The chain if it is secure; marked as insecure if it is not and that was asked for.

    raises  SecurityError with the numbers and what would help
    """
    limit = secret_limit_bits(chain)
    if limit is not None and chain.log2_qp <= limit:
        return chain
    if insecure:
        return replace(chain, insecure=True)
    if secret_text(chain):
        raise _refuse_secret(chain, limit)
    large_enough = [
        1 << k
        for k in range(MIN_RING_LOG2, MAX_RING_LOG2 + 1)
        if (modulus_limit_bits(1 << k, chain.security_bits) or 0) >= chain.log2_qp
    ]
    remedy = f"use ring_degree={large_enough[0]}, or " if large_enough else ""
    allowed = "allows no modulus at all" if limit is None else f"allows at most {limit}"
    more = "" if limit is None else f" ({over(chain.log2_qp - limit, 0)} too many)"
    is_secure_without = limit is not None and add_up(log2(p) for p in chain.primes) <= limit
    keyless = ", or num_special=0 where no evaluation key is needed" if is_secure_without else ""
    raise SecurityError(
        f"Parameters: {_modulus_text(chain, limit)}, but {chain.security_bits}-bit security at "
        f"N={chain.ring_degree} {allowed}{more}; {remedy}fewer or smaller levels{keyless}; insecure=True is for tests "
        "with data that are not secret"
    )


def _modulus_text(chain: ModulusChain, limit: int | None) -> str:
    """The bits that security is counted on: of Q alone where there are no special primes."""
    return f"log2({'QP' if chain.special else 'Q'}) = {over(chain.log2_qp, limit or 0)}"


def _refuse_secret(chain: ModulusChain, limit: int | None) -> SecurityError:
    """The error for secrets that are not uniform ternary: over the limit of their table, or in none."""
    bits = _modulus_text(chain, limit)
    of = f"{chain.security_bits}-bit security of {secret_text(chain)} at N={chain.ring_degree}"
    tests = "insecure=True is for tests with data that are not secret"
    if limit is not None:
        return SecurityError(
            f"Parameters: {bits}, but {of} allows at most {limit}; use fewer or smaller levels; {tests}"
        )
    if chain.secret_weight == 0:
        return SecurityError(f"Parameters: {of} allows no modulus at all; use a larger ring_degree; {tests}")
    known = ", ".join(f"{most} bits at N={n}" for n, most in sparse_limits(chain.security_bits).items())
    return SecurityError(
        f"Parameters: {bits}, and {of} is in no table that has a source; of fixed weights there is only "
        f"{SPARSE_WEIGHT}, with at most {known or 'no modulus'}; use uniform ternary secrets; {tests}"
    )
