"""Norms, and products of several matrices, as np.linalg has them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import apply, matmul, mul, reshape
from latticework.tensor.ops import sum as summing
from latticework.tensor.ops.base import Tracer, normal_axes, shape_of

_MATRIX_NORMS = (None, "fro", "f")


def norm(tracer: Tracer, x: object, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """np.linalg.norm(x, ord, axis, keepdims): of vectors with ord None, 1 or 2, of matrices the Frobenius norm."""
    value = tracer.lift(x)
    rank = len(shape_of(value))
    axes = normal_axes("norm", axis, rank)
    if ord is None and axis is None:
        return _root_of_squares(tracer, value, axes, keepdims)
    if len(axes) == 2:
        _refuse("norm", ord, _MATRIX_NORMS, "matrices", "'fro'")
    elif len(axes) == 1:
        _refuse("norm", ord, (None, 1, 2), "vectors", "1 or 2")
    else:
        raise ShapeError(f"norm: {len(axes)} axes; give axis= one axis of vectors, or two of matrices")
    if len(axes) == 1 and ord == 1:
        return summing.trace(tracer, apply.trace(tracer, value, "absolute"), axes, keepdims)
    return _root_of_squares(tracer, value, axes, keepdims)


def vector_norm(tracer: Tracer, x: object, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    """np.linalg.vector_norm(x, axis=, keepdims=, ord=) with ord 1 or 2."""
    value = tracer.lift(x)
    _refuse("vector_norm", ord, (1, 2), "vectors", "1 or 2")
    if ord == 1:
        return summing.trace(tracer, apply.trace(tracer, value, "absolute"), axis, keepdims)
    return _root_of_squares(tracer, value, normal_axes("vector_norm", axis, len(shape_of(value))), keepdims)


def matrix_norm(tracer: Tracer, x: object, keepdims: bool = False, ord: Any = "fro") -> Value:
    """np.linalg.matrix_norm(x, keepdims=), the Frobenius norm of the last two axes."""
    value = tracer.lift(x)
    _refuse("matrix_norm", ord, _MATRIX_NORMS, "matrices", "'fro'")
    return _root_of_squares(tracer, value, normal_axes("matrix_norm", (-2, -1), len(shape_of(value))), keepdims)


def multi_dot(tracer: Tracer, arrays: Any) -> Value:
    """np.linalg.multi_dot(arrays), from the left."""
    values = [tracer.lift(array) for array in arrays]
    shapes = [shape_of(value) for value in values]
    inner, ends = shapes[1:-1], (shapes[:1] + shapes[-1:])
    if len(values) < 2 or any(len(s) != 2 for s in inner) or any(len(s) not in (1, 2) for s in ends):
        raise ShapeError(
            f"multi_dot: shapes {shapes}; give two matrices or more, of which first and last may be vectors"
        )
    product = values[0]
    for value in values[1:]:
        product = matmul.trace(tracer, product, value)
    return product


def matrix_power(tracer: Tracer, a: object, n: Any) -> Value:
    """np.linalg.matrix_power(a, n) for a whole number n >= 0, at depth ceil(log2(n))."""
    value = tracer.lift(a)
    shape = shape_of(value)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"matrix_power: shape {shape}; give a square matrix, or a stack of them")
    try:
        exponent = operator.index(n)
    except TypeError:
        raise RangeError(f"matrix_power: n={n!r}; give a whole number") from None
    if exponent < 0:
        raise UnsupportedError(f"matrix_power: n={exponent}; secret matrices have no inverse here: give n >= 0")
    if exponent == 0:
        return tracer.lift(np.broadcast_to(np.eye(shape[-1]), shape))
    half = matrix_power(tracer, value, exponent // 2) if exponent > 1 else value
    square = matmul.trace(tracer, half, half) if exponent > 1 else value
    return matmul.trace(tracer, square, value) if exponent > 1 and exponent % 2 else square


def _root_of_squares(tracer: Tracer, value: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    squares = mul.trace_square(tracer, value)
    return apply.trace(tracer, summing.trace(tracer, squares, axes, keepdims), "sqrt")


def _refuse(name: str, ord: Any, known: tuple[Any, ...], what: str, remedy: str) -> None:
    if not any(ord is k or (k is not None and type(ord) is type(k) and ord == k) for k in known):
        raise UnsupportedError(f"{name}: ord={ord!r} of {what} needs comparisons or singular values; use ord={remedy}")


def outer(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.linalg.outer(x1, x2), of vectors only."""
    a, b = tracer.lift(x1), tracer.lift(x2)
    if len(shape_of(a)) != 1 or len(shape_of(b)) != 1:
        raise ShapeError(f"linalg.outer: shapes {shape_of(a)} and {shape_of(b)}; give two vectors, or use np.outer")
    return mul.trace(tracer, reshape.trace(tracer, a, (-1, 1)), reshape.trace(tracer, b, (1, -1)))
