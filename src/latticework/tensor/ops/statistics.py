"""np.cov and np.corrcoef: products of rows with their means taken away."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import apply, joining, matmul, mul, reshape, sub, transpose
from latticework.tensor.ops import sum as summing
from latticework.tensor.ops.base import Tracer, shape_of


def cov(
    tracer: Tracer,
    m: object,
    y: object = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Value:
    """np.cov(m, y, rowvar, bias, ddof) without weights."""
    if fweights is not None or aweights is not None:
        raise UnsupportedError("cov: weights are not supported; multiply the columns by their square roots first")
    apart = _centre(tracer, "cov", m, y, rowvar)
    count = shape_of(apart)[1]
    left = count - (ddof if ddof is not None else 0 if bias else 1)
    if left <= 0:
        raise RangeError(f"cov: {count} observations leave nothing to divide by; give more, or ddof=0")
    products = matmul.trace(tracer, apart, transpose.trace(tracer, apart))
    return reshape.trace_squeeze(tracer, mul.trace(tracer, products, 1.0 / left))


def corrcoef(tracer: Tracer, x: object, y: object = None, rowvar: bool = True) -> Value:
    """np.corrcoef(x, y, rowvar): products of rows that are divided by their deviation, one reciprocal square root."""
    apart = _centre(tracer, "corrcoef", x, y, rowvar)
    variance = summing.trace_mean(tracer, mul.trace_square(tracer, apart), 1, True)
    rows = mul.trace(tracer, apart, apply.trace(tracer, variance, "rsqrt"))
    products = matmul.trace(tracer, rows, transpose.trace(tracer, rows))
    return reshape.trace_squeeze(tracer, mul.trace(tracer, products, 1.0 / shape_of(apart)[1]))


def _centre(tracer: Tracer, name: str, m: object, y: object, rowvar: bool) -> Value:
    """Variables as rows, each without its mean."""
    rows = _rows(tracer, name, m, rowvar)
    if y is not None:
        others = _rows(tracer, name, y, rowvar)
        if shape_of(rows)[1] != shape_of(others)[1]:
            raise ShapeError(
                f"{name}: {shape_of(rows)[1]} and {shape_of(others)[1]} observations; give equally many of both"
            )
        rows = joining.concatenate(tracer, (rows, others))
    return sub.trace(tracer, rows, summing.trace_mean(tracer, rows, 1, True))


def _rows(tracer: Tracer, name: str, m: object, rowvar: bool) -> Value:
    if np.ndim(rowvar):
        raise ShapeError(f"{name}: rowvar has shape {np.shape(rowvar)}; give True or False")
    value = tracer.lift(m)
    rank = len(shape_of(value))
    if rank > 2:
        raise ShapeError(f"{name}: shape {shape_of(value)} has more than 2 axes; give variables as rows of a matrix")
    if rank < 2:
        return reshape.trace(tracer, value, (1, -1))
    return value if rowvar or shape_of(value)[0] == 1 else transpose.trace(tracer, value)
