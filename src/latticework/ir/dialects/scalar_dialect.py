"""The scalar dialect: arithmetic on single numbers, the form of a circuit before lanes are assigned.

The inputs of a circuit are groups: numbers that a client sends together, with what is known about how they may be
packed. Integers are exact and of any size.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import DtypeError, IrError, ShapeError
from latticework.ir import Array, Attrs, Context, Op, OpSpec, Region, Type, Value, attribute, define, register_type

INTEGER, REAL = "integer", "float64"
_DTYPES = (REAL, INTEGER)

FREE, GROUPED, REPLICATED, ROWS = "free", "grouped", "replicated", "rows"
PACKINGS = (FREE, GROUPED, REPLICATED, ROWS)


def _numbers(value: Any, dtype: str) -> Array:
    """An array of float64, or of Python integers."""
    array = np.asarray(value)
    if dtype == REAL:
        return array.astype(REAL)
    if array.dtype.kind not in "biufO" or any(int(n) != n for n in array.flat if array.dtype.kind in "fO"):
        raise DtypeError(f"values of dtype {array.dtype} where integers are needed")
    exact = np.empty(array.shape, dtype=object)
    exact[...] = np.frompyfunc(int, 1, 1)(array)
    return exact


@register_type("scalar")
class ScalarType(Type):
    """One number; dtype is "float64" or "integer"."""

    dtype: str
    secret: bool

    def check(self) -> None:
        """DtypeError unless the dtype is known."""
        if self.dtype not in _DTYPES:
            raise DtypeError(f"a scalar is {' or '.join(_DTYPES)}, not {self.dtype}")

    def accept(self, value: Any) -> Array:
        """A zero-dimensional array of the dtype, or of Python integers."""
        array = np.asarray(value)
        if array.shape != ():
            raise ShapeError(f"shape {array.shape} where one number is needed")
        return _numbers(array, self.dtype)


@register_type("group")
class GroupType(Type):
    """Numbers that are sent or returned together.

    packing  "free": any lanes of any number of vectors, in any number of copies; "grouped": one vector, each once;
             "replicated": one vector, in as many copies as wanted; "rows": rows of a matrix, one after the other in
             as many vectors as it takes, each number once, read or not
    lanes    of each number, or () where the compiler chooses them; of a matrix by rows its column
    """

    count: int
    dtype: str
    packing: str
    lanes: tuple[int, ...]
    secret: bool

    def check(self) -> None:
        """ShapeError or DtypeError unless the fields fit together."""
        if self.dtype not in _DTYPES:
            raise DtypeError(f"a group is of {' or '.join(_DTYPES)}, not {self.dtype}")
        if self.count < 1 or self.packing not in PACKINGS or len(self.lanes) not in (0, self.count):
            raise ShapeError(f"no group has {self.count} numbers, packing {self.packing!r}, {len(self.lanes)} lanes")

    def accept(self, value: Any) -> Array:
        """An array (count,) of the dtype, or of Python integers."""
        array = np.asarray(value)
        if array.shape != (self.count,):
            raise ShapeError(f"shape {array.shape} where {(self.count,)} is needed")
        return _numbers(array, self.dtype)


def _arithmetic(name: str, number: int, function: Callable[..., Any]) -> OpSpec:
    def infer(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        types = [value.type for value in operands if isinstance(value.type, ScalarType)]
        if len(operands) != number or len(types) != number:
            have = ", ".join(str(value.type) for value in operands)
            raise IrError(f"{name}: takes {number} scalars, got ({have})")
        if any(t.dtype != types[0].dtype for t in types):
            raise DtypeError(f"{name}: dtypes differ: {' and '.join(t.dtype for t in types)}")
        return [ScalarType(types[0].dtype, any(t.secret for t in types))]

    def semantics(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
        result = np.empty((), dtype=object if op.result.type.dtype == INTEGER else REAL)  # type: ignore[attr-defined]
        result[()] = function(*(x[()] for x in inputs))
        return [result]

    return define(name, infer=infer, semantics=semantics)


ADD = _arithmetic("scalar.add", 2, operator.add)
SUB = _arithmetic("scalar.sub", 2, operator.sub)
MUL = _arithmetic("scalar.mul", 2, operator.mul)
NEG = _arithmetic("scalar.neg", 1, operator.neg)


def _infer_constant(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    if operands:
        raise IrError(f"scalar.constant: takes no operands, got {len(operands)}")
    kind = int if isinstance(attrs.get("value"), int) else float
    attribute("scalar.constant", attrs, "value", kind)
    return [ScalarType(INTEGER if kind is int else REAL, False)]


CONSTANT = define(
    "scalar.constant",
    infer=_infer_constant,
    semantics=lambda op, _inputs, _context: [op.result.type.accept(op.attrs["value"])],
)


def _infer_element(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    group = operands[0].type if len(operands) == 1 else None
    if not isinstance(group, GroupType):
        raise IrError(f"scalar.element: takes one group, got ({', '.join(str(value.type) for value in operands)})")
    number = attribute("scalar.element", attrs, "number", int)
    if not 0 <= number < group.count:
        raise ShapeError(f"scalar.element: number {number} of a group of {group.count}")
    return [ScalarType(group.dtype, group.secret)]


ELEMENT = define(
    "scalar.element",
    infer=_infer_element,
    semantics=lambda op, inputs, _context: [op.result.type.accept(inputs[0][op.attrs["number"]])],
)


def _infer_stack(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    types = [value.type for value in operands if isinstance(value.type, ScalarType)]
    if not operands or len(types) != len(operands) or len({t.dtype for t in types}) > 1:
        have = ", ".join(str(value.type) for value in operands)
        raise IrError(f"scalar.stack: takes scalars of one dtype, got ({have})")
    return [GroupType(len(types), types[0].dtype, GROUPED, (), any(t.secret for t in types))]


STACK = define(
    "scalar.stack",
    infer=_infer_stack,
    semantics=lambda op, inputs, _context: [op.result.type.accept(np.array([x[()] for x in inputs], dtype=object))],
)
