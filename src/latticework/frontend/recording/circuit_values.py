"""Numbers of a circuit that is being traced, and the tracer that records what is done with them.

Equal computations are recorded once, what only public numbers go into is computed at once, and x * 0, x * 1, x + 0
and their like are simplified.
"""

from __future__ import annotations

import numbers
import operator
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np

from latticework.errors import DtypeError, RangeError, TraceError, UserError
from latticework.errors.escaping import plain_text
from latticework.errors.remedies import REMEDIES
from latticework.errors.rounded_numbers import write_value
from latticework.frontend.recording.facts import Facts
from latticework.frontend.recording.faults import Faults, MissingMethodError
from latticework.frontend.recording.unsupported import circuit_remedy
from latticework.ir.builder import Builder
from latticework.ir.core import OpSpec, Value
from latticework.ir.dialects import scalar_dialect
from latticework.ir.dialects.scalar_dialect import INTEGER
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc
from latticework.ir.module import Module
from latticework.plan.schema.circuit_schedule import ScalarCounts

MAX_OPERATIONS = 1_000_000
MAX_POWER = 1 << 10
MAX_INTEGER = 1 << 53  # of public numbers, which become float64
_REDUCE = "reduce it modulo the plaintext modulus first, or scale the values down"
Public = int | float
_COMMUTES = {"scalar.add", "scalar.mul"}
_COMPARE = (
    "an encrypted number cannot be compared, and has no %, // and bit operations, in a circuit on real numbers: "
    f"{REMEDIES['comparison'].circuit}"
)
_BRANCH = f"a branch on an encrypted number: {REMEDIES['branch'].for_circuits}"
_BRANCHING = {  # what asks for the truth of a number unseen, by what stands in the line, and what to write instead
    r"\b(min|max|sorted)\(": "min and max are lw.minimum and lw.maximum",
    r"\b(and|or|not|any|all)\b": "`a and b` is a & b, `a or b` is a | b, `not a` is 1 - a",
    r"\bin\b": "`x in values` is lw.isin(x, values)",
    r"[<>](?:(?!and|or|[&|<>,]).)+[<>]": "a < b < c is (a < b) & (b < c)",
}


class IntegerOperations(Protocol):
    """The comparisons and operations on bits that a tracer asks for."""

    def apply(self, symbol: str, a: Any, b: Any) -> Any:
        """a symbol b, of which one at least is encrypted."""

    def contains(self, values: list[Any], x: Any) -> Any:
        """1 where x is one of some numbers, else 0."""

    def table(self, what: str, x: Any, function: Callable[[int], int]) -> Any:
        """Any function of a number that takes few values."""

    def invert(self, a: Any) -> Any:
        """~a."""

    def bit_count(self, a: Any) -> Any:
        """Count the binary digits of |a| that are 1."""

    def absolute(self, a: Any) -> Any:
        """|a|."""


