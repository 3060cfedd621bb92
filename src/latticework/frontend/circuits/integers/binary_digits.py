"""Arithmetic of binary digits: encrypted or public 0s and 1s as numbers modulo t.

A number is its n digits, that of the units first, and a sign, with which it goes on for ever as Python's whole numbers
do (two's complement): sum(2^i digits[i]) - 2^n sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from latticework.frontend.circuits.integers.integer_arithmetic import (
    Operand,
    inverse,
    minus,
    plus,
    product,
    times,
    total,
    within,
)
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class BinaryDigits:
    """A whole number, digit by digit.

    digits  0 or 1, encrypted or not, that of the units first
    sign    the digit with which it goes on: 1 of a negative number
    """

    digits: tuple[Operand, ...]
    sign: Operand = 0

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Digits and sign."""
        return (*self.digits, self.sign)

    @property
    def width(self) -> int:
        """Number of digits, with the sign where there is one."""
        return len(self.digits) + (self.sign != 0 if isinstance(self.sign, int) else 1)

    def number(self) -> Operand:
        """The number itself."""
        terms = [times(digit, 1 << i) for i, digit in enumerate(self.digits)]
        return minus(total(terms), times(self.sign, 1 << len(self.digits)))

    def shift(self, steps: int) -> BinaryDigits:
        """Times 2^steps, or divided by 2^-steps and rounded down."""
        if steps >= 0:
            return BinaryDigits((0,) * steps + self.digits, self.sign)
        return BinaryDigits(self.digits[-steps:], self.sign)

    def low(self, count: int) -> BinaryDigits:
        """Modulo 2^count."""
        return BinaryDigits(tuple((self.digits + (self.sign,) * count)[:count]))

    def invert(self) -> BinaryDigits:
        """~x, which is -x - 1."""
        return BinaryDigits(tuple(map(inverse, self.digits)), inverse(self.sign))


def digits_of(number: int) -> BinaryDigits:
    """Return the binary digits of a public number."""
    sign = int(number < 0)
    return BinaryDigits(tuple((number >> i) & 1 for i in range((~number if sign else number).bit_length())), sign)


def both(a: Operand, b: Operand) -> Operand:
    """a and b."""
    return within(times(a, b), 0, 1)


def either(a: Operand, b: Operand) -> Operand:
    """a or b."""
    return within(minus(plus(a, b), times(a, b)), 0, 1)


def differ(a: Operand, b: Operand) -> Operand:
    """a xor b: for bits the square of the difference."""
    if isinstance(b, int):
        a, b = b, a
    if isinstance(a, int):
        return inverse(b) if a else b
    difference = minus(a, b)
    return within(times(difference, difference), 0, 1)


def choose(bit: Operand, if_one: Operand, if_zero: Operand) -> Operand:
    """One of two digits."""
    return within(plus(if_zero, times(bit, minus(if_one, if_zero))), 0, 1)


def digitwise(function: Callable[[Operand, Operand], Operand], a: BinaryDigits, b: BinaryDigits) -> BinaryDigits:
    """A function of two digits, of all digits of two numbers."""
    return BinaryDigits(tuple(function(x, y) for x, y in _align(a, b)), function(a.sign, b.sign))


def _align(a: BinaryDigits, b: BinaryDigits) -> list[tuple[Operand, Operand]]:
    """Digits of the same weight, as far as one of the two has any."""
    pairs = zip_longest(a.digits, b.digits, fillvalue=None)
    return [(a.sign if x is None else x, b.sign if y is None else y) for x, y in pairs]


def equal(a: BinaryDigits, b: BinaryDigits) -> Operand:
    """Whether two numbers are equal: all their digits are, a tree of products."""
    pairs = [*_align(a, b), (a.sign, b.sign)]
    return within(product([inverse(differ(x, y)) for x, y in pairs]), 0, 1)


def less(a: BinaryDigits, b: BinaryDigits) -> Operand:
    """Whether a < b, by a tree in which each half says whether it is less and whether it is equal.

    The sign is the first digit that differs, and there 1 is the smaller one.
    """
    return _less([*_align(a, b), (b.sign, a.sign)], needs_equal=False)[0]


def _less(pairs: Sequence[tuple[Operand, Operand]], *, needs_equal: bool) -> tuple[Operand, Operand]:
    """Whether the first of two numbers is less than the second one, and whether they are equal if that is needed."""
    if len(pairs) == 1:
        a, b = pairs[0]
        common = times(a, b)
        same = plus(minus(1, plus(a, b)), times(common, 2)) if needs_equal else 0
        return within(minus(b, common), 0, 1), within(same, 0, 1)
    half = 1 << ((len(pairs) - 1).bit_length() - 1)
    low = _less(pairs[:half], needs_equal=needs_equal)
    high = _less(pairs[half:], needs_equal=True)
    is_less = within(plus(high[0], times(high[1], low[0])), 0, 1)
    return is_less, within(times(high[1], low[1]), 0, 1) if needs_equal else 0
