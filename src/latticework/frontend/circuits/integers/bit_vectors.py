"""Words: numbers of a circuit whose binary digits are encrypted one by one."""

from __future__ import annotations

from collections.abc import Callable

from latticework.frontend.circuits.integers.binary_digits import BinaryDigits, digits_of
from latticework.frontend.circuits.integers.integer_arithmetic import Operand, range_of
from latticework.frontend.recording.circuit_values import CircuitTracer, Number
from latticework.ir.core import Value


class Word(Number):
    """A number with its digits: both are computed when something first reads them.

    digits  made when they are first asked for
    number  how the number itself is got where its digits are not needed otherwise; None: it is the sum of its digits
    """

    __slots__ = ("_digits", "_make_digits", "_make_number", "_sum")

    def __init__(
        self, tracer: CircuitTracer, digits: Callable[[], BinaryDigits], number: Callable[[], Operand] | None = None
    ) -> None:
        self._tracer = tracer
        self._make_digits = digits
        self._make_number = number
        self._digits: BinaryDigits | None = None
        self._sum: Value | None = None

    @property
    def digits(self) -> BinaryDigits:
        """Its digits."""
        if self._digits is None:
            self._digits = self._make_digits()
        return self._digits

    @property
    def _value(self) -> Value:  # type: ignore[override]
        if self._sum is None:
            is_direct = self._make_number is not None and self._digits is None
            number = self._make_number() if is_direct and self._make_number is not None else self.digits.number()
            self._sum = self._tracer.lift(number)
        return self._sum


def word(tracer: CircuitTracer, digits: BinaryDigits) -> Operand:
    """The number that has these digits: a public one, a single digit, or a word."""
    kept = list(digits.digits)
    while kept and kept[-1] is digits.sign:
        kept.pop()  # it goes on like that by itself
    if all(isinstance(d, int) for d in (*kept, digits.sign)):
        number = BinaryDigits(tuple(kept), digits.sign).number()
        assert isinstance(number, int)
        return number
    if len(kept) == 1 and digits.sign == 0 and isinstance(digits.sign, int):
        return kept[0]
    found = BinaryDigits(tuple(kept), digits.sign)
    return Word(tracer, lambda: found)


def known_digits(number: Operand) -> BinaryDigits | None:
    """The digits of a public number, of a word, or of a number that is 0 or 1; None of others."""
    if isinstance(number, int):
        return digits_of(number)
    if isinstance(number, Word):
        return number.digits
    low, high = range_of(number)
    return BinaryDigits((number,)) if low >= 0 and high <= 1 else None
