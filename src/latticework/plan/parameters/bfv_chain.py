"""BFV chains: a plaintext modulus, and as large a modulus as is secure for its number of primes.

Every prime of Q is a level, of scale 1: a level is only left to make a ciphertext smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import groupby
from math import log2
from typing import Any

from latticework.errors import LevelError, RangeError
from latticework.errors.rounded_numbers import write_value
from latticework.plan.parameters.bfv_noise import ShapeNoiseModel, least_product_bits
from latticework.plan.parameters.explicit import judge
from latticework.plan.parameters.fingerprint import core_parameters
from latticework.plan.parameters.modulus_chain import TERNARY, ModulusChain, Track, digits_at
from latticework.plan.parameters.secrets import secret_limit_bits
from latticework.plan.parameters.security import modulus_limit_bits
from latticework.plan.parameters.select import MAX_PRIME_BITS, PrimeSupply, key_switch_ntts
from latticework.plan.parameters.stated_primes import (
    NONE_STATED,
    PrimeRequest,
    StatedPrimes,
    check_digits,
    check_keyless,
    state_primes,
)
from latticework.plan.parameters.step_noise import secret_variance
from latticework.plan.parameters.worst_noise import secret_sum
from latticework.values.extension import _core
from latticework.values.sums import add_up

MIN_PLAIN_BITS = 13
MAX_MODULUS_BITS = 60  # of a plaintext modulus without slots
MAX_LIMBS, MAX_SPECIAL = 30, 6
SWITCH_BITS = 2.0  # that a special prime has more than one of the modulus, where they fit


def bfv_chain(
    ring_degree: int,
    plain_modulus: int,
    q_bits: Sequence[float],
    p_bits: Sequence[float],
    *,
    stated: StatedPrimes = NONE_STATED,
    security_bits: int = 128,
    insecure: bool = False,
) -> ModulusChain:
    """Primes of these sizes, each the largest unused one below 2^bits, but those that are stated.

    raises  LevelError where there are too few
    """
    supply = PrimeSupply(2 * ring_degree)
    supply.used.update((plain_modulus, *stated.all))

    def largest(sizes: Sequence[float]) -> tuple[int, ...]:
        groups = (supply.group(2.0**bits, len(list(same)), below=True) for bits, same in groupby(sizes))
        return tuple(prime for group in groups for prime in group)

    special = stated.special or largest(p_bits)
    primes = largest(q_bits) if stated.groups is None else tuple(prime for (prime,) in stated.groups)
    digits = equal_digits(primes, add_up(log2(p) for p in special) + 1) if special else ()
    track = Track(tuple((i,) for i in range(len(primes))), (1.0,) * len(primes))
    return ModulusChain(
        ring_degree, primes, special, digits, (track,), security_bits, insecure, plain_modulus=plain_modulus
    )


def explicit_bfv_chain(
    ring_degree: int,
    plain_modulus: int,
    asked: PrimeRequest,
    *,
    secret: tuple[str, int] = (TERNARY, 0),
    num_digits: int | None = None,
    security_bits: int = 128,
    insecure: bool = False,
) -> ModulusChain:
    """The chain with primes of these sizes; `num_special` special ones of 49 bits, or as many as make keys cheapest.

    With num_special=0 there are no evaluation keys.

    raises  SecurityError where log2(QP) is over the limit, unless `insecure`
    """
    stated = _state_primes(ring_degree, plain_modulus, asked, insecure)
    q_bits = [] if asked.q_bits is None else asked.q_bits
    p_bits, num_special = asked.p_bits, asked.num_special
    named = [("q_bits", q_bits)] if stated.groups is None else []
    for name, given in (*named, ("p_bits", [MAX_PRIME_BITS] if p_bits is None else p_bits)):
        sizes: Any = given
        listed = isinstance(sizes, list | tuple) and all(isinstance(bits, int | float) for bits in sizes)
        if not listed or not sizes or not all(1 <= bits <= MAX_PRIME_BITS for bits in sizes):
            raise RangeError(
                f"Parameters: {name}={sizes!r:.60}; give a list of sizes of primes, each of at most 49 bits; "
                "split larger ones in two: [30, 31] for 61"
            )
    if p_bits is not None and num_special is not None and len(p_bits) != num_special:
        raise RangeError(f"Parameters: p_bits has {len(p_bits)} entries, num_special is {num_special}; give one")
    if num_special is not None and (type(num_special) is not int or not 0 <= num_special <= MAX_SPECIAL):
        raise RangeError(f"Parameters: num_special={num_special!r:.60}; 0 to {MAX_SPECIAL} are possible")
    check_keyless(asked, num_digits)

    def with_special(p_sizes: Sequence[float]) -> ModulusChain:
        chain = bfv_chain(ring_degree, plain_modulus, q_bits, p_sizes, stated=stated, security_bits=security_bits)
        chain = replace(chain, secret=secret[0], secret_weight=secret[1])
        chain = chain if num_digits is None else replace(chain, digits=_cut_digits(len(chain.primes), num_digits))
        return check_digits(chain) if stated.all else chain

    if p_bits is not None or num_special is not None or stated.special is not None:
        sizes = p_bits if p_bits is not None else [float(MAX_PRIME_BITS)] * (num_special or 0)
        return judge(with_special(sizes), insecure)
    limbs = len(q_bits) if stated.groups is None else len(stated.groups)
    counts = range(stated.least_special, max(min(limbs, MAX_SPECIAL), stated.least_special) + 1)
    chains = [with_special([float(MAX_PRIME_BITS)] * count) for count in counts]
    limit = secret_limit_bits(chains[0])
    fitting = [c for c in chains if limit is not None and c.log2_qp <= limit] or chains[:1]
    return judge(min(fitting, key=key_switch_ntts), insecure)


def _state_primes(ring_degree: int, plain_modulus: int, asked: PrimeRequest, insecure: bool) -> StatedPrimes:
    """The primes that are stated, each a level of its own; RangeError where the plaintext modulus is one of them."""
    stated = state_primes(ring_degree, asked, insecure=insecure)
    if any(len(group) > 1 for group in stated.groups or ()):
        raise RangeError(f"Parameters: primes={asked.primes!r:.60}; of BFV each prime is a level, give no tuples")
    shared = [prime for prime in stated.all if plain_modulus % prime == 0]
    if plain_modulus in stated.all:
        raise RangeError(f"Parameters: {plain_modulus} is plain_modulus and one of the primes; choose another for one")
    if shared:
        raise RangeError(
            f"Parameters: plain_modulus={plain_modulus} is a multiple of the prime {shared[0]}; leave one out"
        )
    return stated


def _cut_digits(limbs: int, num_digits: int) -> tuple[tuple[int, ...], ...]:
    """Limb numbers in digits of equal length, but the last."""
    if type(num_digits) is not int or not 1 <= num_digits <= limbs:
        raise RangeError(f"Parameters: num_digits={num_digits!r:.60}; 1 to {limbs} are possible")
    size = -(-limbs // num_digits)
    return tuple(tuple(range(i, min(i + size, limbs))) for i in range(0, limbs, size))


@lru_cache(maxsize=1024)
def largest_bfv_chain(
    ring_degree: int, plain_modulus: int, limbs: int, special: int, *, security_bits: int = 128, insecure: bool = False
) -> ModulusChain | None:
    """Return the chain of `limbs` and `special` primes with as large a modulus as is secure; None if there is none.

    insecure  any modulus: the chain is marked where it is not secure
    """
    secure = modulus_limit_bits(ring_degree, security_bits)
    sizes = prime_bits(ring_degree, limbs, special, None if insecure else secure)
    if sizes is None or (secure is None and not insecure):
        return None
    q_bits, p_bits = sizes
    try:
        chain = bfv_chain(ring_degree, plain_modulus, [q_bits] * limbs, [p_bits] * special, security_bits=security_bits)
    except LevelError:
        return None
    if secure is not None and chain.log2_qp <= secure:  # of the primes: sums of the sizes asked for are rounded
        return chain
    return replace(chain, insecure=True) if insecure else None


def smallest_chain(
    ring_degree: int,
    plain_modulus: int,
    keeps: Callable[[ModulusChain], bool],
    work: Callable[[ModulusChain], float],
    *,
    least_bits: float = 0.0,
    security_bits: int = 128,
    insecure: bool = False,
    without_keys: bool = False,
) -> ModulusChain | None:
    """Return one of the largest chains of a ring: of the fewest primes that keep what has to be kept, with the least
    work.

    keeps       whether a chain holds the noise
    least_bits  of the modulus, below which there certainly is none
    insecure    any modulus
    without_keys  no special primes
    """
    limit = None if insecure else modulus_limit_bits(ring_degree, security_bits)
    if limit is not None and limit < least_bits:
        return None
    for limbs in range(1, MAX_LIMBS + 1):
        if limbs * MAX_PRIME_BITS < least_bits:
            continue
        chains = [
            largest_bfv_chain(ring_degree, plain_modulus, limbs, n, security_bits=security_bits, insecure=insecure)
            for n in ([0] if without_keys else range(1, min(limbs, MAX_SPECIAL) + 1))
        ]
        possible = (c for c in chains if c is not None and ChainShape(c).log2_q(limbs - 1) >= least_bits)
        smallest = next((chain for chain in sorted(possible, key=work) if keeps(chain)), None)
        if smallest is not None:
            return smallest
    return None


@lru_cache(maxsize=1024)
def _noise_of(chain: ModulusChain) -> ShapeNoiseModel:
    return ShapeNoiseModel(ChainShape(chain))


@lru_cache(maxsize=256)
def chain_for_depth(
    depth: int, ring_degree: int, plain_modulus: int, *, security_bits: int = 128, insecure: bool = False
) -> ModulusChain | None:
    """Return the cheapest chain of a ring for `depth` products in a row, each followed by a rotation and a few sums."""
    least_bits = least_product_bits(depth, ring_degree, plain_modulus)
    return smallest_chain(
        ring_degree, plain_modulus, lambda chain: _noise_of(chain).supports(depth),
        lambda chain: sum(chain_transforms(chain).values()), least_bits=least_bits, security_bits=security_bits,
        insecure=insecure,
    )  # fmt: skip


def chain_transforms(chain: ModulusChain) -> dict[str, int]:
    """NTTs (forward and inverse, each of one prime) that operations at the top level take."""
    extra = len(extension_primes(chain, chain.main.top))
    return transform_counts(len(chain.primes), extra, len(chain.special), len(chain.digits))


def transform_counts(limbs: int, extra: int, special: int, digits: int) -> dict[str, int]:
    """NTTs of the operations on `limbs` primes of Q, with as many extension primes, special primes and digits."""
    switch = digits * (limbs + special) + 2 * special + 2 * limbs
    return {"mul": 7 * limbs + 7 * extra + switch, "square": 5 * limbs + 7 * extra + switch, "rotate": switch}


def prime_bits(ring_degree: int, limbs: int, special: int, limit: int | None) -> tuple[float, float] | None:
    """Bits of each prime of Q and of P, as many as `limit` bits in all allow; None if primes would be scarce."""
    q_bits = float(MAX_PRIME_BITS)
    if limit is not None:
        q_bits = min(q_bits, max((limit - special * SWITCH_BITS) / (limbs + special), (limit - special * 49.0) / limbs))
    if q_bits < (2 * ring_degree).bit_length() + 6:
        return None
    return q_bits, min(float(MAX_PRIME_BITS), q_bits + SWITCH_BITS)


class ChainShape:
    """A chain's parameters, as the noise model asks for them."""

    def __init__(self, chain: ModulusChain) -> None:
        self.chain = chain
        self.ring_degree, self.plain_modulus = chain.ring_degree, chain.plain_modulus
        self.levels = chain.main.top
        self.secret_variance, self.secret_sum = secret_variance(chain), secret_sum(chain)

    def log2_p(self, level: int) -> float:
        """Return the bits of the special primes of a key switch at a level."""
        return add_up(log2(p) for p in self.chain.special_at(level))

    @cached_property
    def log2_special(self) -> float:
        """The bits that public-key encryption divides by."""
        return log2(self.chain.encryption_divisor)

    def log2_q(self, level: int) -> float:
        """Return log2 of the modulus of a level."""
        return add_up(log2(p) for p in self.chain.primes[: level + 1])

    def log2_extension(self, level: int) -> float:
        """Return log2 of the basis B of a level."""
        return add_up(log2(p) for p in extension_primes(self.chain, level))

    def digit_bits(self, level: int) -> tuple[float, ...]:
        """Return the bits of the digits of a key switch at a level."""
        digits = digits_at(self.chain, level)
        return tuple(add_up(log2(p) for p in self.chain.limb_primes(digit)) for digit in digits)


