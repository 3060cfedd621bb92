"""Attention in ATen, and softmaxes under masks as people write them: what counts for nothing is filled with -inf.

Such scores are no numbers that could be encrypted, so what fills them makes `LeftOut`, which only a softmax takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from latticework.errors import UnsupportedError
from latticework.importers.meanings import activations, arithmetic, attention
from latticework.importers.meanings.values import is_secret, public
from latticework.importers.torch_door.operators.table import converted, each


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Scores of which some count for nothing.

    scores  an array or a secret
    kept    public, of a shape that broadcasts to theirs: true where they count
    """

    scores: Any
    kept: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the scores."""
        return np.broadcast_shapes(self.scores.shape, self.kept.shape)

    def _refuse(self, *args: Any, **options: Any) -> NoReturn:
        raise UnsupportedError(
            f"numbers of {attention.LEFT_OUT:g} or less, or -inf, were filled in before, which only a softmax takes: "
            "fill in 0 instead, or multiply the result of the softmax by the mask"
        )

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = __getitem__ = _refuse


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """x with a number where a public mask is true."""
    if is_secret(value) or np.size(value) != 1 or float(np.reshape(value, ())) > attention.LEFT_OUT:
        return arithmetic.masked_fill(x, mask, value)
    kept = ~public("masked_fill", "the mask", mask).astype(bool)
    return LeftOut(x.scores, x.kept & kept) if isinstance(x, LeftOut) else LeftOut(x, kept)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where a public condition is true, b elsewhere."""
    if not is_secret(condition):
        for x, other, mask in ((a, b, np.asarray(condition)), (b, a, ~np.asarray(condition, dtype=bool))):
            if not is_secret(other) and np.size(other) == 1 and np.all(np.asarray(other) <= attention.LEFT_OUT):
                return masked_fill(x, ~mask.astype(bool), other)
    return arithmetic.where(condition, a, b)


def add(a: Any, b: Any, alpha: float = 1) -> Any:
    """a + alpha * b; where a public addend is far below 0 the sum counts for nothing."""
    for x, addend in ((a, b), (b, a)):
        if is_secret(addend) or isinstance(addend, LeftOut) or alpha != 1:
            continue
        shift = np.asarray(addend)
        kept = shift > attention.LEFT_OUT
        if kept.all() or shift.dtype.kind != "f":
            continue
        rest = np.where(kept, shift, 0.0)
        return masked_fill(arithmetic.add(x, rest) if rest.any() else x, ~kept, -np.inf)
    return arithmetic.add(a, b, alpha)


def softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    """exp(x) over its sum along an axis, of what counts."""
    if not isinstance(x, LeftOut):
        return activations.softmax(converted(x, dtype), dim)
    scores = np.broadcast_to(x.scores, x.shape) if x.scores.shape != x.shape else x.scores
    last = np.swapaxes(scores, dim, -1)
    return np.swapaxes(
        attention.masked_softmax("softmax", last, np.swapaxes(np.broadcast_to(x.kept, x.shape), dim, -1)), dim, -1
    )


def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    return attention.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _flash(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    return (_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale),)


_MASK = "the mask is public"

CONVERTERS = [
    *each("scaled_dot_product_attention.default", _attention, _MASK),
    *each("_scaled_dot_product_flash_attention_for_cpu.default", _flash, f"{_MASK}; the result alone"),
    *each("softmax.int", softmax, "of scores filled with -inf, too"),
    *each("_softmax.default", lambda x, dim, half_to_float: softmax(x, dim), "of scores filled with -inf, too"),
    *each("add.Tensor add.Scalar", add),
    *each("where.self where.ScalarSelf where.ScalarOther where.Scalar", where, "the condition is public"),
    *each("masked_fill.Scalar masked_fill.Tensor", masked_fill, "the mask is public"),
]