class CircuitTracer:
    """One run of a circuit's function that records instead of computing.

    dtype           "integer" (exact, any size) or "float64"
    share           whether equal computations are recorded once
    max_operations  more are refused: a loop without end
    operations      comparisons and operations on bits, where there are any
    facts           of integers: between what they lie, and how deep they are
    is_modular      whether something is right modulo t alone, and not as integers
    most_public     the largest public integer;  too_large  what to do about larger ones
    """

    def __init__(
        self, module: Module, name: str, dtype: str, *, share: bool = True, max_operations: int = MAX_OPERATIONS
    ) -> None:
        self.module = module
        self.name = name
        self.dtype = dtype
        self.active = True
        self._builder = Builder(module.body)
        self._made: dict[tuple[Any, ...], Value] = {}
        self._share = share
        self._room = self._limit = max_operations
        self._written: Counter[str] = Counter()
        self.faults = Faults(f"circuit {name}", circuit_remedy)
        self.operations: IntegerOperations | None = None
        self.facts = Facts()
        self.is_modular = False
        self.most_public, self.too_large = MAX_INTEGER, _REDUCE

    def checked_operations(self) -> IntegerOperations:
        """Comparisons and operations on bits.

        raises  TraceError where there are none: on real numbers
        """
        if self.operations is None:
            raise self.faults.note(TraceError(_COMPARE, at=user_loc()))
        return self.operations

    @property
    def written(self) -> ScalarCounts:
        """Operations on encrypted numbers as the function states them, equal ones each time."""
        n = self._written
        return ScalarCounts(
            n["scalar.mul"], n["scalar.add"] + n["scalar.sub"], n["scalar.neg"], n["public scalar.mul"],
            n["public scalar.add"] + n["public scalar.sub"],
        )  # fmt: skip

    def public(self, number: Any) -> Public:
        """A public operand as a Python number of the circuit's kind.

        raises  DtypeError for what is no number, or no integer in a circuit of integers
        """
        if isinstance(number, bool | np.bool_):
            return int(number) if self.dtype == INTEGER else float(number)
        if not isinstance(number, int | float | np.integer | np.floating):
            raise DtypeError(
                f"a {type(number).__name__} meets an encrypted number; circuits compute on whole and real numbers",
                at=user_loc(),
            )
        if isinstance(number, int | np.integer) and abs(int(number)) > self.most_public:
            most = self.most_public.bit_length() - 1
            raise RangeError(
                f"a public integer of {int(number).bit_length()} bits; at most 2^{most} is possible: {self.too_large}",
                at=user_loc(),
            )
        if not isinstance(number, int) and not np.isfinite(number):
            raise RangeError(f"a public operand is {number}; give finite numbers", at=user_loc())
        if self.dtype != INTEGER:
            return float(number)
        if int(number) != number:
            raise DtypeError(
                f"{number!r} is no integer, and BFV computes on integers modulo the plaintext modulus: scale it to a "
                'whole number (fixed point), or compile with scheme="ckks"',
                at=user_loc(),
            )
        return int(number)

    def value_of(self, number: Number) -> Value:
        """The value behind a number of this run."""
        if number._tracer is not self or not self.active:
            raise TraceError(
                f"a number of an earlier run of circuit {number._tracer.name} is used; such numbers live only while "
                "their circuit is traced: do not keep them in a global or an attribute",
                at=user_loc(),
            )
        return number._value

    def lift(self, operand: Number | Public) -> Value:
        """The value of a number, or of a public one as a constant."""
        if isinstance(operand, Number):
            return self.value_of(operand)
        return self._emit(scalar_dialect.CONSTANT, [], user_loc(), value=operand)

    def emit(self, spec: OpSpec, *operands: Number | Public) -> Number:
        """Record an operation at the user's line, unless the same has been recorded."""
        self._room -= 1
        if self._room < 0:
            raise TraceError(
                f"circuit {self.name} has more than {self._limit:,} operations here; a loop without end? Circuits are "
                "unrolled, so every loop needs a bound that is small enough",
                at=user_loc(),
            )
        is_public = not all(isinstance(x, Number) for x in operands)
        self._written[f"public {spec.name}" if is_public else spec.name] += 1
        return Number(self, self._emit(spec, [self.lift(x) for x in operands], user_loc()))

    def standing_for(self, number: Number, low: float, high: float) -> Number:
        """The same residue for a number between these, apart from equal computations: they may mean another number."""
        value = self.value_of(number)
        key = ("standing for", id(value), low, high)
        if key not in self._made:
            operands = [value, self.lift(0)]
            self._made[key] = made = self._builder.create(scalar_dialect.ADD, operands, {}, loc=user_loc()).result
            self.facts.record_result(made, scalar_dialect.ADD, operands)
            self.facts.mean(made, low, high)
        return Number(self, self._made[key])

    def _emit(self, spec: OpSpec, operands: list[Value], loc: Loc, **attrs: Any) -> Value:
        ids = [id(value) for value in operands]
        key = (spec.name, *(sorted(ids) if spec.name in _COMMUTES else ids), *attrs.values())
        found = self._made.get(key) if self._share or not operands else None
        if found is None:
            found = self._made[key] = self._builder.create(spec, operands, attrs, loc=loc).result
            if self.dtype == INTEGER:
                self.facts.record_result(found, spec, operands) if operands else self.facts.public(
                    found, attrs["value"]
                )
        return found


