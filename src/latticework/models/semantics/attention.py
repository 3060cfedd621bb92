"""Attention: softmax(q @ k.T * scale) @ v, where elements that a public mask takes out are left out of the softmax."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.models.semantics.activations import softmax
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.masking import LEFT_OUT as LEFT_OUT
from latticework.models.semantics.masking import with_addend, without
from latticework.models.semantics.matrix_products import linear
from latticework.models.semantics.operand_checks import is_secret, public, values, whole
from latticework.models.semantics.shaping import repeat_interleave


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention of queries (..., L, E), keys (..., S, E) and values (..., S, V): (..., L, V).

    attn_mask   public, broadcast to (..., L, S): booleans that are true where a key counts, or addends to the scores
    is_causal   query i sees keys 0 to i
    scale       of the scores, 1 / sqrt(E) unless given
    enable_gqa  the heads, axis -3, of keys and values are fewer, each for several in a row of the queries
    """
    if dropout_p:
        raise UnsupportedError(f"attention: dropout_p={dropout_p:g} is of training; export the model as it predicts")
    if enable_gqa:
        key, value = (_for_heads(np.shape(query), x) for x in (key, value))
    scores = np.matmul(*_scale_one_side(query, np.swapaxes(values(key), -1, -2), scale, np.shape(query)[-1]))
    if is_causal:
        if attn_mask is not None:
            raise UnsupportedError("attention: attn_mask and is_causal=True; give one of the two")
        attn_mask = np.tri(*np.shape(scores)[-2:], dtype=bool)
    return np.matmul(masked_softmax("attention", scores, attn_mask), value)


def _scale_one_side(query: Any, key: Any, scale: float | None, width: int) -> tuple[Any, Any]:
    """The factor goes into a side that is public, or into the queries before the product."""
    factor = 1.0 / math.sqrt(width) if scale is None else float(scale)
    return (query, np.multiply(key, factor)) if not is_secret(key) else (np.multiply(query, factor), key)


def _for_heads(query: tuple[int, ...], x: Any) -> Any:
    heads, fewer = query[-3], np.shape(x)[-3]
    if heads % fewer:
        raise ShapeError(f"attention: {heads} heads of queries, and {fewer} of keys or values do not divide them")
    return repeat_interleave(x, heads // fewer, -3)


def masked_softmax(name: str, scores: Any, mask: Any) -> Any:
    """The softmax along the last axis under a mask: booleans true where scores count, or addends.

    raises  RangeError where a row has none that counts; UnsupportedError for booleans that are secret
    """
    if mask is None:
        return softmax(scores, -1)
    if is_secret(mask):
        return softmax(np.add(scores, mask), -1)
    given = _broadcast(name, scores, np.asarray(mask))
    return softmax(without(scores, ~given) if given.dtype.kind == "b" else with_addend(scores, given), -1)


def _broadcast(name: str, scores: Any, mask: Any) -> Any:
    """A mask without leading axes that it has of length 1."""
    while mask.ndim > np.ndim(scores) and mask.shape[0] == 1:
        mask = mask[0]
    if np.broadcast_shapes(mask.shape, np.shape(scores)) != np.shape(scores):
        raise ShapeError(
            f"{name}: a mask of shape {mask.shape} does not broadcast to scores of shape {np.shape(scores)}"
        )
    return mask


@dataclass(frozen=True)
class Projections:
    """Linear maps of queries, keys and values, and of the result.

    in_proj_weight  (3 * features, features), of queries, keys and values; or a tuple of the three
    """

    in_proj_weight: Any
    in_proj_bias: Any = None
    out_proj_weight: Any = None
    out_proj_bias: Any = None


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """Masks, and the form of operands and results.

    attn_mask         public, (L, S) or (batch * heads, L, S): true where a key does NOT count, or addends
    key_padding_mask  public, (batch, S), likewise
    need_weights      return the shares too, (batch, L, S) or of each head
    batch_first       False: (length, batch, features)
    """

    attn_mask: Any = None
    key_padding_mask: Any = None
    is_causal: bool = False
    need_weights: bool = False
    average_attn_weights: bool = True
    batch_first: bool = True


@group_parameters
def multi_head_attention(
    query: Any, key: Any, value: Any, num_heads: int, weights: Projections, *, options: HeadOptions
) -> Any:
    """torch.nn.MultiheadAttention of (batch, length, features), or without a batch."""
    in_weight, in_bias, batch_first = weights.in_proj_weight, weights.in_proj_bias, options.batch_first
    single = np.ndim(query) == 2
    heads = whole("multi_head_attention", "num_heads", num_heads, 1)
    given = [np.expand_dims(values(x), 0) if single else values(x) for x in (query, key, value)]
    if not single and not batch_first:
        given = [np.swapaxes(x, 0, 1) for x in given]
    maps = list(in_weight) if isinstance(in_weight, (tuple, list)) else np.split(values(in_weight), 3)
    biases: Any = [None] * 3 if in_bias is None else np.split(values(in_bias), 3)
    width = np.shape(maps[0])[0]
    if width % heads:
        raise ShapeError(f"multi_head_attention: {heads} heads do not divide {width} features")
    scale = math.sqrt(heads / width)
    maps[0], biases[0] = maps[0] * scale, None if biases[0] is None else biases[0] * scale
    q, k, v = (_split_heads(linear(x, w, b), heads) for x, w, b in zip(given, maps, biases, strict=True))
    scores = np.matmul(q, np.swapaxes(k, -1, -2))
    shares = masked_softmax("multi_head_attention", scores, _join_masks(scores, options))
    joined = np.reshape(np.swapaxes(np.matmul(shares, v), 1, 2), (*np.shape(given[0])[:2], width))
    result = (
        joined if weights.out_proj_weight is None else linear(joined, weights.out_proj_weight, weights.out_proj_bias)
    )
    if single:
        result, shares = np.squeeze(result, 0), np.squeeze(shares, 0)
    elif not batch_first:
        result = np.swapaxes(result, 0, 1)
    if not options.need_weights:
        return result
    return result, np.mean(shares, axis=-3) if options.average_attn_weights else shares


def _split_heads(x: Any, heads: int) -> Any:
    """Turn (batch, length, heads * each) into (batch, heads, length, each)."""
    batch, length, width = np.shape(x)
    return np.swapaxes(np.reshape(x, (batch, length, heads, width // heads)), 1, 2)


def _join_masks(scores: Any, options: HeadOptions) -> Any:
    """Join both masks into one of the scores (batch, heads, L, S): true where they count, or addends."""
    batch, heads, rows, columns = np.shape(scores)
    masks = []
    if options.attn_mask is not None:
        mask = public("multi_head_attention", "attn_mask", options.attn_mask)
        masks.append(mask.reshape(batch, heads, rows, columns) if mask.ndim == 3 else mask)
    elif options.is_causal:
        masks.append(~np.tri(rows, columns, dtype=bool))
    if options.key_padding_mask is not None:
        mask = public("multi_head_attention", "key_padding_mask", options.key_padding_mask)
        masks.append(mask.reshape(-1, 1, 1, columns))
    if not masks:
        return None
    if all(mask.dtype.kind == "b" for mask in masks):
        return ~np.logical_or.reduce(np.broadcast_arrays(*masks))
    return sum(np.where(mask, -np.inf, 0.0) if mask.dtype.kind == "b" else mask for mask in masks)
