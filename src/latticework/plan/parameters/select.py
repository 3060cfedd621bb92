"""Automatic parameters: the smallest ring and the shortest chain that fit depth, precision and security."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain as concatenated
from itertools import pairwise
from math import ceil, log2, prod

import numpy as np

from latticework.errors import LayoutError, LevelError
from latticework.errors.rounded_numbers import over
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.modulus_chain import ModulusChain, Track, next_scale
from latticework.plan.parameters.security import modulus_limit_bits
from latticework.values.extension import _core

MOST_MODULI = 64  # plaintext ones
MAX_PRIME_BITS = 49  # so that FP64-FMA arithmetic gives the same residues as integers
MAX_BASE_BITS = 2 * MAX_PRIME_BITS - 1  # of the lowest level: two primes
MIN_RING_LOG2, MAX_RING_LOG2 = 10, 17
DIGIT_GAP_BITS = 4  # P is this much larger than a digit, so that key switching adds little noise
MAX_SPECIAL = 8
MAX_SLOTS = 1 << (MAX_RING_LOG2 - 1)
PAIR_CANDIDATES = 96  # primes among which the best pair of a level is looked for
SUPPLY_BITS = 12  # primes = 1 mod 2N are scarce below 2^(log2 N + this)


@dataclass(frozen=True)
class Need:
    """The requirements of a program on its parameters.

    depth          levels it spends
    slots          width of its vectors
    scale_bits     log2 of the scale
    headroom_bits  bits of q0 above the scale: log2 of the largest value at the lowest level, and a margin
    """

    depth: int
    slots: int
    scale_bits: int
    headroom_bits: int


class TooDeepError(LevelError):
    """No ring, or not the one that was asked for, has room for the levels of a need."""

    need: Need


def select_chain(
    need: Need, *, ring_degree: int | None = None, security_bits: int = 128, insecure: bool = False
) -> ModulusChain:
    """The chain with the smallest ring degree that fits.

    raises  TooDeepError if no ring degree (or not the one asked for) is large enough; LayoutError if slots do not fit
    """
    candidates = [1 << k for k in range(MIN_RING_LOG2, MAX_RING_LOG2 + 1)] if ring_degree is None else [ring_degree]
    if ring_degree is not None and need.slots > ring_degree // 2:
        raise LayoutError(
            f"the vectors need {need.slots} slots, but ring_degree={ring_degree} has {ring_degree // 2}; "
            f"use ring_degree={2 * need.slots} or more, or leave it out"
        )
    if need.slots > MAX_SLOTS:
        raise LayoutError(
            f"the vectors need {need.slots} slots; the largest ring (N=2^{MAX_RING_LOG2}) has {MAX_SLOTS}: "
            "split the tensors, or use a smaller batch"
        )
    for degree in candidates:
        limit = modulus_limit_bits(degree, security_bits)
        unlimited = insecure and ring_degree is not None  # a ring degree that was asked for may be too small
        if need.slots > degree // 2 or (limit is None and not unlimited):
            continue
        here = _with_primes(need, degree)
        if not unlimited and limit is not None and _least_bits(here) > limit:
            continue
        chains = [build_chain(degree, here, special, security_bits, insecure) for special in range(1, MAX_SPECIAL + 1)]
        fitting = [c for c in chains if unlimited or (limit is not None and c.log2_qp <= limit)]
        if not fitting and limit is not None and degree == candidates[-1]:  # a special prime of the bits that are left
            left = limit - (chains[0].log2_qp - log2(chains[0].special[0]))
            if left >= _least_special_bits(here):
                narrow = build_chain(degree, here, 1, security_bits, insecure, special_bits=left)
                fitting = [narrow] if narrow.log2_qp <= limit else []
        if fitting:
            chosen = min(fitting, key=key_switch_ntts)
            return replace(chosen, insecure=limit is None or chosen.log2_qp > limit)
    largest = candidates[-1]
    here = _with_primes(need, largest)
    where = f"ring_degree={ring_degree}" if ring_degree is not None else f"the largest ring, N=2^{MAX_RING_LOG2},"
    limit, least = modulus_limit_bits(largest, security_bits), float(_least_bits(here))
    if limit is not None and least <= limit:  # primes are not exactly as large as they should be
        narrow = build_chain(largest, here, 1, security_bits, special_bits=_least_special_bits(here))
        least = max(narrow.log2_qp, float(limit) + 1e-9)
    needed = f"{least:g}" if limit is None or least == int(least) else over(least, limit, 0)
    larger = ring_that_holds(need, security_bits)
    remedy = "use fewer levels (polynomials of lower degree), or less precision"
    if ring_degree is not None and larger is not None and larger > ring_degree:
        remedy = f"use ring_degree={larger}, fewer levels (polynomials of lower degree), or less precision"
    error = TooDeepError(
        f"{here.depth} levels of {here.scale_bits} bits are needed, at least {needed} bits of modulus with the "
        f"key-switching prime, but {where} allows {'none' if limit is None else limit} at {security_bits}-bit "
        f"security, {levels_held(here, largest, security_bits)} such levels; {remedy}"
    )
    error.need = here
    raise error


def levels_held(need: Need, ring_degree: int, security_bits: int = 128) -> int:
    """The most levels that a ring holds at the scale and with the headroom of a need, 0 if it holds none."""
    limit = modulus_limit_bits(ring_degree, security_bits)
    left = (limit or 0) - _least_bits(replace(_with_primes(need, ring_degree), depth=0))
    return max(0, left // _with_primes(need, ring_degree).scale_bits)


def ring_that_holds(need: Need, security_bits: int = 128) -> int | None:
    """The smallest ring degree that holds the levels and slots of a need; None if none does."""
    for degree in (1 << k for k in range(MIN_RING_LOG2, MAX_RING_LOG2 + 1)):
        limit = modulus_limit_bits(degree, security_bits)
        if limit is not None and need.slots <= degree // 2 and _least_bits(_with_primes(need, degree)) <= limit:
            return degree
    return None


def _with_primes(need: Need, ring_degree: int) -> Need:
    """The need at the least scale that there are primes for in a ring."""
    return replace(need, scale_bits=max(need.scale_bits, (ring_degree - 1).bit_length() + SUPPLY_BITS))


def _least_bits(need: Need) -> int:
    """Bits of modulus that a need takes at least: its levels, the lowest one, one special prime."""
    return (need.depth + 1) * need.scale_bits + need.headroom_bits + _least_special_bits(need)


def _least_special_bits(need: Need) -> int:
    """Return the least bits of a special prime: those of the largest prime that it switches, so that noise stays
    small."""
    base = need.scale_bits + need.headroom_bits
    return base if base < MAX_PRIME_BITS else MAX_PRIME_BITS


def build_chain(
    ring_degree: int,
    need: Need,
    num_special: int,
    security_bits: int = 128,
    insecure: bool = False,
    special_bits: float = MAX_PRIME_BITS,
) -> ModulusChain:
    """Return the chain for a need with this number of special primes, and a limit on the bits of each.

    Primes are picked from the top level down, each nearest to what keeps the
    next canonical scale at 2^scale_bits, so that the scale never drifts.
    """
    if need.scale_bits + need.headroom_bits > MAX_BASE_BITS:
        raise LevelError(
            f"values of {need.headroom_bits} bits at a scale of 2^{need.scale_bits} do not fit the lowest level, which "
            f"holds {MAX_BASE_BITS} bits; scale the outputs down, or lower precision_bits"
        )
    supply = PrimeSupply(2 * ring_degree)
    special = supply.group(2.0**special_bits, num_special, below=True)
    scale = 2.0**need.scale_bits
    scales, picked = [scale], []
    for _ in range(need.depth):
        group = supply.level(scales[-1] * scales[-1] / scale)
        picked.append(group)
        scales.append(next_scale(scales[-1], scales[-1], prod(group)))
    base = supply.level(2.0 ** (need.scale_bits + need.headroom_bits))
    ordered = [base, *reversed(picked)]
    starts = [0]
    for group in ordered:
        starts.append(starts[-1] + len(group))
    groups = tuple(tuple(range(a, b)) for a, b in pairwise(starts))
    primes = tuple(concatenated.from_iterable(ordered))
    digits = cut_digits(primes, log2(prod(special)) - DIGIT_GAP_BITS)
    track = Track(groups, tuple(reversed(scales)))
    return ModulusChain(ring_degree, primes, special, digits, (track,), security_bits, insecure)


def cut_digits(primes: tuple[int, ...], limit_bits: float) -> tuple[tuple[int, ...], ...]:
    """Consecutive limbs joined into digits of at most `limit_bits` (a single limb may exceed it)."""
    digits: list[list[int]] = []
    bits = 0.0
    for limb, prime in enumerate(primes):
        if not digits or bits + log2(prime) > limit_bits:
            digits.append([])
            bits = 0.0
        digits[-1].append(limb)
        bits += log2(prime)
    return tuple(tuple(d) for d in digits)


def key_switch_ntts(chain: ModulusChain) -> int:
    """Number of NTTs of a key switch at the top level: the measure by which special primes are chosen."""
    limbs, special, digits = len(chain.primes), len(chain.special), len(chain.digits)
    return limbs + digits * (limbs + special) + 2 * special + 2 * limbs


class PrimeSupply:
    """Primes = 1 mod 2N, each handed out once."""

    def __init__(self, two_n: int) -> None:
        self.two_n = two_n
        self.used: set[int] = set()

    def level(self, target: float) -> tuple[int, ...]:
        """One prime near the target, or two whose product is near it if it exceeds 49 bits."""
        if log2(target) <= MAX_PRIME_BITS - 0.5:
            return self.group(target, 1)
        first = self.group(target**0.5, 1)
        return first + self.group(target / first[0], 1)

    def near(self, target: float) -> tuple[int, ...]:
        """The unused prime nearest to the target, or the unused pair whose product is nearest if it exceeds 49 bits."""
        if log2(target) <= MAX_PRIME_BITS:
            return self.group(target, 1)
        near = [int(p) for p in _core.primes_near(target**0.5, self.two_n, PAIR_CANDIDATES + len(self.used))]
        free = np.array(sorted(p for p in near if p not in self.used and p < 1 << MAX_PRIME_BITS), dtype=np.float64)
        off = np.abs(np.log2(free)[:, None] + np.log2(free)[None, :] - log2(target))
        off[np.tril_indices(len(free))] = np.inf
        first, second = np.unravel_index(int(np.argmin(off)), off.shape)
        pair = (int(free[first]), int(free[second]))
        self.used.update(pair)
        return pair

    def group(self, target: float, count: int, *, below: bool = False) -> tuple[int, ...]:
        """The `count` unused primes nearest to a target (or nearest below it)."""
        if not self.two_n < target <= 2.0**60:
            raise LevelError(
                f"N={self.two_n // 2} has no primes left near 2^{log2(target):.0f} after {len(self.used)} others: so "
                "many levels take a larger ring; leave ring_degree out, or write fewer products one after another"
            )
        for wanted in (count + len(self.used) + 8, 4 * (count + len(self.used)) + 64):
            near = [int(p) for p in _core.primes_near(target, self.two_n, wanted)]
            free = [p for p in near if p not in self.used and (not below or p < target) and p < 1 << MAX_PRIME_BITS]
            if len(free) >= count:
                self.used.update(free[:count])
                return tuple(free[:count])
        raise LevelError(
            f"there are not enough primes = 1 mod {self.two_n} near 2^{log2(target):.1f}; "
            f"use more precision_bits or a smaller ring_degree (about 2^{ceil(log2(self.two_n)) + 6} and up works)"
        )


def is_batching_prime(candidate: int, two_n: int) -> bool:
    """Whether a number is a prime modulo which a ring has slots."""
    is_one = two_n < candidate < 1 << MAX_PRIME_BITS and candidate % two_n == 1
    return is_one and bool(_core.primes_near(candidate, two_n, 1)[0] == candidate)


def fault_of_moduli(chain: ModulusChain) -> str:
    """Say what is wrong with the plaintext moduli of a chain that has several; "" if nothing is."""
    moduli, two_n = chain.plain_moduli, 2 * chain.ring_degree
    if len(moduli) > MOST_MODULI:
        return f"{len(moduli)} plaintext moduli; at most {MOST_MODULI} are possible"
    if any(a <= b for a, b in pairwise(moduli)):
        return "plaintext moduli that do not descend"
    used = {*chain.primes, *chain.every_special}
    bad = next((t for t in moduli if not is_batching_prime(t, two_n) or t in used), None)
    return "" if bad is None else f"the plaintext modulus {bad}, modulo which N={chain.ring_degree} has no slots"
