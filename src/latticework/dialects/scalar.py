"""The scalar dialect: arithmetic on single numbers, the form of a circuit before lanes are assigned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import DtypeError, IrError, ShapeError
from latticework.ir import Array, Attrs, Context, Op, OpSpec, Region, Type, Value, attribute, define, register_type

_DTYPES = ("float64", "int64")


@register_type("scalar")
class ScalarType(Type):
    """One number; dtype is "float64" or "int64"."""

    dtype: str
    secret: bool

    def check(self) -> None:
        """DtypeError unless the dtype is known."""
        if self.dtype not in _DTYPES:
            raise DtypeError(f"a scalar is {' or '.join(_DTYPES)}, not {self.dtype}")

    def accept(self, value: Any) -> Array:
        """A zero-dimensional array of the dtype."""
        array = np.asarray(value)
        if array.shape != ():
            raise ShapeError(f"shape {array.shape} where one number is needed")
        return array.astype(self.dtype, casting="same_kind")


def _arithmetic(name: str, number: int, function: Callable[..., Array]) -> OpSpec:
    def infer(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        types = [value.type for value in operands if isinstance(value.type, ScalarType)]
        if len(operands) != number or len(types) != number:
            have = ", ".join(str(value.type) for value in operands)
            raise IrError(f"{name}: takes {number} scalars, got ({have})")
        if any(t.dtype != types[0].dtype for t in types):
            raise DtypeError(f"{name}: dtypes differ: {' and '.join(t.dtype for t in types)}")
        return [ScalarType(types[0].dtype, any(t.secret for t in types))]

    def meaning(_op: Op, inputs: list[Array], _context: Context) -> list[Array]:
        return [np.asarray(function(*inputs))]

    return define(name, infer=infer, meaning=meaning)


ADD = _arithmetic("scalar.add", 2, np.add)
SUB = _arithmetic("scalar.sub", 2, np.subtract)
MUL = _arithmetic("scalar.mul", 2, np.multiply)
NEG = _arithmetic("scalar.neg", 1, np.negative)


def _infer_constant(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    if operands:
        raise IrError(f"scalar.constant: takes no operands, got {len(operands)}")
    kind = int if isinstance(attrs.get("value"), int) else float
    attribute("scalar.constant", attrs, "value", kind)
    return [ScalarType("int64" if kind is int else "float64", False)]


CONSTANT = define(
    "scalar.constant",
    infer=_infer_constant,
    meaning=lambda op, _inputs, _context: [op.result.type.accept(op.attrs["value"])],
)
