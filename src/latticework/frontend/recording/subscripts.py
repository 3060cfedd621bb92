"""Arrays subscripted by public integers that are known only at run time: x[i] in the body of a loop.

Such an integer numbers whole vectors, so what it numbers is the leading axis: of a secret array it is laid out along
vectors once, where the array is made; of a public one the part is encoded when it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError, ShapeError
from latticework.frontend.recording.indices import TracedIndex
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.tracing import FunctionTracer, user_line
from latticework.ir.builder import Builder
from latticework.ir.core import Block, Op, Value
from latticework.ir.dialects import loop_dialect
from latticework.ir.lines import user_loc
from latticework.ir.types import INDEX
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.indexed import BLANK, PART, ROW, ROWS, WITH_PART

Bounds = tuple[int | None, int | None]  # the least and the largest that an integer can be, as far as it is known


class PublicArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A public array of a program being traced: NumPy's own, which a run-time integer may subscript too."""

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        found = next((item for item in items if isinstance(item, TracedIndex)), None)
        if found is None:
            return super().__getitem__(index)
        with user_line():
            return take_subscript(found._tracer, np.asarray(self), items)


def public(array: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A public array that loop variables and other run-time integers may subscript: lw.public(rates)[i].

    Arrays that a program takes as parameters can be subscripted so without it.
    raises  DtypeError, RangeError for what is no array of finite real numbers
    """
    with user_line():
        return plain_array(array, "public").view(PublicArray)


def take_subscript(tracer: FunctionTracer, array: Any, items: tuple[Any, ...]) -> Any:
    """array[i, ...] for a run-time integer i; the rest of the subscript is as usual.

    raises  ShapeError naming the axis, where i numbers another than the leading one; RangeError where it is known that
            i leaves it
    """
    first, *rest = items
    if not isinstance(first, TracedIndex):
        axis = next(place for place, item in enumerate(items) if isinstance(item, TracedIndex))
        raise ShapeError(
            f"{items[axis]!r} subscripts axis {axis} of an array of shape {np.shape(array)}, which lies along the "
            "slots of vectors; a number known at run time can choose whole vectors: make the axis the leading one, "
            f"outside of the loop, by np.moveaxis(x, {axis}, 0), and subscript that"
        )
    chosen: Any = tracer.wrap(part(tracer, array, first))
    return chosen[tuple(rest)] if rest else chosen


def part(tracer: FunctionTracer, array: Any, index: TracedIndex) -> Value:
    """array[index], one part along the leading axis."""
    number = tracer.value_of(index)
    value = tracer.lift(array)
    extents = shape_of(value)
    if not extents:
        raise ShapeError(f"{index!r} subscripts a scalar, which has no axis")
    require_within(index, tracer, extents[0])
    if value.is_secret:
        return tracer.emit(PART, in_rows(tracer, value), number)
    assert isinstance(value.owner, Op)
    return tracer.emit(ROW, number, source=value.owner.attrs["source"], shape=extents)


def with_part(tracer: FunctionTracer, array: Value, put: Value, index: Value) -> Value:
    """The array with another part at a run-time number."""
    return tracer.emit(WITH_PART, array, put, index)


def blank(tracer: FunctionTracer, shape: tuple[int, ...]) -> Value:
    """Zeros whose leading axis lies along vectors, in the form of a secret array."""
    return tracer.emit(BLANK, shape=shape)


def in_rows(tracer: FunctionTracer, value: Value) -> Value:
    """A secret array with its leading axis along vectors: one for all uses, made where the array is."""
    if value not in tracer.rows:
        block = value.owner.block if isinstance(value.owner, Op) else value.owner
        assert block is not None
        made = Builder(block).create(ROWS.spec, [value], {}, loc=user_loc())
        tracer.rows[value] = made.result
    return tracer.rows[value]


def require_within(index: TracedIndex, tracer: FunctionTracer, extent: int) -> None:
    """RangeError where a run-time integer is known to leave an axis."""
    low, high = bounds_of(tracer, tracer.value_of(index))
    if (low is not None and low < 0) or (high is not None and high >= extent):
        reach = f"reaches {high}" if high is not None and high >= extent else f"starts at {low}"
        raise RangeError(
            f"{index!r} {reach}, on an axis that is {extent} long; it must stay within 0 to {extent - 1}: count fewer "
            "iterations (n, or at_most), or give a longer array"
        )


def bounds_of(tracer: FunctionTracer, value: Value) -> Bounds:
    """Return the bounds of a run-time integer that are known while a program is traced."""
    op = value.owner
    if isinstance(op, Block):
        trips = tracer.trips.get(value)
        return (0, None if trips is None else max(trips - 1, 0)) if value in tracer.trips else (0, None)
    if op.spec is loop_dialect.INDEX_CONSTANT:
        return op.attrs["value"], op.attrs["value"]
    (a, b), (c, d) = (bounds_of(tracer, v) for v in op.operands if v.type is INDEX)
    if op.spec is loop_dialect.INDEX_ADD:
        return _sum(a, c), _sum(b, d)
    if op.spec is loop_dialect.INDEX_SUB:
        return _sum(a, None if d is None else -d), _sum(b, None if c is None else -c)
    if op.spec is loop_dialect.INDEX_MUL and None not in (a, b, c, d):
        corners = [i * j for i in (a, b) for j in (c, d)]  # type: ignore[operator]
        return min(corners), max(corners)
    return None, None


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
