"""Reductions of ATen."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.models.pytorch.operators.table import convert_dtype, each
from latticework.models.semantics import reductions as meant
from latticework.models.semantics.elementwise_arithmetic import clamp

_VALUES = "the values; where they were is a comparison, lw.argmax(x, gap=...) in a program"


def _cast(reduce: Any) -> Any:
    """A reduction that PyTorch carries out in a kind of numbers."""

    def reduce_converted(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        return reduce(convert_dtype(x, dtype), dim, keepdim)

    return reduce_converted


def _by_correction(reduce: Any) -> Any:
    def reduce_corrected(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        return reduce(x, dim, 1 if correction is None else correction, keepdim)

    return reduce_corrected


def _by_unbiased_flag(reduce: Any) -> Any:
    return lambda x, dim=None, unbiased=True, keepdim=False: reduce(x, dim, int(unbiased), keepdim)


def _by_unbiased_flag_of_all(reduce: Any) -> Any:
    return lambda x, unbiased=True: reduce(x, None, int(unbiased))


def _values_only(reduce: Any) -> Any:
    return lambda x, dim, keepdim=False: (reduce(x, dim, keepdim),)


def _vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return meant.norm(convert_dtype(x, dtype), ord, dim, keepdim)


def _linalg_norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors, and of whole arrays without an order; NumPy computes orders of public matrices."""
    axes = len(x.shape) if dim is None else np.size(dim)
    if ord not in (None, "fro") and axes != 1:
        return np.linalg.norm(x, ord, None if dim is None else tuple(dim), keepdim)
    return meant.norm(convert_dtype(x, dtype), 2 if ord in (None, "fro") else ord, dim, keepdim)


def _cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    return meant.cumsum(convert_dtype(x, dtype), dim)


def _cosine(a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    lengths = [clamp(meant.norm(x, 2, dim), min=eps) for x in (a, b)]
    return meant.sum(np.multiply(a, b), dim) / lengths[0] / lengths[1]


def _distances(a: Any, b: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    """The distance of every row of `a` from every row of `b`."""
    return meant.norm(np.expand_dims(a, -2) - np.expand_dims(b, -3), p, -1)


def _distance(a: Any, b: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The distance of vectors along the last axis, each difference larger by `eps`."""
    return meant.norm(np.add(np.subtract(a, b), eps), p, -1, keepdim)


CONVERTERS = [
    *each("sum.default sum.dim_IntList", _cast(meant.sum)),
    *each("mean.default mean.dim", _cast(meant.mean)),
    *each("prod.default prod.dim_int", _cast(meant.prod)),
    *each("var.correction", _by_correction(meant.var)),
    *each("std.correction", _by_correction(meant.std)),
    *each("var.dim", _by_unbiased_flag(meant.var)),
    *each("std.dim", _by_unbiased_flag(meant.std)),
    *each("var.default", _by_unbiased_flag_of_all(meant.var)),
    *each("std.default", _by_unbiased_flag_of_all(meant.std)),
    *each("amax.default max.default", meant.amax),
    *each("amin.default min.default", meant.amin),
    *each("max.dim", _values_only(meant.amax), _VALUES),
    *each("min.dim", _values_only(meant.amin), _VALUES),
    *each("norm.Scalar", lambda x, p=2: meant.norm(x, p)),
    *each("norm.ScalarOpt_dim", lambda x, p, dim, keepdim=False: meant.norm(x, p, dim, keepdim)),
    *each("linalg_vector_norm.default", _vector_norm),
    *each("linalg_norm.default", _linalg_norm, "of vectors, and Frobenius"),
    *each("logsumexp.default", meant.logsumexp),
    *each("cumsum.default", _cumsum),
    *each("cosine_similarity.default", _cosine, "of vectors that keep apart from 0"),
    *each("pairwise_distance.default", _distance),
    *each("cdist.default _cdist_forward.default", _distances),
]
