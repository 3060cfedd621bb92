"""Operators of ATen that leave numbers as they are, and those that make new ones of a shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.pytorch.operators.table import convert_dtype, each
from latticework.models.semantics.operand_checks import values


def _same(x: Any, *, memory_format: Any = None) -> Any:
    return x


def _to_copy(
    x: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    return convert_dtype(x, dtype)


def _like(x: Any, other: Any, *unused: Any, memory_format: Any = None) -> Any:
    return convert_dtype(x, values(other).dtype)


def _dropout(x: Any, p: float, train: bool) -> Any:
    if train and p > 0:
        raise UnsupportedError(f"dropout: {REMEDIES['random'].for_models}")
    return x


def _full(fill: Any) -> Any:
    """An array of one number, of the shape of a given one."""

    def fill_like(
        x: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
        memory_format: Any = None,
    ) -> Any:  # fmt: skip
        return np.full(x.shape, fill, x.dtype if dtype is None else dtype)

    return fill_like


def _full_like(
    x: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    return _full(fill_value)(x, dtype=dtype)


def _new(fill: Any) -> Any:
    """An array of one number, of another shape."""

    def fill_new(
        x: Any, size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
    ) -> Any:
        return np.full(tuple(size), fill, x.dtype if dtype is None else dtype)

    return fill_new


def _new_full(
    x: Any, size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: Any = None,
) -> Any:  # fmt: skip
    return _new(fill_value)(x, size, dtype=dtype)


CONVERTERS = [
    *each("clone.default contiguous.default detach.default alias.default lift_fresh_copy.default", _same),
    *each("_to_copy.default", _to_copy, "float32 and float64; secrets are not rounded"),
    *each("to.dtype", lambda x, dtype, *unused, memory_format=None: convert_dtype(x, dtype), "as _to_copy"),
    *each("type_as.default", _like, "as _to_copy"),
    *each("dropout.default feature_dropout.default alpha_dropout.default", _dropout, "in evaluation mode"),
    *each("native_dropout.default", lambda x, p, train: (_dropout(x, p, train),), "in evaluation mode"),
    *each("copy.default", lambda x, src, non_blocking=False: np.broadcast_to(values(src), x.shape)),
    *each("fill.Scalar fill.Tensor", lambda x, value: np.broadcast_to(values(value), x.shape)),
    *each("zeros_like.default", _full(0)),
    *each("ones_like.default", _full(1)),
    *each("full_like.default", _full_like),
    *each("new_zeros.default", _new(0)),
    *each("new_ones.default", _new(1)),
    *each("new_full.default", _new_full),
]
