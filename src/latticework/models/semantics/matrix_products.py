"""Products of matrices and of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.models.semantics.operand_checks import is_secret


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias, of x (..., in) and weight (out, in), or (in,) for one output without an axis."""
    product = np.matmul(x, weight if np.ndim(weight) < 2 else np.swapaxes(weight, -1, -2))
    return product if bias is None else np.add(product, bias)


def matmul(a: Any, b: Any) -> Any:
    """The product of two matrices, vectors, or stacks of matrices."""
    return np.matmul(a, b)


def addmm(c: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> Any:
    """beta * c + alpha * (a @ b); c is left out where beta is 0."""
    return _affine(c, a, b, beta, alpha)


def gemm(
    a: Any, b: Any, c: Any = None, alpha: float = 1, beta: float = 1, trans_a: bool = False, trans_b: bool = False
) -> Any:
    """alpha * (a' @ b') + beta * c, where a' and b' are transposed if so said."""
    a, b = (np.swapaxes(m, -1, -2) if turned else m for m, turned in ((a, trans_a), (b, trans_b)))
    return _affine(c, a, b, beta, alpha)


def baddbmm(c: Any, a: Any, b: Any, beta: float = 1, alpha: float = 1) -> Any:
    """addmm of stacks of matrices."""
    return _affine(c, a, b, beta, alpha)


def _affine(c: Any, a: Any, b: Any, beta: float, alpha: float) -> Any:
    """The factor of the product goes into the side that is public, where there is one."""
    if alpha != 1 and is_secret(a):
        b = np.multiply(alpha, b)
    elif alpha != 1:
        a = np.multiply(alpha, a)
    product = np.matmul(a, b)
    if c is None or beta == 0:
        return product
    return np.add(product, c if beta == 1 else np.multiply(beta, c))


def einsum(equation: str, *operands: Any) -> Any:
    """Products over named axes, as np.einsum has them."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    return np.einsum(equation, *given)


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Any:
    """out[..., o] = sum over i, j of x1[..., i] * weight[o, i, j] * x2[..., j] + bias[o]."""
    product = np.einsum("...i,oij,...j->...o", x1, weight, x2)
    return product if bias is None else np.add(product, bias)


def outer(a: Any, b: Any) -> Any:
    """All products of an element of one vector and one of another."""
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        raise ShapeError(f"outer: shapes {np.shape(a)} and {np.shape(b)}; both have to be vectors")
    return np.outer(a, b)


def along_axis(x: Any, matrix: Any, axis: int) -> Any:
    """A public matrix (new length, length) applied to an axis, counted from the front."""
    if axis == np.ndim(x) - 1:
        return np.matmul(x, np.transpose(matrix))
    if axis == np.ndim(x) - 2:
        return np.matmul(matrix, x)
    return np.moveaxis(np.matmul(np.moveaxis(x, axis, -1), np.transpose(matrix)), -1, axis)
