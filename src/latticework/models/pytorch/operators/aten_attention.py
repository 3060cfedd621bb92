"""Attention in ATen."""

from __future__ import annotations

from typing import Any

from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import attention as meant


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    return meant.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _flash(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    return (_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale),)


CONVERTERS = [
    *each("scaled_dot_product_attention.default", _attention, "the mask is public"),
    *each("_scaled_dot_product_flash_attention_for_cpu.default", _flash, "the mask is public; the result alone"),
]
