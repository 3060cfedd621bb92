"""np.concatenate, np.stack and their like: every part among zeros, and their sum; copies of one are broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latticework.errors import ShapeError
from latticework.ir.core import Value
from latticework.tensor.ops import add, broadcast_to, reshape
from latticework.tensor.ops import slice as slicing
from latticework.tensor.ops.base import Tracer, normal_axis, shape_of
from latticework.tensor.ops.pad import pad_zeros


def concatenate(tracer: Tracer, arrays: Any, axis: Any = 0) -> Value:
    """np.concatenate(arrays, axis)."""
    return _join(tracer, "concatenate", _lift(tracer, "concatenate", arrays), axis)


def stack(tracer: Tracer, arrays: Any, axis: int = 0) -> Value:
    """np.stack(arrays, axis)."""
    values = _lift(tracer, "stack", arrays)
    shapes = [shape_of(v) for v in values]
    if len(set(shapes)) > 1:
        raise ShapeError(f"stack: the arrays have shapes {', '.join(map(str, shapes))}; they must all have the same")
    along = normal_axis("stack", axis, len(shapes[0]) + 1)
    index = (*(slice(None),) * along, None)
    return _join(tracer, "stack", [slicing.trace(tracer, v, index) for v in values], along)


def vstack(tracer: Tracer, tup: Any) -> Value:
    """np.vstack(tup)."""
    return _join(tracer, "vstack", [_at_least_2d(tracer, v) for v in _lift(tracer, "vstack", tup)], 0)


def dstack(tracer: Tracer, tup: Any) -> Value:
    """np.dstack(tup)."""
    values = [_at_least_2d(tracer, v) for v in _lift(tracer, "dstack", tup)]
    deep = [v if len(shape_of(v)) > 2 else slicing.trace(tracer, v, (..., None)) for v in values]
    return _join(tracer, "dstack", deep, 2)


def hstack(tracer: Tracer, tup: Any) -> Value:
    """np.hstack(tup)."""
    values = [v if shape_of(v) else reshape.trace(tracer, v, (1,)) for v in _lift(tracer, "hstack", tup)]
    return _join(tracer, "hstack", values, 0 if len(shape_of(values[0])) == 1 else 1)


def column_stack(tracer: Tracer, tup: Any) -> Value:
    """np.column_stack(tup)."""
    values = _lift(tracer, "column_stack", tup)
    columns = [v if len(shape_of(v)) > 1 else reshape.trace(tracer, v, (-1, 1)) for v in values]
    return _join(tracer, "column_stack", columns, 1)


def append(tracer: Tracer, arr: object, values: object, axis: Any = None) -> Value:
    """np.append(arr, values, axis)."""
    return _join(tracer, "append", [tracer.lift(arr), tracer.lift(values)], axis)


def _lift(tracer: Tracer, name: str, arrays: Any) -> list[Value]:
    if not isinstance(arrays, (tuple, list)) or not arrays:
        raise ShapeError(f"{name}: give the arrays as a list or tuple of at least one")
    return [tracer.lift(array) for array in arrays]


def _at_least_2d(tracer: Tracer, value: Value) -> Value:
    return value if len(shape_of(value)) > 1 else reshape.trace(tracer, value, (1, -1))


def _join(tracer: Tracer, name: str, values: Sequence[Value], axis: Any) -> Value:
    """The arrays one behind the other along an axis; None: all their elements."""
    if axis is None:
        values, axis = [reshape.trace_ravel(tracer, v) for v in values], 0
    shapes = [shape_of(v) for v in values]
    along = normal_axis(name, axis, len(shapes[0]))
    if len({(*s[:along], *s[along + 1 :]) for s in shapes}) > 1 or len({len(s) for s in shapes}) > 1:
        raise ShapeError(
            f"{name}: shapes {', '.join(map(str, shapes))} do not fit along axis {along}: all their other axes must be "
            "equal"
        )
    length = sum(s[along] for s in shapes)
    if shapes[0][along] == 1 and all(v is values[0] for v in values):
        return broadcast_to.trace(tracer, values[0], (*shapes[0][:along], length, *shapes[0][along + 1 :]))
    total: Value | None = None
    start = 0
    for value, shape in zip(values, shapes, strict=True):
        before = tuple(start if i == along else 0 for i in range(len(shape)))
        after = tuple(length - start - shape[along] if i == along else 0 for i in range(len(shape)))
        part = pad_zeros(tracer, value, before, after)
        total = part if total is None else add.trace(tracer, total, part)
        start += shape[along]
    assert total is not None
    return total
