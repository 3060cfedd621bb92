"""np.split and its like, np.diff, np.rot90: several slices of one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import slice as slicing
from latticework.tensor.ops import sub, transpose
from latticework.tensor.ops.base import Tracer, normal_axes, normal_axis, shape_of


def split(tracer: Tracer, ary: object, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """np.split(ary, indices_or_sections, axis)."""
    value = tracer.lift(ary)
    length = shape_of(value)[normal_axis("split", axis, len(shape_of(value)))]
    if np.ndim(indices_or_sections) == 0 and (indices_or_sections < 1 or length % indices_or_sections):
        raise ShapeError(
            f"split: axis {axis} of shape {shape_of(value)} is {length} long, not a multiple of {indices_or_sections}; "
            "use np.array_split, or the places to split at"
        )
    return array_split(tracer, value, indices_or_sections, axis)


def array_split(tracer: Tracer, ary: object, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """np.array_split(ary, indices_or_sections, axis)."""
    value = tracer.lift(ary)
    along = normal_axis("array_split", axis, len(shape_of(value)))
    argument = np.asarray(indices_or_sections)
    if argument.dtype.kind not in "iu":
        raise UnsupportedError(f"array_split: {indices_or_sections!r} must be whole numbers")
    parts = np.array_split(np.arange(shape_of(value)[along]), indices_or_sections)
    if any(not part.size for part in parts):
        raise ShapeError(
            f"array_split: axis {along} of shape {shape_of(value)} split at {indices_or_sections} has empty parts; "
            "every part must have an element"
        )
    return [_part(tracer, value, along, int(part[0]), int(part[-1]) + 1) for part in parts]


def hsplit(tracer: Tracer, ary: object, indices_or_sections: Any) -> list[Value]:
    """np.hsplit(ary, indices_or_sections)."""
    value = tracer.lift(ary)
    return split(tracer, value, indices_or_sections, 0 if len(shape_of(value)) == 1 else 1)


def vsplit(tracer: Tracer, ary: object, indices_or_sections: Any) -> list[Value]:
    """np.vsplit(ary, indices_or_sections)."""
    value = tracer.lift(ary)
    if len(shape_of(value)) < 2:
        raise ShapeError(f"vsplit: shape {shape_of(value)} has no rows; use np.split")
    return split(tracer, value, indices_or_sections, 0)


def unstack(tracer: Tracer, x: object, axis: int = 0) -> tuple[Value, ...]:
    """np.unstack(x, axis=...)."""
    value = tracer.lift(x)
    along = normal_axis("unstack", axis, len(shape_of(value)))
    return tuple(slicing.trace(tracer, value, (*(slice(None),) * along, i)) for i in range(shape_of(value)[along]))


def diff(tracer: Tracer, a: object, n: int = 1, axis: int = -1) -> Value:
    """np.diff(a, n, axis)."""
    value = tracer.lift(a)
    along = normal_axis("diff", axis, len(shape_of(value)))
    for _ in range(n):
        length = shape_of(value)[along]
        value = sub.trace(tracer, _part(tracer, value, along, 1, length), _part(tracer, value, along, 0, length - 1))
    return value


def fliplr(tracer: Tracer, m: object) -> Value:
    """np.fliplr(m)."""
    return slicing.trace_flip(tracer, m, 1)


def flipud(tracer: Tracer, m: object) -> Value:
    """np.flipud(m)."""
    return slicing.trace_flip(tracer, m, 0)


def rot90(tracer: Tracer, m: object, k: int = 1, axes: Any = (0, 1)) -> Value:
    """np.rot90(m, k, axes)."""
    value = tracer.lift(m)
    first, second = normal_axes("rot90", tuple(axes), len(shape_of(value)))
    for _ in range(k % 4):
        value = transpose.trace_swapaxes(tracer, slicing.trace_flip(tracer, value, second), first, second)
    return value


def _part(tracer: Tracer, value: Value, axis: int, start: int, stop: int) -> Value:
    return slicing.trace(tracer, value, (*(slice(None),) * axis, slice(start, stop)))
