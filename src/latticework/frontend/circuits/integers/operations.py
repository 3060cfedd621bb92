"""Comparisons, remainders and operations on bits, each the cheapest of the ways that there are.

digits  of words, of public numbers and of what is 0 or 1: a tree of products over the digits
tables  over the values that a number, or the difference of two, can take, where these are few
Fermat  x^(t-1) is 1 but for x = 0, modulo a prime t

So far for whole numbers modulo t. Real numbers would have a way more, and no other place in the front end would change.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from latticework.errors import LevelError, RangeError, TraceError
from latticework.errors.remedies import REMEDIES
from latticework.errors.rounded_numbers import large
from latticework.frontend.circuits.integers import binary_digits as bitwise
from latticework.frontend.circuits.integers.binary_digits import BinaryDigits
from latticework.frontend.circuits.integers.bit_vectors import Word, known_digits, word
from latticework.frontend.circuits.integers.integer_arithmetic import (
    Arithmetic,
    Operand,
    depth_of,
    inverse,
    minus,
    plus,
    product,
    range_of,
    standing_for,
    times,
    total,
    within,
)
from latticework.frontend.circuits.integers.tables import (
    MAX_DEGREE,
    depth_of_degree,
    evaluate,
    interpolate,
    power,
    products_of_degree,
)
from latticework.frontend.recording.circuit_values import CircuitTracer, Number
from latticework.ir.lines import user_loc
from latticework.lazy_dataclass import dataclass

_BITWISE: dict[str, Callable[[Operand, Operand], Operand]] = {
    "&": bitwise.both, "|": bitwise.either, "^": bitwise.differ,
}  # fmt: skip
_PUBLIC: dict[str, Callable[[int, int], int]] = {
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "%": lambda a, b: a % b,
    "//": lambda a, b: a // b,
}  # fmt: skip
_NARROWER = (
    "declare narrower ranges of the inputs (low=, high=), or take them as lw.bits(n), which are encrypted in digits"
)


@dataclass(frozen=True)
class IntegerWay:
    """One way to compute something.

    depth, products  in a row to the result, and encrypted ones in all
    """

    depth: int
    products: int
    make: Callable[[], Operand]


class IntegerOperators:
    """The operators of a tracer's numbers beyond + - *."""

    def __init__(self, tracer: CircuitTracer, arithmetic: Arithmetic) -> None:
        self._tracer = tracer
        self._arithmetic = arithmetic

    def apply(self, symbol: str, a: Operand, b: Operand) -> Operand:
        """a symbol b, of which one at least is encrypted.

        raises  TraceError or RangeError for what is not possible, or absurd; LevelError for more products in a row than
                any ring has room for
        """
        match symbol:
            case "==":
                return self.equal(a, b)
            case "!=":
                return inverse(self.equal(a, b))
            case "<":
                return self.less(a, b)
            case ">":
                return self.less(b, a)
            case "<=":
                return inverse(self.less(b, a))
            case ">=":
                return inverse(self.less(a, b))
            case "&" | "|" | "^":
                return self._of_bits(symbol, a, b)
            case "<<" | ">>":
                return self._shift(symbol, a, b)
        return self._divide(symbol, a, b)

    # -- comparisons -------------------------------------------------------------------------

    def equal(self, a: Operand, b: Operand) -> Operand:
        """1 where a == b, else 0."""
        low, high = self._difference(a, b)
        if low > 0 or high < 0 or (low, high) == (0, 0):
            return int((low, high) == (0, 0))
        ways = self._by_digits(bitwise.equal, a, b)
        modulus = self._arithmetic.modulus
        most = max(-low, high)
        below = depth_of(a, b)
        power_way: list[IntegerWay] = []
        if high - low <= MAX_DEGREE and high - low < modulus and most + 2 > high - low:
            ways.append(self._table(minus(a, b), low, high, lambda d: int(d == 0)))
        elif most <= MAX_DEGREE and 2 * most < modulus:
            degree = int(most)

            def even() -> Operand:
                difference = minus(a, b)
                squares = tuple(d * d for d in range(degree + 1))
                values = (1, *(0,) * degree)
                return self._modular(evaluate(times(difference, difference), interpolate(squares, values, modulus)))

            ways.append(IntegerWay(below + 1 + depth_of_degree(degree), 1 + products_of_degree(degree), even))
        if most < modulus:
            bits = (modulus - 2).bit_length()
            count = bits + (modulus - 1).bit_count() - 1
            power_way.append(
                IntegerWay(below + bits, count, lambda: self._modular(inverse(power(minus(a, b), modulus - 1))))
            )
        found = self._cheapest([*ways, *power_way])
        if found is None:
            self._refuse_depth("==", ways, a, b)
            bits = (modulus - 2).bit_length()
            raise self._refuse(
                "==", low, high,
                f"; and difference ** {modulus - 1} takes {bits} products in a row, for which no ring has room here",
            )  # fmt: skip
        return found

    def less(self, a: Operand, b: Operand) -> Operand:
        """1 where a < b, else 0."""
        low, high = self._difference(a, b)
        if high < 0 or low >= 0:
            return int(high < 0)
        ways = self._by_digits(bitwise.less, a, b)
        modulus = self._arithmetic.modulus
        half = max(high, -low - 1)  # 2 d + 1 is odd, and between -(2 half + 1) and 2 half + 1
        if high - low <= MAX_DEGREE and high - low < modulus:
            ways.append(self._table(minus(a, b), low, high, lambda d: int(d < 0)))
        if half <= MAX_DEGREE and 4 * half + 2 < modulus:
            count = int(half) + 1

            def odd() -> Operand:
                """(1 - s) / 2, with the sign s = x q(x^2) of an odd number x, where q(x^2) = 1 / |x|."""
                x = plus(times(minus(a, b), 2), 1)
                numbers = [2 * i + 1 for i in range(count)]
                values = tuple(pow(-2 * n, -1, modulus) for n in numbers)
                quotient = interpolate(tuple(n * n for n in numbers), values, modulus)
                return self._modular(plus(times(x, evaluate(times(x, x), quotient)), (modulus + 1) // 2))

            depth = depth_of(a, b) + 2 + depth_of_degree(count - 1)
            ways.append(IntegerWay(depth, 2 + products_of_degree(count - 1), odd))
        found = self._cheapest(ways)
        if found is None:
            self._refuse_depth("<", ways, a, b)
            raise self._refuse("<", low, high)
        return found

    def contains(self, values: list[Operand], x: Operand) -> Operand:
        """1 where x is one of some numbers, else 0."""
        modulus = self._arithmetic.modulus
        ranges = [self._difference(x, v) for v in values]
        bits = (modulus - 2).bit_length()
        is_small = all(-modulus < low and high < modulus for low, high in ranges)
        digits = [known_digits(n) for n in (x, *values)]
        if is_small and len(values) > 1 and any(d is None for d in digits):
            count = len(values) - 1 + bits + (modulus - 1).bit_count() - 1
            depth = depth_of(x, *values) + (len(values) - 1).bit_length() + bits

            def at_once() -> Operand:
                return self._modular(inverse(power(product([minus(x, v) for v in values]), modulus - 1)))

            apart = self._equality_price(ranges, depth_of(x, *values))
            if self._arithmetic.price(depth, count) < apart:
                return at_once()
        found = [self.equal(x, v) for v in values]
        if len({v for v in values if isinstance(v, int)}) == len(values):
            return within(total(found), 0, 1)  # of different numbers it is at most one
        return within(inverse(product([inverse(f) for f in found])), 0, 1)

    def _equality_price(self, ranges: list[tuple[float, float]], below: int) -> tuple[float, float]:
        """Return the price of one equality by table for each range, below `below` products."""
        degrees = [min(high - low, max(-low, high)) for low, high in ranges]
        if max(degrees) > MAX_DEGREE:
            return inf, inf
        depth = below + 1 + depth_of_degree(int(max(degrees)))
        return self._arithmetic.price(depth, sum(1 + products_of_degree(int(d)) for d in degrees))

    def _difference(self, a: Operand, b: Operand) -> tuple[float, float]:
        """Return the bounds of a - b; nothing is computed."""
        if a is b:
            return 0, 0
        (low, high), (least, most) = self._range(a), self._range(b)
        return low - most, high - least

    def _range(self, number: Operand) -> tuple[float, float]:
        """Return the bounds of a number; of a word by its number of digits, without adding them up."""
        if not isinstance(number, Word):
            return range_of(number)
        digits = number.digits
        weight = 1 << len(digits.digits)
        return (0 if isinstance(digits.sign, int) and not digits.sign else -weight), weight - 1

    def _by_digits(
        self, function: Callable[[BinaryDigits, BinaryDigits], Operand], a: Operand, b: Operand
    ) -> list[IntegerWay]:
        one, other = known_digits(a), known_digits(b)
        if one is None or other is None:
            return []
        width = max(one.width, other.width, 1)
        depth = depth_of(*one.operands, *other.operands) + 1 + (width - 1).bit_length()
        return [IntegerWay(depth, 3 * width - 2, lambda: function(one, other))]

    # -- tables ------------------------------------------------------------------------------

    def _table(self, x: Operand, low: float, high: float, function: Callable[[int], int]) -> IntegerWay:
        """A function of a number between low and high, of which there are few."""
        points = tuple(range(int(low), int(high) + 1))
        degree = len(points) - 1

        def make() -> Operand:
            values = tuple(function(point) for point in points)
            coefficients = interpolate(points, values, self._arithmetic.modulus)
            self._tracer.is_modular = True
            return standing_for(evaluate(x, coefficients), min(values), max(values))

        return IntegerWay(depth_of(x) + depth_of_degree(degree), products_of_degree(degree), make)

    def table(self, what: str, x: Operand, function: Callable[[int], int]) -> Operand:
        """Any function of a number that takes few values.

        raises  RangeError if it takes many; LevelError if no ring has room for the products in a row
        """
        if isinstance(x, int):
            return function(x)
        low, high = range_of(x)
        if not high - low <= MAX_DEGREE or high - low >= self._arithmetic.modulus:
            raise self._many(what, low, high)
        values = [function(point) for point in range(int(low), int(high) + 1)]
        largest = max(values, key=abs)
        if abs(largest) > self._arithmetic.modulus // 2:  # another number has its residue
            raise RangeError(
                f"{what} gives {large(largest)}, and integers modulo {self._arithmetic.modulus} hold "
                f"{-(self._arithmetic.modulus // 2)} to {self._arithmetic.modulus // 2}: compile with "
                f"plain_bits={abs(largest).bit_length() + 2}, or {REMEDIES['range'].outside}",
                at=user_loc(),
            )
        way = self._table(x, low, high, function)
        found = self._cheapest([way])
        if found is None:
            self._refuse_depth(what, [way], x)
            raise self._many(what, low, high)
        return found

    def _many(self, what: str, low: float, high: float) -> RangeError:
        return RangeError(
            f"{what} of a number that lies between {large(low)} and {large(high)}: a table has at most "
            f"{MAX_DEGREE + 1} values; {_NARROWER}",
            at=user_loc(),
        )

    # -- bits --------------------------------------------------------------------------------

    def digits(self, what: str, x: Operand) -> BinaryDigits:
        """The digits of a number: its own, or by tables where it takes few values."""
        found = known_digits(x)
        if found is not None:
            return found
        low, high = range_of(x)
        if not high - low <= MAX_DEGREE:
            raise self._many(what, low, high)
        width = max(int(high), ~int(low), 0).bit_length()
        made = tuple(self.table(what, x, lambda v, i=i: (v >> i) & 1) for i in range(width))  # type: ignore[misc]
        return BinaryDigits(made, self.table(what, x, lambda v: int(v < 0)) if low < 0 else 0)

    def _of_bits(self, symbol: str, a: Operand, b: Operand) -> Operand:
        for one, other in ((a, b), (b, a)):
            if isinstance(one, int) and known_digits(other) is None:
                return self.table(f"{symbol} {one}", other, lambda v, c=one: _PUBLIC[symbol](v, c))  # type: ignore[misc]
        one_of, other_of = self.digits(symbol, a), self.digits(symbol, b)
        return word(self._tracer, bitwise.digitwise(_BITWISE[symbol], one_of, other_of))

    def invert(self, a: Number) -> Operand:
        """~a."""
        if isinstance(a, Word):
            return word(self._tracer, a.digits.invert())
        return minus(-1, a)

    def bit_count(self, a: Number) -> Operand:
        """Count the binary digits of |a| that are 1."""
        found = known_digits(a)
        if found is not None and isinstance(found.sign, int) and not found.sign:
            return total(list(found.digits))
        return self.table("bit_count()", a, int.bit_count)

    def absolute(self, a: Number) -> Operand:
        """|a|."""
        low, high = self._range(a)
        if low >= 0:
            return a
        size = max(-low, high)
        found = minus(a, times(times(self.less(a, 0), a), 2))
        return within(found, 0, int(size)) if size < inf else found

    def _shift(self, symbol: str, a: Operand, b: Operand) -> Operand:
        if isinstance(b, Number):
            raise TraceError(f"{symbol} by an encrypted number of steps; shift by a public one", at=user_loc())
        if b < 0 or b > 64:
            raise RangeError(f"{symbol} {large(b)}: give a number of steps from 0 to 64", at=user_loc())
        if isinstance(a, Word):
            return word(self._tracer, a.digits.shift(b if symbol == "<<" else -b))
        return times(a, 1 << b) if symbol == "<<" else self._divide("//", a, 1 << b)

    def _divide(self, symbol: str, a: Operand, b: Operand) -> Operand:
        """a % b or a // b by a public number."""
        if isinstance(b, Number):
            raise TraceError(
                f"{symbol} by an encrypted number; only public divisors are possible: turn the operation around, or "
                "have the owner of the result divide",
                at=user_loc(),
            )
        if b == 0:
            raise RangeError(f"{symbol} 0: an encrypted number is divided by 0", at=user_loc())
        steps = b.bit_length() - 1
        found = known_digits(a)
        if b == 1 << max(steps, 0) and found is not None:
            return word(self._tracer, found.low(steps) if symbol == "%" else found.shift(-steps))
        return self.table(f"{symbol} {b}", a, lambda v: _PUBLIC[symbol](v, b))

    # -- ways --------------------------------------------------------------------------------

    def _cheapest(self, ways: list[IntegerWay]) -> Operand | None:
        """Compute by the cheapest method; None if no ring holds any."""
        priced = [(self._arithmetic.price(way.depth, way.products), n) for n, way in enumerate(ways)]
        price, number = min(priced, default=((inf, inf), 0))
        return None if price[0] == inf else ways[number].make()

    def _modular(self, bit: Operand) -> Operand:
        """A 0 or 1 of which this is the residue."""
        self._tracer.is_modular = True
        return standing_for(bit, 0, 1)

    def _refuse_depth(self, what: str, ways: list[IntegerWay], *operands: Operand) -> None:
        """LevelError if there are ways, for which there are too many products in a row: what is before them counts."""
        if not ways:
            return
        depth, below = min(way.depth for way in ways), depth_of(*operands)
        before = f" after the {below} that its operand took: {depth} in all" if below else ""
        held, bits = self._arithmetic.most_products, self._arithmetic.modulus.bit_length()
        raise LevelError(
            f"{what} takes {depth - below} products in a row{before}; {self._arithmetic.where} has room for about "
            f"{held} with a plaintext modulus of {bits} bits: do fewer steps one after another, use a smaller "
            f"plain_bits, or {REMEDIES['depth'].circuit}",
            at=user_loc(),
        )

    def _refuse(self, symbol: str, low: float, high: float, rest: str = "") -> RangeError:
        return RangeError(
            f"{symbol} of numbers whose difference lies between {large(low)} and {large(high)}: a table has at most "
            f"{MAX_DEGREE + 1} values{rest}; {_NARROWER}",
            at=user_loc(),
        )
