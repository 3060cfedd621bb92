"""Sums and products of numbers of a circuit of which some may be public, and the modulus and prices they have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import inf

from latticework.frontend.recording import circuit_values as values
from latticework.frontend.recording.circuit_values import Number
from latticework.lazy_dataclass import dataclass

Operand = Number | int  # of which a whole number is public
Price = tuple[float, float]


@dataclass(frozen=True)
class Arithmetic:
    """The arithmetic modulo a prime that a circuit on integers is computed with.

    modulus  the prime t
    price    (products in a row, products) -> what is smaller where a program is cheaper; (inf, inf) where no ring has
             room for so many in a row
    where    what has room for them, as messages call it
    """

    modulus: int
    price: Callable[[int, int], Price]
    where: str = "the largest ring"

    @cached_property
    def most_products(self) -> int:
        """Products in a row that there is room for."""
        high = 1
        while self.price(high, 1)[0] < inf:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.price(middle, 1)[0] < inf else (low, middle)
        return low


def plus(a: Operand, b: Operand) -> Operand:
    """a + b."""
    return a + b if isinstance(a, int) and isinstance(b, int) else values.add(a, b)


def minus(a: Operand, b: Operand) -> Operand:
    """a - b."""
    return a - b if isinstance(a, int) and isinstance(b, int) else values.sub(a, b)


def times(a: Operand, b: Operand) -> Operand:
    """a * b."""
    return a * b if isinstance(a, int) and isinstance(b, int) else values.mul(a, b)


def inverse(bit: Operand) -> Operand:
    """1 - bit."""
    return minus(1, bit)


def total(terms: list[Operand]) -> Operand:
    """The sum of them all."""
    found: Operand = 0
    for term in terms:
        found = plus(found, term)
    return found


def product(factors: list[Operand]) -> Operand:
    """The product of them all, as shallow as it can be where all are as deep."""
    while len(factors) > 1:
        pairs = [times(a, b) for a, b in zip(factors[::2], factors[1::2], strict=False)]
        factors = pairs + factors[2 * len(pairs) :]
    return factors[0] if factors else 1


def within(number: Operand, low: float, high: float) -> Operand:
    """The same number, which is known to lie between these."""
    if isinstance(number, Number):
        number._tracer.facts.narrow(number._tracer.value_of(number), low, high)
    return number


def standing_for(number: Operand, low: float, high: float) -> Operand:
    """The same residue, for a number between these."""
    return number._tracer.standing_for(number, low, high) if isinstance(number, Number) else number


def range_of(number: Operand) -> tuple[float, float]:
    """Return the bounds of a number, for all inputs that clients accept."""
    if isinstance(number, int):
        return number, number
    return number._tracer.facts[number._tracer.value_of(number)].accepted


def depth_of(*numbers: Operand) -> int:
    """Products in a row that the deepest of them takes."""
    return max(
        (n._tracer.facts[n._tracer.value_of(n)].depth for n in numbers if isinstance(n, Number)),
        default=0,
    )
