"""tensor.softmax: exp(x) over its sum along an axis, still exact; calibration tells how it is taken apart."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.functions.approximation.real_functions import FUNCTIONS, checked_range
from latticework.ir.core import Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.apply import check_degree
from latticework.tensor.ops.base import (
    Case,
    FloatArray,
    Shape,
    Tracer,
    broadcast_shape,
    normal_axis,
    shape_of,
    tensor_op,
)
from latticework.tensor.ops.cases import random_shape

Interval = tuple[float, float]


def shape(a: Shape, kept: Shape | None = None, *, axis: int, degree: int | None, interval: Interval | None) -> Shape:
    """Shape of the operand.

    kept      shape of the second operand, where there is one: not 0 where elements count
    axis      along which the results add up to 1, counted from the front
    degree    of its polynomials, None to leave it to what is asked for
    interval  of the operand's values; None until calibration
    """
    normal_axis("softmax", axis, len(a))
    if kept is not None and broadcast_shape("softmax", a, kept) != a:
        raise ShapeError(f"softmax: where= has shape {kept}, which does not broadcast to {a}")
    return a


def trace(
    tracer: Tracer,
    x: object,
    axis: Any = -1,
    degree: int | None = None,
    interval: Interval | None = None,
    where: object = None,
) -> Value:
    """Softmax of x along an axis, of the elements where a public mask is true."""
    value = tracer.lift(x)
    along = normal_axis("softmax", axis, len(shape_of(value)))
    if degree is not None:
        check_degree(FUNCTIONS["exp"], degree)
    bounds = None if interval is None else checked_range(FUNCTIONS["exp"], interval)
    masks = [] if where is None else [tracer.lift(_mask(tracer, where, shape_of(value), along))]
    return tracer.emit(SOFTMAX, value, *masks, axis=along, degree=degree, interval=bounds)


def _mask(tracer: Tracer, where: object, of: Shape, axis: int) -> FloatArray:
    public = tracer.plain(where)
    if public is None:
        raise UnsupportedError(
            "softmax: where= is secret, and which elements count has to be known when the program is compiled; "
            "multiply exponentials by secret bits, and divide by their sum"
        )
    check_mask(public, of, axis)
    return np.asarray(public != 0, dtype=np.float64)


def check_mask(where: FloatArray, of: Shape, axis: int) -> None:
    """ShapeError unless a mask broadcasts to a shape, RangeError where it leaves nothing along the axis."""
    if broadcast_shape("softmax", of, where.shape) != of:
        raise ShapeError(f"softmax: where= has shape {where.shape}, which does not broadcast to {of}")
    empty = int(np.sum(~np.any(np.broadcast_to(where != 0, of), axis=axis)))
    if empty:
        raise RangeError(
            f"softmax: where= leaves no element in {empty} of {prod(of) // of[axis]} rows along axis {axis} of shape "
            f"{of}, whose results would be 0 / 0; keep one in each, or leave the rows out"
        )


def softmax(x: FloatArray, kept: FloatArray | None = None, axis: int = -1, **_: Any) -> FloatArray:
    """Compute it in NumPy, in the form that cannot overflow; 0 where nothing is kept."""
    if kept is not None:
        x = np.where(kept != 0, x, -np.inf)
    parts = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return np.asarray(parts / np.sum(parts, axis=axis, keepdims=True))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Draw a case along any axis, of all elements or of some."""
    array = rng.normal(size=random_shape(rng, slots, int(rng.integers(1, 4))))
    axis = int(rng.integers(array.ndim))
    attrs = {"axis": axis, "degree": None, "interval": None}
    if rng.random() < 0.5:
        return Case((array,), lambda x: np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True), attrs)
    lengths = [n if rng.random() < 0.7 or i == axis else 1 for i, n in enumerate(array.shape)]
    kept = (rng.random(lengths) < 0.5).astype(np.float64)
    np.moveaxis(kept, axis, 0)[0] = 1.0

    def some(x: FloatArray, kept: FloatArray) -> FloatArray:
        return np.asarray(np.exp(x) * kept / np.sum(np.exp(x) * kept, axis=axis, keepdims=True))

    return Case((array, kept), some, attrs)


SOFTMAX = tensor_op(
    "softmax",
    shape=shape,
    semantics=softmax,
    attributes={"axis": int, "degree": object, "interval": object},
    random_case=random_case,
    rows=row_rules.along_one_axis,
)