def extension_primes(chain: ModulusChain, level: int) -> tuple[int, ...]:
    """Return the primes of the auxiliary basis that products at a level are computed in."""
    return tuple(int(p) for p in core_parameters(chain).extension_primes((0, level)))


def equal_digits(q: Sequence[int], limit_bits: float) -> tuple[tuple[int, ...], ...]:
    """The primes cut into as few digits of equal length as stay below 2^limit_bits; single ones if none do."""
    for size in range(len(q), 1, -1):
        digits = [tuple(range(i, min(i + size, len(q)))) for i in range(0, len(q), size)]
        if all(add_up(log2(q[limb]) for limb in digit) <= limit_bits for digit in digits):
            return tuple(digits)
    return tuple((i,) for i in range(len(q)))


def plain_prime(ring_degree: int, plain_bits: float | None, plain_modulus: int | None) -> int:
    """The plaintext modulus asked for: itself, or the largest prime below 2^plain_bits that allows batching.

    raises  RangeError if not exactly one of the two is given, or there is no such prime
    """
    if (plain_bits is None) == (plain_modulus is None):
        raise RangeError("Parameters: give one of plain_bits and plain_modulus")
    if plain_modulus is not None:
        return _batching_prime(ring_degree, plain_modulus)
    assert plain_bits is not None
    two_n = 2 * ring_degree
    prime = _largest_prime(two_n, plain_bits) if MIN_PLAIN_BITS <= plain_bits <= MAX_PRIME_BITS else None
    if prime is not None:
        return prime
    sizes = [bits for bits in range(MIN_PLAIN_BITS, MAX_PRIME_BITS + 1) if _largest_prime(two_n, bits) is not None]
    least = next(bits for bits in sizes if sizes[-1] - bits < len(sizes[sizes.index(bits) :]))
    single = "".join(f"{bits}, " for bits in sizes if bits < least)
    raise RangeError(
        f"Parameters: there is no plaintext modulus of {write_value(plain_bits)} bits: a prime that is 1 modulo 2N = "
        f"{two_n}; plain_bits may be {single}{least} to {sizes[-1]}, or give a plain_modulus"
    )


