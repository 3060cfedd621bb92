"""NumPy functions that trace to several operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latticework.ops import combining, convolving, einsum, indexing, joining, powers, splitting
from latticework.ops.take import trace_diagonal

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
}

# Not in every version of NumPy that is supported.
_NEWER: dict[str, Callable[..., Any]] = {
    "unstack": splitting.unstack,
    "matrix_transpose": combining.matrix_transpose,
    "vecdot": einsum.vecdot,
    "matvec": einsum.matvec,
    "vecmat": einsum.vecmat,
}
COMPOSED |= {getattr(np, name): trace for name, trace in _NEWER.items() if hasattr(np, name)}
