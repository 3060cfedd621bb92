"""Products of matrices in ATen."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import matrix_products as meant


def _addbmm(c: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    return meant.addmm(c, np.concatenate(list(a), axis=-1), np.reshape(b, (-1, b.shape[-1])), beta, alpha)


def _einsum(equation: str, tensors: Any, *, path: Any = None) -> Any:
    return meant.einsum(equation.replace(" ", ""), *tensors)


def _tensordot(x: Any, other: Any, dims_self: Any, dims_other: Any) -> Any:
    return np.tensordot(x, other, (dims_self, dims_other))


def _matrix_power(x: Any, n: int) -> Any:
    if n < 0:
        raise UnsupportedError(f"linalg_matrix_power: n={n} inverts a matrix; give its inverse as an input")
    return np.linalg.matrix_power(x, n)


CONVERTERS = [
    *each("linear.default", meant.linear),
    *each("matmul.default mm.default bmm.default mv.default dot.default", meant.matmul),
    *each("addmm.default addmv.default", meant.addmm),
    *each("baddbmm.default", meant.baddbmm),
    *each("addbmm.default", _addbmm),
    *each("einsum.default", _einsum),
    *each("bilinear.default", meant.bilinear),
    *each("outer.default", meant.outer),
    *each("tensordot.default", _tensordot),
    *each("kron.default", np.kron),
    *each("linalg_matrix_power.default", _matrix_power, "n of 0 and more"),
]