def any_modulus(plain_bits: int | None, plain_modulus: int | None) -> int:
    """A plaintext modulus without slots; RangeError unless it is given and below 2^60."""
    if plain_modulus is None or plain_bits is not None:
        raise RangeError(
            "Parameters: with batching=False give plain_modulus, a whole number from 2 to 2^60, not plain_bits"
        )
    if not 2 <= plain_modulus <= 1 << MAX_MODULUS_BITS:
        raise RangeError(
            f"Parameters: plain_modulus={write_value(plain_modulus)}; with batching=False 2 to 2^60 are possible"
        )
    return plain_modulus


def _largest_prime(two_n: int, bits: float) -> int | None:
    """Return the largest prime below 2^bits, of no bit less, that is 1 modulo two_n, or None."""
    for candidate in range(int(2**bits - 1) // two_n * two_n + 1, int(2 ** (bits - 1)), -two_n):
        if candidate < 2**bits and _core.primes_near(candidate, two_n, 1)[0] == candidate:
            return candidate
    return None


def _batching_prime(ring_degree: int, modulus: int) -> int:
    """The plaintext modulus; RangeError, naming ones that would do, unless it is a prime that is 1 modulo 2N."""
    two_n = 2 * ring_degree
    if two_n < modulus < 1 << MAX_PRIME_BITS and _core.primes_near(modulus, two_n, 1)[0] == modulus:
        return modulus
    near = _core.primes_near(min(max(modulus, two_n + 1), 1 << MAX_PRIME_BITS), two_n, 2)
    raise RangeError(
        f"Parameters: plain_modulus={write_value(modulus)} is not a prime that is 1 modulo 2N = {two_n} and below "
        f"2^{MAX_PRIME_BITS}; {' and '.join(str(int(p)) for p in near)} are the nearest"
    )
