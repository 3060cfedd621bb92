"""np.where by a public mask, averages and variances, triangles and diagonals: a few operations each."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.ir.core import Value
from latticework.tensor.ops import add, apply, broadcast_to, mul, pad, reshape, sub, take, transpose
from latticework.tensor.ops import sum as summing
from latticework.tensor.ops.base import Tracer, broadcast_shape, normal_axes, shape_of


def where(tracer: Tracer, condition: object, x: object = None, y: object = None) -> Value:
    """np.where(condition, x, y) by a public condition."""
    chosen = tracer.plain(condition)
    if chosen is None or x is None or y is None:
        raise UnsupportedError(
            "where: the condition is secret, and np.where takes everything but 0 for true, which no polynomial "
            f"follows: {REMEDIES['branch'].program}"
        )
    mask = (chosen != 0).astype(np.float64)
    broadcast_shape("where", mask.shape, broadcast_shape("where", shape_of(tracer.lift(x)), shape_of(tracer.lift(y))))
    return add.trace(tracer, mul.trace(tracer, x, mask), mul.trace(tracer, y, 1.0 - mask))


def average(tracer: Tracer, a: object, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Value:
    """np.average(a, axis, weights) by public weights."""
    value = tracer.lift(a)
    if weights is None:
        return summing.trace_mean(tracer, value, axis, keepdims)
    public = tracer.plain(weights)
    if public is None:
        raise UnsupportedError("average: the weights are secret, and their sum would divide; multiply and sum instead")
    axes = normal_axes("average", axis, len(shape_of(value)))
    if public.shape != shape_of(value):
        if public.shape != tuple(shape_of(value)[i] for i in axes):
            raise ShapeError(
                f"average: weights of shape {public.shape} do not fit axes {axes} of shape {shape_of(value)}"
            )
        order = np.argsort(axes)
        public = public.transpose(order).reshape([n if i in axes else 1 for i, n in enumerate(shape_of(value))])
    total = np.sum(public, axis=axes, keepdims=True)
    if not total.all():
        raise RangeError("average: the weights add up to 0; give others")
    return summing.trace(tracer, mul.trace(tracer, value, public / total), axis, keepdims)


def var(tracer: Tracer, a: object, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Value:
    """np.var(a, axis, ddof=..., keepdims=...)."""
    value = tracer.lift(a)
    count = prod(shape_of(value)[i] for i in normal_axes("var", axis, len(shape_of(value))))
    if count <= ddof:
        raise RangeError(f"var: ddof={ddof} leaves nothing to divide {count} elements by; use less than {count}")
    apart = sub.trace(tracer, value, summing.trace_mean(tracer, value, axis, True))
    return mul.trace(
        tracer, summing.trace(tracer, mul.trace_square(tracer, apart), axis, keepdims), 1.0 / (count - ddof)
    )


def std(tracer: Tracer, a: object, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Value:
    """np.std(a, axis, ddof=..., keepdims=...): the square root of the variance."""
    return apply.trace(tracer, var(tracer, a, axis, ddof, keepdims), "sqrt")


def trace_of(tracer: Tracer, a: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """np.trace(a, offset, axis1, axis2)."""
    return summing.trace(tracer, take.trace_diagonal(tracer, a, offset, axis1, axis2), -1)


def diag(tracer: Tracer, v: object, k: int = 0) -> Value:
    """np.diag(v, k): the diagonal of a matrix, or the matrix that has a vector on its diagonal."""
    value = tracer.lift(v)
    if len(shape_of(value)) != 1:
        return take.trace_diagonal(tracer, value, k)
    long = pad.pad_zeros(tracer, value, (0,), (abs(k),))
    lines = reshape.trace(tracer, long, (-1, 1) if k >= 0 else (1, -1))
    return mul.trace(tracer, lines, np.eye(shape_of(long)[0], k=k))


def tril(tracer: Tracer, m: object, k: int = 0) -> Value:
    """np.tril(m, k)."""
    value = tracer.lift(m)
    return mul.trace(tracer, value, np.tri(*_last_two("tril", value), k=k))


def triu(tracer: Tracer, m: object, k: int = 0) -> Value:
    """np.triu(m, k)."""
    value = tracer.lift(m)
    return mul.trace(tracer, value, 1.0 - np.tri(*_last_two("triu", value), k=k - 1))


def broadcast_arrays(tracer: Tracer, args: Any) -> tuple[Value, ...]:
    """np.broadcast_arrays(*args)."""
    values = [tracer.lift(a) for a in args]
    common: tuple[int, ...] = ()
    for value in values:
        common = broadcast_shape("broadcast_arrays", common, shape_of(value))
    return tuple(broadcast_to.trace(tracer, value, common) for value in values)


def matrix_transpose(tracer: Tracer, x: object) -> Value:
    """np.matrix_transpose(x)."""
    value = tracer.lift(x)
    _last_two("matrix_transpose", value)
    return transpose.trace_swapaxes(tracer, value, -1, -2)


def _last_two(name: str, value: Value) -> tuple[int, int]:
    if len(shape_of(value)) < 2:
        raise ShapeError(f"{name}: shape {shape_of(value)} has no two axes; give a matrix, or a stack of them")
    rows, columns = shape_of(value)[-2:]
    return rows, columns
