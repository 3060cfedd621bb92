"""tensor.roll: elements move along axes, and come in again at the other end."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import reshape, row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, normal_axes, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, access, linear
from latticework.values.packing.packed_constants import Access

Ints = tuple[int, ...]


def shape(a: Shape, *, shifts: Ints) -> Shape:
    """Shape of a, whose elements move by shifts[i] along axis i."""
    if len(shifts) != len(a):
        raise ShapeError(f"roll: {len(shifts)} shifts for shape {a}; give one for every axis")
    return a


def trace(tracer: Tracer, a: object, shift: Any, axis: Any = None) -> Value:
    """np.roll(a, shift, axis); without an axis the elements in C order are rolled."""
    value = tracer.lift(a)
    if tracer.plain(shift) is None or np.asarray(shift).dtype.kind not in "iu":
        raise UnsupportedError(f"roll: shift={shift!r} must be a public whole number, or one for each axis")
    if axis is None:
        flat = reshape.trace_ravel(tracer, value)
        return reshape.trace(tracer, _roll_axes(tracer, flat, (int(np.sum(shift)),)), shape_of(value))
    rank = len(shape_of(value))
    try:
        pairs = np.broadcast(np.atleast_1d(shift), np.atleast_1d(axis))
    except ValueError:
        raise ShapeError(
            f"roll: shift={shift} and axis={axis} differ in length; give one shift for each axis"
        ) from None
    shifts = [0] * rank
    for step, along in pairs:
        shifts[normal_axes("roll", int(along), rank)[0]] += int(step)
    return _roll_axes(tracer, value, tuple(shifts))


def _roll_axes(tracer: Tracer, value: Value, shifts: Ints) -> Value:
    amounts = tuple(shift % n for shift, n in zip(shifts, shape_of(value), strict=True))
    return tracer.emit(ROLL, value, shifts=amounts) if any(amounts) else value


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """One or two axes rolled."""
    array = rng.normal(size=(*random_shape(rng, slots // 4, int(rng.integers(0, 3))), int(rng.integers(2, 5))))
    shifts = [0] * array.ndim
    shifts[-1] = int(rng.integers(1, array.shape[-1]))
    if rng.random() < 0.5:
        shifts[0] = int(rng.integers(array.shape[0]))
    shifts[-1] = shifts[-1] or 1
    amounts = tuple(shifts)
    return Case((array,), lambda a: np.roll(a, amounts, tuple(range(a.ndim))), {"shifts": amounts})


def _roll(a: FloatArray, shifts: Ints) -> FloatArray:
    return np.roll(a, shifts, tuple(range(a.ndim)))


def lower(target: Target, a: Operand, shifts: Ints) -> Value:
    """One linear transform: out[t] = in[t - shift] + in[t - shift + n], of which one is outside the array."""
    rank = len(a.shape)
    rolled = [axis for axis in range(rank) if shifts[axis]]
    out = access(a.shape, range(rank), rank + len(rolled))
    into = [
        tuple(out.matrix[axis][loop] for loop in range(rank)) + tuple(a.shape[axis] * int(axis == w) for w in rolled)
        for axis in range(rank)
    ]
    back = tuple(-shift for shift in shifts)
    return linear(target, a, (*a.shape, *(2 for _ in rolled)), out, Access(a.shape, tuple(into), back))


ROLL = tensor_op(
    "roll",
    shape=shape,
    semantics=_roll,
    attributes={"shifts": tuple},
    random_case=random_case,
    rows=row_rules.movement,
    numpy={np.roll: trace},
    lower=lower,
)