class Number:
    """An encrypted number of the circuit being traced. It has no value yet; + - * and ** make others of it."""

    __slots__ = ("_tracer", "_value")

    def __init__(self, tracer: CircuitTracer, value: Value) -> None:
        self._tracer = tracer
        self._value = value

    def __add__(self, other: Any) -> Any:
        return _operate(self, other, add)

    def __radd__(self, other: Any) -> Any:
        return _operate(self, other, add)

    def __sub__(self, other: Any) -> Any:
        return _operate(self, other, sub)

    def __rsub__(self, other: Any) -> Any:
        return _operate(self, other, lambda a, b: sub(b, a))

    def __mul__(self, other: Any) -> Any:
        return _operate(self, other, mul)

    def __rmul__(self, other: Any) -> Any:
        return _operate(self, other, mul)

    def __neg__(self) -> Any:
        return neg(self)

    def __pos__(self) -> Number:
        return self

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        return power(self, exponent) if modulus is None else self._refuse()

    def __truediv__(self, other: Any) -> Any:
        return divide(self, other)

    def __rtruediv__(self, _other: Any) -> NoReturn:
        raise TraceError(f"a number is divided by an encrypted one; {_INVERSE}", at=user_loc())

    def conjugate(self) -> Number:
        """Itself: it is real."""
        return self

    @property
    def real(self) -> Number:
        """Itself."""
        return self

    @property
    def imag(self) -> int:
        """0."""
        return 0

    def __copy__(self) -> Number:
        return self

    def __deepcopy__(self, memo: Any) -> Number:
        return self

    def __repr__(self) -> str:
        return f"<encrypted number of circuit {plain_text(self._tracer.name)}>"

    def __format__(self, spec: str) -> str:
        return repr(self) if spec == "" else self._convert()

    def __bool__(self) -> NoReturn:
        at = user_loc()
        hints = [hint for pattern, hint in _BRANCHING.items() if re.search(pattern, at.text)]
        if not hints and re.search("[=!]=|[<>]", at.text):  # NumPy, which leaves no frame
            hints = ["arrays are compared element by element: [x < y for x, y in zip(a, b)]"]
        raise self._tracer.faults.note(TraceError("; ".join([_BRANCH, *hints]), at=at))

    def __eq__(self, other: Any) -> Any:
        return _apply("==", self, other)

    def __ne__(self, other: Any) -> Any:
        return _apply("!=", self, other)

    def __lt__(self, other: Any) -> Any:
        return _apply("<", self, other)

    def __le__(self, other: Any) -> Any:
        return _apply("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return _apply(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return _apply(">=", self, other)

    def __mod__(self, other: Any) -> Any:
        return _apply("%", self, other)

    def __floordiv__(self, other: Any) -> Any:
        return _apply("//", self, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __and__(self, other: Any) -> Any:
        return _apply("&", self, other)

    def __or__(self, other: Any) -> Any:
        return _apply("|", self, other)

    def __xor__(self, other: Any) -> Any:
        return _apply("^", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __lshift__(self, other: Any) -> Any:
        return _apply("<<", self, other)

    def __rshift__(self, other: Any) -> Any:
        return _apply(">>", self, other)

    def __invert__(self) -> Any:
        return self._tracer.checked_operations().invert(self)

    def __abs__(self) -> Any:
        return self._tracer.checked_operations().absolute(self)

    def bit_count(self) -> Any:
        """Count the binary digits of the number's magnitude that are 1, as of Python's integers."""
        return self._tracer.checked_operations().bit_count(self)

    def __hash__(self) -> NoReturn:
        message = (
            "an encrypted number is a key of a dictionary or a set, which have to know it; use lists, and "
            "lw.isin(x, values) for `in`"
        )
        raise self._tracer.faults.note(TraceError(message, at=user_loc()))

    def _convert(self, *_args: Any) -> NoReturn:
        message = (
            "an encrypted number is used where its value has to be known (an index, a range, int() or float(), a copy "
            "in a file); only public numbers can be"
        )
        raise self._tracer.faults.note(TraceError(message, at=user_loc()))

    __index__ = __int__ = __float__ = __complex__ = __round__ = __trunc__ = __floor__ = __ceil__ = _convert
    __reduce__ = __reduce_ex__ = _convert

    def _refuse(self, *_args: Any) -> NoReturn:
        raise TraceError(
            "// and % by an encrypted number, shifts by one and powers of one have no encrypted counterpart here: "
            "only the other operand may be encrypted",
            at=user_loc(),
        )

    __rfloordiv__ = __rmod__ = __rdivmod__ = __rpow__ = __rlshift__ = __rrshift__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        # NumPy's functions call methods of their own names on the elements of an array of objects.
        is_dunder = name.startswith("__")
        if not is_dunder and (hasattr(np, name) or hasattr(float, name) or hasattr(int, name)):
            raise MissingMethodError(f"{name} has no encrypted counterpart: {circuit_remedy(name)}", at=user_loc())
        raise AttributeError(f"an encrypted number has no attribute {name!r}")


numbers.Number.register(Number)
_INVERSE = REMEDIES["division"].for_circuits


def _operate(a: Number, b: Any, function: Callable[[Any, Any], Any]) -> Any:
    if isinstance(b, np.ndarray):
        return NotImplemented  # NumPy asks each element
    return function(a, b if isinstance(b, Number) else a._tracer.public(b))


def _apply(symbol: str, a: Number, b: Any) -> Any:
    """A comparison, remainder or operation on bits, as the tracer has it; the other operand is a number."""
    if isinstance(b, np.ndarray):
        return NotImplemented  # NumPy asks each element
    operations = a._tracer.checked_operations()
    other = b if isinstance(b, Number) else a._tracer.public(b)
    try:
        return operations.apply(symbol, a, other)
    except UserError as error:
        raise a._tracer.faults.note(error) from None


def add(a: Any, b: Any) -> Any:
    """a + b, of which one at least is encrypted."""
    a, b = (b, a) if not isinstance(a, Number) else (a, b)
    return a if _is(b, 0) else a._tracer.emit(scalar_dialect.ADD, a, b)


def sub(a: Any, b: Any) -> Any:
    """a - b, of which one at least is encrypted; a - a is public."""
    if _is(b, 0):
        return a
    if _is(a, 0):
        return neg(b)
    tracer = (a if isinstance(a, Number) else b)._tracer
    if isinstance(a, Number) and isinstance(b, Number) and tracer.value_of(a) is tracer.value_of(b):
        return tracer.public(0)
    return tracer.emit(scalar_dialect.SUB, a, b)


def mul(a: Any, b: Any) -> Any:
    """a * b, of which one at least is encrypted; a * 0 is public."""
    a, b = (b, a) if not isinstance(a, Number) else (a, b)
    if _is(b, 0):
        return a._tracer.public(0)
    if _is(b, 1):
        return a
    return neg(a) if _is(b, -1) else a._tracer.emit(scalar_dialect.MUL, a, b)


def neg(a: Number) -> Number:
    """-a; - -a is a."""
    made_by = a._value.owner
    if getattr(made_by, "spec", None) is scalar_dialect.NEG:
        return Number(a._tracer, made_by.operands[0])  # type: ignore[union-attr]
    return a._tracer.emit(scalar_dialect.NEG, a)


def power(a: Number, exponent: Any) -> Any:
    """a ** exponent by squaring.

    raises  RangeError unless the exponent is a whole number from 0 to 1024
    """
    try:
        times = -1 if isinstance(exponent, bool) else operator.index(exponent)
    except TypeError:
        times = -1
    if not 0 <= times <= MAX_POWER:
        raise RangeError(
            f"** {write_value(exponent)}: the exponent must be a whole number from 0 to {MAX_POWER}", at=user_loc()
        )
    result: Any = a._tracer.public(1)
    square: Any = a
    while times:
        if times & 1:
            result = mul(square, result)
        times >>= 1
        square = mul(square, square) if times else square
    return result


def divide(a: Number, b: Any) -> Any:
    """a / b by a public number, in a circuit of real numbers.

    raises  TraceError for any other division
    """
    if isinstance(b, np.ndarray):
        return NotImplemented
    if isinstance(b, Number):
        raise TraceError(f"an encrypted number is divided by another; {_INVERSE}", at=user_loc())
    if a._tracer.dtype == INTEGER:
        raise TraceError(
            "BFV computes on integers and has no division: scale the other values up instead, or compile with "
            'scheme="ckks"',
            at=user_loc(),
        )
    divisor = a._tracer.public(b)
    if divisor == 0:
        raise RangeError("an encrypted number is divided by 0", at=user_loc())
    return mul(a, 1.0 / divisor)


def _is(x: Any, number: int) -> bool:
    return not isinstance(x, Number) and bool(x == number)


def holds_numbers(operand: object) -> bool:
    """Whether an operand is an encrypted number of a circuit, or an array that begins with one."""
    if isinstance(operand, np.ndarray) and operand.dtype == object and operand.size:
        operand = operand.flat[0]
    return isinstance(operand, Number)
