"""Primes that an expert states one by one, checked before a chain is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Any

from latticework.errors import LevelError, PrecisionError, RangeError
from latticework.errors.rounded_numbers import over
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.modulus_chain import ModulusChain
from latticework.plan.parameters.select import MAX_PRIME_BITS
from latticework.values.extension import _core
from latticework.values.sums import add_up

MAX_INSECURE_PRIME_BITS = 60  # of the reference backend; others take no more than 49

Group = tuple[int, ...]


@dataclass(frozen=True)
class PrimeRequest:
    """The wishes of an expert for the primes of a chain: sizes, or the primes themselves.

    q_bits, primes                sizes of the primes of the levels, lowest first; or these themselves
    p_bits, num_special, special  sizes of the special primes; or how many of 49 bits, 0 for a set without evaluation
                                  keys; or these themselves
    """

    q_bits: Any = None
    primes: Any = None
    p_bits: Any = None
    num_special: Any = None
    special: Any = None


@dataclass(frozen=True)
class StatedPrimes:
    """The primes of levels and the special primes that were stated; None where others choose them."""

    groups: tuple[Group, ...] | None
    special: Group | None

    @property
    def all(self) -> Group:
        """Every one."""
        return tuple(prime for group in self.groups or () for prime in group) + (self.special or ())

    @property
    def least_special(self) -> int:
        """The least number of special primes of 49 bits that leaves room for a digit of one prime."""
        return -(-max((prime.bit_length() - 1 for prime in self.all), default=1) // MAX_PRIME_BITS)


NONE_STATED = StatedPrimes(None, None)


def state_primes(ring_degree: int, asked: PrimeRequest, *, insecure: bool) -> StatedPrimes:
    """The primes that are stated.

    raises  RangeError where sizes are given too, or neither sizes nor primes of the modulus; and as `stated_groups`
    """
    if (asked.q_bits is None) == (asked.primes is None):
        raise RangeError("Parameters: give one of q_bits, sizes of primes, and primes, these themselves")
    if asked.special is not None and (asked.p_bits is not None or asked.num_special is not None):
        raise RangeError("Parameters: give special, or p_bits or num_special, not both")
    special, groups = None, None
    if asked.special is not None:
        special = stated_special(asked.special, ring_degree, insecure=insecure)
    if asked.primes is not None:
        groups = stated_groups(asked.primes, special, ring_degree, insecure=insecure)
    return StatedPrimes(groups, special)


def check_keyless(asked: PrimeRequest, num_digits: Any) -> None:
    """LevelError for special primes that are stated to be none without saying so, RangeError for digits of none."""
    if asked.p_bits is not None and len(asked.p_bits) == 0:
        raise LevelError(
            "Parameters: p_bits has no prime; give one or more, or num_special=0 in its place, for parameters without "
            "evaluation keys"
        )
    if asked.num_special == 0 and num_digits is not None:
        raise RangeError(
            f"Parameters: num_digits={num_digits!r:.60} with num_special=0, which leaves no evaluation keys to have "
            "digits; leave one out"
        )


def stated_groups(primes: Any, special: Any, ring_degree: int, *, insecure: bool) -> tuple[Group, ...]:
    """The primes of each level, lowest first: one, or two of a tuple.

    special  the special primes, among which none of them may be; None where others choose these
    raises   RangeError for what is no prime, not 1 modulo 2N, too large, or there twice
    """
    listed = hasattr(primes, "__iter__") and not isinstance(primes, str | bytes | dict)
    groups = [tuple(entry) if isinstance(entry, tuple | list) else (entry,) for entry in primes] if listed else []
    if not groups or not all(1 <= len(group) <= 2 for group in groups):
        raise RangeError(f"Parameters: primes={primes!r:.60}; give a list of primes, or of tuples of two, lowest first")
    _check("primes", [prime for group in groups for prime in group], special or (), ring_degree, insecure)
    return tuple(groups)


def stated_special(special: Any, ring_degree: int, *, insecure: bool) -> Group:
    """The special primes; errors as of `stated_groups`."""
    listed = hasattr(special, "__iter__") and not isinstance(special, str | bytes | dict)
    if not listed or not list(special):
        raise RangeError(f"Parameters: special={special!r:.60}; give a list of special primes, at least one")
    _check("special", list(special), (), ring_degree, insecure)
    return tuple(special)


def _check(name: str, primes: Sequence[Any], others: Sequence[int], ring_degree: int, insecure: bool) -> None:
    two_n, most = 2 * ring_degree, MAX_INSECURE_PRIME_BITS if insecure else MAX_PRIME_BITS
    for place, prime in enumerate(primes):
        who = f"Parameters: {name} has {prime!r:.60}"
        if type(prime) is not int:
            raise RangeError(f"{who}, a {type(prime).__name__}; give whole numbers")
        if prime.bit_length() > most:
            more = "" if insecure else f" (up to {MAX_INSECURE_PRIME_BITS} with insecure=True, on backend 'ref')"
            raise RangeError(f"{who}, of {prime.bit_length()} bits; primes have at most {most}{more}")
        if prime < 2 or prime % two_n != 1 or not _core.is_prime(prime):
            near = ", ".join(str(p) for p in _core.primes_near(float(max(prime, two_n + 1)), two_n, 3))
            raise RangeError(f"{who}, which is no prime that is 1 modulo 2N = {two_n}; near it are {near}")
        if prime in primes[:place] or prime in others:
            raise RangeError(f"{who} twice, or among the special primes too; all have to be different")


def check_digits(chain: ModulusChain) -> ModulusChain:
    """The chain, marked as insecure where primes are larger than secure parameters have.

    raises  PrecisionError where a digit is larger than the product of the special primes
    """
    log2_p = add_up(log2(p) for p in chain.special)
    largest = max((add_up(log2(chain.primes[limb]) for limb in digit) for digit in chain.digits), default=0.0)
    if largest > log2_p + 1:
        raise PrecisionError(
            f"Parameters: the largest digit of key switching has {over(largest, log2_p)} bits, the special primes have "
            f"{log2_p:.1f} in all, and key switching would drown the values in noise; state larger or more special "
            "primes, or more digits"
        )
    is_large = any(prime.bit_length() > MAX_PRIME_BITS for prime in chain.primes + chain.special)
    return replace(chain, insecure=True) if is_large else chain
