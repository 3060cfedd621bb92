"""Products of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.models.converters import Converter
from latticework.models.onnx.operators.onnx_sizes import bound_size, product
from latticework.models.onnx.size_limits import (
    PRODUCTS_OF_CALL,
    PRODUCTS_OF_CALL_ONE_BY_ONE,
    PRODUCTS_OF_WORK,
    PRODUCTS_ONE_BY_ONE,
    take_products,
)
from latticework.models.semantics import matrix_products
from latticework.models.semantics.operand_checks import is_secret


def _gemm_shape(a: Any, b: Any, c: Any = None, *, transA: int = 0, transB: int = 0, **_options: Any) -> tuple[int, ...]:
    if np.ndim(a) != 2 or np.ndim(b) != 2:
        raise ShapeError(f"Gemm: shapes {np.shape(a)} and {np.shape(b)}; both have to be matrices")
    return np.shape(a)[1 if transA else 0], np.shape(b)[0 if transB else 1]


def _count(a: Any, b: Any, summed: int) -> int:
    """Products of matrices, or of stacks of them, of which the axis `summed` of the first is summed up."""
    if np.ndim(a) > 2 or np.ndim(b) > 2:
        return prod(product(a, b)) * int(np.shape(a)[summed])
    return int(np.size(a) * np.size(b)) // max(int(np.shape(a)[summed]), 1)


def _in_a_unit(*operands: Any) -> int:
    return PRODUCTS_OF_CALL if is_secret(*operands) else PRODUCTS_OF_WORK


@bound_size(_gemm_shape)
def _gemm(
    a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0
) -> Any:
    take_products(_count(a, b, 0 if transA else 1), "Gemm", _in_a_unit(a, b))
    return matrix_products.gemm(a, b, c, alpha, beta, bool(transA), bool(transB))


def _einsum_shape(*operands: Any, equation: str) -> tuple[int, ...]:
    """The product of all lengths, as a bound, of the axes of the result; of the ellipsis those of the largest rank."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ShapeError(f"Einsum: equation {equation!r} is of {len(terms)} operands, and there are {len(operands)}")
    lengths: dict[str, int] = {}
    around: list[tuple[int, ...]] = []
    for term, operand in zip(terms, operands, strict=True):
        shape, (ahead, dots, behind) = np.shape(operand), term.partition("...")
        extra = len(shape) - len(ahead) - len(behind)
        if extra < 0 or (extra and not dots):
            raise ShapeError(f"Einsum: term {term!r} does not fit shape {shape}")
        around.append(shape[len(ahead) : len(ahead) + extra])
        named = shape[: len(ahead)] + shape[len(shape) - len(behind) :]
        for letter, extent in zip(ahead + behind, named, strict=True):
            lengths[letter] = max(lengths.get(letter, 1), extent)
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        right = "..." + "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    kept = [lengths.get(letter, 1) for letter in right.replace(".", "")]
    count = prod(lengths.values()) * prod(np.broadcast_shapes(*around))
    take_products(count, "Einsum", PRODUCTS_OF_CALL_ONE_BY_ONE if is_secret(*operands) else PRODUCTS_ONE_BY_ONE)
    return (*(np.broadcast_shapes(*around) if "..." in right else ()), *kept)


@bound_size(_einsum_shape)
def _einsum(*operands: Any, equation: str) -> Any:
    return matrix_products.einsum(equation.replace(" ", ""), *operands)


@bound_size(product)
def _matmul(a: Any, b: Any) -> Any:
    take_products(_count(a, b, -1), "MatMul", _in_a_unit(a, b))
    return matrix_products.matmul(a, b)


CONVERTERS = (
    Converter("MatMul", _matmul),
    Converter("Gemm", _gemm),
    Converter("Einsum", _einsum, since=12),
)
