"""tensor.reshape: the same elements in C order under another shape."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, normal_axes, normal_axis, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, move


def shape(a: Shape, *, shape: Shape) -> Shape:
    """The new shape, of as many elements."""
    if prod(a) != prod(shape) or any(n < 1 for n in shape):
        raise ShapeError(
            f"reshape: {a} has {prod(a)} elements and does not fit {shape}; "
            "the lengths of the new axes must multiply to the same number"
        )
    return tuple(shape)


def trace(tracer: Tracer, a: object, shape: Any = None, order: str = "C") -> Value:
    """np.reshape(a, shape), one length may be -1."""
    if order != "C":
        raise UnsupportedError(f"reshape: order={order!r}; only C order exists here; transpose first")
    value = tracer.lift(a)
    old = shape_of(value)
    new = tuple(int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    known = prod(n for n in new if n != -1)
    if new.count(-1) == 1 and known > 0 and prod(old) % known == 0:
        new = tuple(prod(old) // known if n == -1 else n for n in new)
    return value if new == old else tracer.emit(RESHAPE, value, shape=new)


def trace_ravel(tracer: Tracer, a: object, order: str = "C") -> Value:
    """np.ravel(a)."""
    return trace(tracer, a, (-1,), order)


def trace_expand_dims(tracer: Tracer, a: object, axis: Any) -> Value:
    """np.expand_dims(a, axis)."""
    value = tracer.lift(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new = set(normal_axes("expand_dims", axis, len(shape_of(value)) + count))
    old = iter(shape_of(value))
    return trace(tracer, value, tuple(1 if i in new else next(old) for i in range(len(shape_of(value)) + count)))


def trace_squeeze(tracer: Tracer, a: object, axis: Any = None) -> Value:
    """np.squeeze(a, axis)."""
    value = tracer.lift(a)
    old = shape_of(value)
    gone = {i for i, n in enumerate(old) if n == 1} if axis is None else set(normal_axes("squeeze", axis, len(old)))
    for i in sorted(gone):
        if old[i] != 1:
            raise ShapeError(f"squeeze: axis {normal_axis('squeeze', i, len(old))} of {old} is {old[i]} long, not 1")
    return trace(tracer, value, tuple(n for i, n in enumerate(old) if i not in gone))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Axes merged, split or moved within the element order."""
    array = rng.normal(size=random_shape(rng, slots))
    factors = [n for n in array.shape if n > 1] or [1]
    new: Shape = (prod(factors[:-1]), 1, factors[-1]) if rng.random() < 0.5 else (array.size,)
    return Case((array,), lambda a: a.reshape(new), {"shape": new})


def _reshape(a: FloatArray, shape: Shape) -> FloatArray:
    return a.reshape(shape)


def lower(target: Target, a: Operand, shape: Shape) -> Value:
    """The same vector, or one linear transform."""
    return move(target, a)


RESHAPE = tensor_op(
    "reshape",
    shape=shape,
    semantics=_reshape,
    attributes={"shape": tuple},
    random_case=random_case,
    rows=row_rules.movement,
    numpy={
        np.reshape: trace,
        np.ravel: trace_ravel,
        np.expand_dims: trace_expand_dims,
        np.squeeze: trace_squeeze,
    },
    lower=lower,
)
