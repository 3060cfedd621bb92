"""NumPy functions that trace to several operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latticework.tensor.ops import (
    apply,
    combining,
    convolving,
    einsum,
    indexing,
    joining,
    linear_algebra,
    matmul,
    mul,
    neg,
    powers,
    prod,
    splitting,
    statistics,
)
from latticework.tensor.ops import sum as summing
from latticework.tensor.ops.take import trace_diagonal

COMPOSED: dict[Callable[..., Any], Callable[..., Any]] = {
    np.concatenate: joining.concatenate,
    np.stack: joining.stack,
    np.vstack: joining.vstack,
    np.dstack: joining.dstack,
    np.hstack: joining.hstack,
    np.column_stack: joining.column_stack,
    np.append: joining.append,
    np.split: splitting.split,
    np.array_split: splitting.array_split,
    np.hsplit: splitting.hsplit,
    np.vsplit: splitting.vsplit,
    np.diff: splitting.diff,
    np.broadcast_arrays: combining.broadcast_arrays,
    np.fliplr: splitting.fliplr,
    np.flipud: splitting.flipud,
    np.rot90: splitting.rot90,
    np.take: indexing.take,
    np.compress: indexing.compress,
    np.delete: indexing.delete,
    np.repeat: indexing.repeat,
    np.tile: indexing.tile,
    np.diagonal: trace_diagonal,
    np.trace: combining.trace_of,
    np.diag: combining.diag,
    np.tril: combining.tril,
    np.triu: combining.triu,
    np.where: combining.where,
    np.average: combining.average,
    np.var: combining.var,
    np.std: combining.std,
    np.divide: powers.divide,
    np.power: powers.power,
    np.float_power: powers.power,
    np.convolve: convolving.convolve,
    np.correlate: convolving.correlate,
    np.einsum: einsum.einsum,
    np.tensordot: einsum.tensordot,
    np.inner: einsum.inner,
    np.vdot: einsum.vdot,
    np.outer: einsum.outer,
    np.kron: einsum.kron,
    np.cov: statistics.cov,
    np.corrcoef: statistics.corrcoef,
    np.linalg.norm: linear_algebra.norm,
    np.linalg.multi_dot: linear_algebra.multi_dot,
    np.linalg.matrix_power: linear_algebra.matrix_power,
    np.conjugate: neg.trace_positive,
    np.fabs: apply.tracing("absolute"),
    # Secrets hold no NaN: clients refuse them.
    np.nansum: summing.trace,
    np.nanmean: summing.trace_mean,
    np.nanprod: prod.trace,
    np.nanvar: combining.var,
    np.nanstd: combining.std,
    **dict.fromkeys((np.deg2rad, np.radians), mul.by(np.pi / 180.0)),
    **dict.fromkeys((np.rad2deg, np.degrees), mul.by(180.0 / np.pi)),
}

# Not in every version of NumPy that is supported.
_NEWER: dict[str, Callable[..., Any]] = {
    "unstack": splitting.unstack,
    "matrix_transpose": combining.matrix_transpose,
    "vecdot": einsum.vecdot,
    "matvec": einsum.matvec,
    "vecmat": einsum.vecmat,
}
_OF_LINALG: dict[str, Callable[..., Any]] = {
    "matmul": matmul.trace,
    "outer": linear_algebra.outer,
    "tensordot": einsum.tensordot,
    "vecdot": einsum.vecdot,
    "matrix_transpose": combining.matrix_transpose,
    "vector_norm": linear_algebra.vector_norm,
    "matrix_norm": linear_algebra.matrix_norm,
}
COMPOSED |= {getattr(np, name): trace for name, trace in _NEWER.items() if hasattr(np, name)}
COMPOSED |= {getattr(np.linalg, name): trace for name, trace in _OF_LINALG.items() if hasattr(np.linalg, name)}
