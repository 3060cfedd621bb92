"""tensor.slice: NumPy's basic indexing, with integers, slices of any step, None and an ellipsis."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Op, Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, normal_axes, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, access, linear
from latticework.values.packing.packed_constants import Access

Ints = tuple[int, ...]


def shape(a: Shape, *, starts: Ints, stops: Ints, steps: Ints, squeezed: Ints, new_axes: Ints) -> Shape:
    """Shape of the elements range(starts[i], stops[i], steps[i]) taken along every axis i.

    stops     never counted from the end: -1 with a negative step includes element 0
    squeezed  operand axes, of which one element is taken, that then disappear
    new_axes  axes of the result that are new and 1 long
    """
    if not len(a) == len(starts) == len(stops) == len(steps):
        raise ShapeError(f"slice: {len(starts)} ranges for the {len(a)} axes of {a}; give one for every axis")
    taken = [len(range(*bounds)) for bounds in zip(starts, stops, steps, strict=True)]
    for axis, (n, start, count, step) in enumerate(zip(a, starts, taken, steps, strict=True)):
        if count and not (0 <= start < n and 0 <= start + (count - 1) * step < n):
            raise ShapeError(f"slice: elements {start} to {start + (count - 1) * step} of axis {axis} leave shape {a}")
    result = [n for axis, n in enumerate(taken) if axis not in squeezed]
    for axis in sorted(new_axes):
        result.insert(axis, 1)
    return tuple(result)


def trace(tracer: Tracer, a: object, index: Any) -> Value:
    """a[index]."""
    value = tracer.lift(a)
    attrs = parse_index(shape_of(value), index)
    if _is_whole(shape_of(value), attrs):
        return value
    base, composed = trace_back(value, attrs)
    shape(shape_of(base), **composed)
    return base if _is_whole(shape_of(base), composed) else tracer.emit(SLICE, base, **composed)


def trace_back(value: Value, attrs: dict[str, Ints]) -> tuple[Value, dict[str, Ints]]:
    """A slice of what itself is a slice as one slice of the array behind it: one linear map, one level."""
    op = value.owner
    if not isinstance(op, Op) or op.spec is not SLICE.spec:
        return value, attrs
    return op.operands[0], _compose(shape_of(op.operands[0]), SLICE.own(op.attrs), attrs)


def _compose(a: Shape, first: dict[str, Ints], second: dict[str, Ints]) -> dict[str, Ints]:
    """The slice that takes `second` of the slice `first` of an array of shape a."""
    source_axis = _kept_axes(len(a), first["squeezed"], first["new_axes"])
    ranges = [range(*bounds) for bounds in zip(first["starts"], first["stops"], first["steps"], strict=True)]
    middle = [
        source_axis.get(axis) for axis in range(len(source_axis) + len(first["new_axes"]))
    ]  # operand's axis, None: a new one
    for axis, bounds in zip(middle, zip(second["starts"], second["stops"], second["steps"], strict=True), strict=True):
        if axis is not None:
            taken, along = range(*bounds), ranges[axis]
            step = along.step * taken.step
            start = along[taken[0]] if taken else along.start
            ranges[axis] = range(start, start + len(taken) * step, step)
    final = [axis for place, axis in enumerate(middle) if place not in second["squeezed"]]
    for place in sorted(second["new_axes"]):
        final.insert(place, None)
    return {
        "starts": tuple(r.start for r in ranges),
        "stops": tuple(r.stop for r in ranges),
        "steps": tuple(r.step for r in ranges),
        "squeezed": tuple(axis for axis in range(len(a)) if axis not in final),
        "new_axes": tuple(place for place, axis in enumerate(final) if axis is None),
    }


def _is_whole(shape: Shape, attrs: dict[str, Ints]) -> bool:
    """Whether a slice is all of an array of that shape as it is."""
    if attrs["squeezed"] or attrs["new_axes"]:
        return False
    bounds = zip(attrs["starts"], attrs["stops"], attrs["steps"], strict=True)
    return all(tuple(limits) == (0, n, 1) for limits, n in zip(bounds, shape, strict=True))


def trace_flip(tracer: Tracer, m: object, axis: Any = None) -> Value:
    """np.flip(m, axis)."""
    value = tracer.lift(m)
    rank = len(shape_of(value))
    flipped = normal_axes("flip", axis, rank)
    return trace(tracer, value, tuple(slice(None, None, -1 if i in flipped else 1) for i in range(rank)))


def parse_index(shape: Shape, index: Any) -> dict[str, Ints]:
    """Attributes of the slice that `index` means on an array of that shape."""
    items = list(index) if isinstance(index, tuple) else [index]
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if used > len(shape):
        raise ShapeError(f"index: {used} subscripts for shape {shape}; give at most {len(shape)}")
    if sum(1 for item in items if item is Ellipsis) > 1:
        raise ShapeError("index: more than one ellipsis (...); keep one")
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    position = next(i for i, item in enumerate(items) if item is Ellipsis)
    items[position : position + 1] = [slice(None)] * (len(shape) - used)
    bounds: list[tuple[int, int, int]] = []
    squeezed: list[int] = []
    new_axes: list[int] = []
    for item in items:
        axis = len(bounds)
        if item is None:
            new_axes.append(axis - len(squeezed) + len(new_axes))
        elif isinstance(item, slice):
            bounds.append(item.indices(shape[axis]))
        else:
            at = element(item, axis, shape)
            bounds.append((at, at + 1, 1))
            squeezed.append(axis)
    starts, stops, steps = (tuple(b[i] for b in bounds) for i in range(3))
    return {"starts": starts, "stops": stops, "steps": steps, "squeezed": tuple(squeezed), "new_axes": tuple(new_axes)}


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """A random basic index."""
    array = rng.normal(size=random_shape(rng, slots, int(rng.integers(1, 4))))
    index: list[Any] = []
    for n in array.shape:
        if rng.random() < 0.2:
            index.append(None)
        at, step = int(rng.integers(n)), int(rng.integers(1, 3))
        kinds = (at, slice(None, at + 1), slice(None, None, -step), slice(at - n, None, step))
        index.append(kinds[rng.integers(len(kinds))])
    subscript = tuple(index)
    return Case((array,), lambda a: a[subscript], parse_index(array.shape, subscript))


def element(item: Any, axis: int, shape: Shape) -> int:
    """A subscript as an element of an axis, counted from the front."""
    try:
        at = operator.index(item)
    except TypeError:
        raise UnsupportedError(
            f"index: a {type(item).__name__} is no subscript; use whole numbers, slices, None, ..., or lists and "
            "masks of public numbers"
        ) from None
    n = shape[axis]
    if not -n <= at < n:
        raise ShapeError(f"index: {at} is outside axis {axis} of shape {shape}, which is {n} long; use {-n} to {n - 1}")
    return at % n


def slice_array(a: FloatArray, *, starts: Ints, stops: Ints, steps: Ints, squeezed: Ints, new_axes: Ints) -> FloatArray:
    """The slice in NumPy, as an array of its own; of a stop of -1 None, which takes element 0 too."""
    bounds = zip(starts, stops, steps, strict=True)
    taken = a[tuple(slice(start, stop if stop >= 0 else None, step) for start, stop, step in bounds)]
    return np.expand_dims(np.squeeze(taken.copy(), axis=squeezed), new_axes)


def lower(target: Target, a: Operand, starts: Ints, stops: Ints, steps: Ints, squeezed: Ints, new_axes: Ints) -> Value:
    """One linear transform."""
    rank = len(target.shape)
    out = access(target.shape, range(rank), rank)
    return linear(target, a, target.shape, out, read(a.shape, rank, starts, steps, squeezed, new_axes))


def read(a: Shape, rank: int, starts: Ints, steps: Ints, squeezed: Ints, new_axes: Ints) -> Access:
    """Return the access of loops over the `rank` axes of a slice to its array of shape a."""
    axis_of = {old: new for new, old in _kept_axes(len(a), squeezed, new_axes).items()}
    rows = tuple(tuple(steps[axis] * int(axis_of.get(axis) == j) for j in range(rank)) for axis in range(len(a)))
    return Access(a, rows, starts)


def _kept_axes(rank: int, squeezed: Ints, new_axes: Ints) -> dict[int, int]:
    """Axis of the result -> axis of the operand."""
    old = [axis for axis in range(rank) if axis not in squeezed]
    new = [axis for axis in range(len(old) + len(new_axes)) if axis not in new_axes]
    return dict(zip(new, old, strict=True))


SLICE = tensor_op(
    "slice",
    shape=shape,
    semantics=slice_array,
    attributes=dict.fromkeys(("starts", "stops", "steps", "squeezed", "new_axes"), tuple),
    random_case=random_case,
    rows=row_rules.movement,
    numpy={np.flip: trace_flip},
    lower=lower,
)
