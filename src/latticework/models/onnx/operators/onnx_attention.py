"""Attention, of heads as an axis of their own or side by side."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.models.converters import Converter
from latticework.models.onnx.size_limits import check_size
from latticework.models.semantics.attention import masked_softmax
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.operand_checks import is_secret, public, values
from latticework.models.semantics.shaping import repeat_interleave


@dataclass(frozen=True, kw_only=True)
class AttentionOptions:
    """The attributes of Attention, and which of its results are `wanted`."""

    is_causal: int = 0
    kv_num_heads: int | None = None
    q_num_heads: int | None = None
    qk_matmul_output_mode: int = 0
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: int = 1
    left_window_size: int = -1
    right_window_size: int = -1
    wanted: Sequence[bool] = ()


@group_parameters
def _attention(
    q: Any, k: Any, v: Any, mask: Any = None, past_key: Any = None, past_value: Any = None, cache_lengths: Any = None,
    *, options: AttentionOptions,
) -> Any:  # fmt: skip
    """Attend with q, k, v (batch, heads, length, each), or (batch, length, heads * each) with numbers of heads.

    returns  the result, and keys and values with those of the past
    """
    if cache_lengths is not None or options.left_window_size >= 0 or options.right_window_size >= 0:
        raise UnsupportedError(
            "Attention: windows and lengths of caches are not supported; give the mask that they stand for"
        )
    if any(options.wanted[3:]):
        raise UnsupportedError(
            "Attention: its fourth result, the scores, is not supported; write it as MatMul and Softmax"
        )
    flat = np.ndim(q) == 3
    if flat:
        q = _split_heads(q, options.q_num_heads)
        k, v = (_split_heads(x, options.kv_num_heads) for x in (k, v))
    past = 0 if past_key is None else np.shape(past_key)[2]
    if past_key is not None and past_value is not None:
        k, v = (np.concatenate([values(past), x], 2) for past, x in ((past_key, k), (past_value, v)))
    present = k, v
    heads, fewer = np.shape(q)[1], np.shape(k)[1]
    if heads % fewer:
        raise ShapeError(f"Attention: {heads} heads of queries, and {fewer} of keys do not divide them")
    if heads != fewer:
        k, v = (repeat_interleave(x, heads // fewer, 1) for x in (k, v))
    rows, columns = np.shape(q)[2], np.shape(k)[2]
    check_size((*np.shape(q)[:2], rows, columns), secret=is_secret(q, k, v))
    factor = sqrt(1 / sqrt(np.shape(q)[3]) if options.scale is None else options.scale)
    scores = np.matmul(np.multiply(q, factor), np.swapaxes(np.multiply(k, factor), -1, -2))
    if options.softcap:
        scores = np.tanh(scores * (1 / options.softcap)) * options.softcap
    shares = masked_softmax("Attention", scores, _join_masks(mask, rows, columns, past if options.is_causal else None))
    result = np.matmul(shares, v)
    if flat:
        result = np.reshape(np.swapaxes(result, 1, 2), (np.shape(result)[0], rows, -1))
    return result, *present


def _split_heads(x: Any, count: int | None) -> Any:
    batch, length, width = np.shape(x)
    if not count or width % count:
        raise ShapeError(f"Attention: {count} heads of {width} numbers")
    return np.swapaxes(np.reshape(x, (batch, length, count, width // count)), 1, 2)


def _join_masks(given: Any, rows: int, columns: int, past: int | None) -> Any:
    """Join `given` and causality, where query i sees keys up to past + i: true where keys count, or addends."""
    causal = None if past is None else np.tri(rows, columns, past, dtype=bool)
    if given is None:
        return causal
    mask = public("Attention", "the mask", given)
    if (short := columns - mask.shape[-1]) > 0:
        filling = False if mask.dtype.kind == "b" else -np.inf
        mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, short)], constant_values=filling)
    if causal is None:
        return mask
    return mask & causal if mask.dtype.kind == "b" else np.where(causal, mask, -np.inf)


CONVERTERS = (
    Converter(
        "Attention", _attention, since=23, note="masks are public; no windows, no cache but past keys and values"
    ),
)
