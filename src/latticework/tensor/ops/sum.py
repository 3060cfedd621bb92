"""tensor.sum: sum over axes; means as sums times a public factor."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.ir.core import Value
from latticework.tensor.ops import mul, row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, normal_axes, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target
from latticework.tensor.ops.reduction import reduce_axes


def shape(a: Shape, *, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """Shape of the sum of a over `axes`, which become 1 (keepdims) or disappear."""
    summed = normal_axes("sum", axes, len(a))
    if keepdims:
        return tuple(1 if axis in summed else n for axis, n in enumerate(a))
    return tuple(n for axis, n in enumerate(a) if axis not in summed)


def trace(tracer: Tracer, a: object, axis: Any = None, keepdims: bool = False) -> Value:
    """np.sum(a, axis, keepdims=...)."""
    value = tracer.lift(a)
    axes = tuple(sorted(normal_axes("sum", axis, len(shape_of(value)))))
    return tracer.emit(SUM, value, axes=axes, keepdims=bool(keepdims)) if axes else value


def trace_mean(tracer: Tracer, a: object, axis: Any = None, keepdims: bool = False) -> Value:
    """np.mean(a, axis, keepdims=...)."""
    value = tracer.lift(a)
    count = prod(shape_of(value)[i] for i in normal_axes("mean", axis, len(shape_of(value))))
    return mul.trace(tracer, trace(tracer, value, axis, keepdims), 1.0 / count)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Some axes of an array, kept or not."""
    array = rng.normal(size=random_shape(rng, slots, int(rng.integers(1, 4))))
    count = int(rng.integers(1, array.ndim + 1))
    axes = tuple(sorted(int(axis) for axis in rng.choice(array.ndim, count, replace=False)))
    keepdims = bool(rng.random() < 0.5)
    attrs = {"axes": axes, "keepdims": keepdims}
    return Case((array,), lambda a: np.sum(a, axis=axes, keepdims=keepdims), attrs)


def _sum(a: FloatArray, axes: tuple[int, ...], keepdims: bool) -> Any:
    return np.sum(a, axis=axes, keepdims=keepdims)


def lower(target: Target, a: Operand, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Rotate and add, or one linear transform."""
    return reduce_axes(target, a, axes, keepdims)


SUM = tensor_op(
    "sum",
    shape=shape,
    semantics=_sum,
    attributes={"axes": tuple, "keepdims": bool},
    random_case=random_case,
    rows=row_rules.reduction,
    numpy={np.sum: trace, np.mean: trace_mean},
    lower=lower,
)
