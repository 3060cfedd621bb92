"""tensor.softmax: exp(x) over its sum along an axis, still exact; calibration tells how it is taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.approx.functions import FUNCTIONS, checked_range
from latticework.ir.core import Value
from latticework.ops import row_rules
from latticework.ops.apply import check_degree
from latticework.ops.base import Case, FloatArray, Shape, Tracer, normal_axis, shape_of, tensor_op
from latticework.ops.cases import random_shape

Interval = tuple[float, float]


def shape(a: Shape, *, axis: int, degree: int | None, interval: Interval | None) -> Shape:
    """Shape of the operand.

    axis      along which the results add up to 1, counted from the front
    degree    of its polynomials, None to leave it to what is asked for
    interval  of the operand's values; None until calibration
    """
    normal_axis("softmax", axis, len(a))
    return a


def trace(
    tracer: Tracer, x: object, axis: Any = -1, degree: int | None = None, interval: Interval | None = None
) -> Value:
    """Softmax of x along an axis."""
    value = tracer.lift(x)
    along = normal_axis("softmax", axis, len(shape_of(value)))
    if degree is not None:
        check_degree(FUNCTIONS["exp"], degree)
    bounds = None if interval is None else checked_range(FUNCTIONS["exp"], interval)
    return tracer.emit(SOFTMAX, value, axis=along, degree=degree, interval=bounds)


def softmax(x: FloatArray, axis: int = -1, **_: Any) -> FloatArray:
    """In NumPy, in the form that cannot overflow."""
    parts = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return np.asarray(parts / np.sum(parts, axis=axis, keepdims=True))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Along any axis."""
    array = rng.normal(size=random_shape(rng, slots, int(rng.integers(1, 4))))
    axis = int(rng.integers(array.ndim))
    attrs = {"axis": axis, "degree": None, "interval": None}
    return Case((array,), lambda x: np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True), attrs)


SOFTMAX = tensor_op(
    "softmax",
    shape=shape,
    meaning=softmax,
    attributes={"axis": int, "degree": object, "interval": object},
    random_case=random_case,
    rows=row_rules.along_one_axis,
)
