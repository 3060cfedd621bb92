"""tensor.transpose: axes in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.ir.core import Op, Value
from latticework.tensor.ops import broadcast_to, row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, normal_axes, normal_axis, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, operand_vector


def shape(a: Shape, *, axes: tuple[int, ...]) -> Shape:
    """Result axis i is operand axis axes[i]."""
    if sorted(axes) != list(range(len(a))):
        raise ShapeError(f"transpose: axes {axes} are not an order of the {len(a)} axes of {a}; name every axis once")
    return tuple(a[axis] for axis in axes)


def trace(tracer: Tracer, a: object, axes: Any = None) -> Value:
    """np.transpose(a, axes), of what is behind another transpose or copies; without axes their order is reversed."""
    value = tracer.lift(a)
    rank = len(shape_of(value))
    order = tuple(range(rank))[::-1] if axes is None else normal_axes("transpose", axes, rank)
    if order == tuple(range(rank)):
        return value
    maker = value.owner
    if isinstance(maker, Op) and maker.spec is TRANSPOSE.spec:
        return trace(tracer, maker.operands[0], tuple(maker.attrs["axes"][axis] for axis in order))
    if isinstance(maker, Op) and maker.spec is broadcast_to.BROADCAST_TO.spec:
        (source,) = maker.operands
        if len(shape_of(source)) == rank:
            wide = tuple(shape_of(value)[axis] for axis in order)
            return broadcast_to.trace(tracer, trace(tracer, source, order), wide)
    return tracer.emit(TRANSPOSE, value, axes=order)


def trace_swapaxes(tracer: Tracer, a: object, axis1: int, axis2: int) -> Value:
    """np.swapaxes(a, axis1, axis2)."""
    value = tracer.lift(a)
    order = list(range(len(shape_of(value))))
    i, j = (normal_axis("swapaxes", axis, len(order)) for axis in (axis1, axis2))
    order[i], order[j] = j, i
    return trace(tracer, value, tuple(order))


def trace_moveaxis(tracer: Tracer, a: object, source: Any, destination: Any) -> Value:
    """np.moveaxis(a, source, destination)."""
    value = tracer.lift(a)
    rank = len(shape_of(value))
    moved, places = normal_axes("moveaxis", source, rank), normal_axes("moveaxis", destination, rank)
    if len(moved) != len(places):
        raise ShapeError(f"moveaxis: {len(moved)} axes are moved to {len(places)} places; give as many of both")
    order = [axis for axis in range(rank) if axis not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return trace(tracer, value, tuple(order))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """A random order of axes."""
    array = rng.normal(size=random_shape(rng, slots))
    axes = tuple(int(axis) for axis in rng.permutation(array.ndim))
    return Case((array,), lambda a: np.transpose(a, axes), {"axes": axes})


def lower(target: Target, a: Operand, axes: tuple[int, ...]) -> Value:
    """The same vector."""
    return operand_vector(target, a)


TRANSPOSE = tensor_op(
    "transpose",
    shape=shape,
    semantics=np.transpose,
    attributes={"axes": tuple},
    random_case=random_case,
    rows=row_rules.movement,
    numpy={np.transpose: trace, np.swapaxes: trace_swapaxes, np.moveaxis: trace_moveaxis},
    lower=lower,
)
