"""Arithmetic, element by element: quotients, powers, bounds and choices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.frontend.functions.comparing import sign as sign_of
from latticework.functions.approximation.piecewise_linear import piecewise_linear_clip, relu_from
from latticework.functions.approximation.real_functions import FUNCTIONS, Function
from latticework.models.semantics.masking import LEFT_OUT, with_addend, without
from latticework.models.semantics.operand_checks import apply_function, is_secret, number, public, values

UNBOUNDED = float(np.finfo(np.float32).max)
"""Bounds from here on bound nothing: models write infinity so."""


def add(a: Any, b: Any, alpha: float = 1) -> Any:
    """a + alpha * b; where a public one is far below 0 scores for a softmax count for nothing (`masking`)."""
    b = b if alpha == 1 else np.multiply(b, alpha)
    for scores, addend in ((a, b), (b, a)):
        if is_secret(scores) and not is_secret(addend) and np.any(np.asarray(addend) <= LEFT_OUT):
            return with_addend(scores, addend)
    return np.add(a, b)


def sub(a: Any, b: Any, alpha: float = 1) -> Any:
    """a - alpha * b."""
    return np.subtract(a, b if alpha == 1 else np.multiply(b, alpha))


def div(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    """a / b; of whole numbers too, unless `rounding_mode` is "floor" or "trunc" (of public numbers only)."""
    if rounding_mode is None:
        return np.true_divide(a, b)
    if rounding_mode not in ("floor", "trunc"):
        raise UnsupportedError(f"div: rounding_mode={rounding_mode!r}; there are None, 'floor' and 'trunc'")
    if is_secret(a, b):
        raise UnsupportedError(
            f"div: rounding_mode={rounding_mode!r} of what is secret; {REMEDIES['rounding'].for_models}"
        )
    a, b = np.asarray(a), np.asarray(b)
    floor = np.floor_divide(a, b)
    if rounding_mode == "floor":
        return floor
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return floor + ((floor < 0) & (floor * b != a))
    return np.trunc(np.true_divide(a, b))


def power(x: Any, exponent: Any) -> Any:
    """x ** exponent; of secrets where one of the two is public, and the exponent then one number."""
    if is_secret(x) and not is_secret(exponent):
        exponents = np.asarray(exponent)
        if exponents.size and (exponents == exponents.flat[0]).all():
            result = np.power(x, float(exponents.flat[0]))
            return (
                result
                if exponents.ndim == 0
                else np.broadcast_to(result, np.broadcast_shapes(x.shape, exponents.shape))
            )
    return np.power(x, exponent)


def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    """x, but at least `min` and at most `max`: `max` everywhere where `min` is larger."""
    low, high = (_bound(bound, side) for bound, side in ((min, -1), (max, 1)))
    if not is_secret(x):
        x = np.asarray(x) if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)
    if all(bound is None or (not is_secret(bound) and np.ndim(bound) == 0) for bound in (low, high)):
        return x if low is None and high is None else apply_function(_clamp(low, high), x)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _bound(bound: Any, side: int) -> Any:
    if bound is None or is_secret(bound):
        return bound
    array = np.asarray(bound)
    found = array.reshape(()) if array.size == 1 and array.ndim <= 1 else array
    return None if array.dtype.kind == "f" and (side * found >= UNBOUNDED).all() else found


def _clamp(low: Any, high: Any) -> Function:
    if low is not None and high is None and low == 0:
        return FUNCTIONS["relu"]
    return _clamp_function(None if low is None else float(low), None if high is None else float(high))


@lru_cache(maxsize=64)
def _clamp_function(low: float | None, high: float | None) -> Function:
    def between(x: Any) -> Any:
        x = np.asarray(x, dtype=np.float64) if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)

    if low is not None and high is not None:
        pieces = piecewise_linear_clip(low, high) if low < high else None
    elif low is not None:
        pieces = relu_from(low, constant=low)
    else:
        assert high is not None
        pieces = relu_from(high, 1.0, 0.0, constant=high)
    return Function("clamp", between, smooth=False, pieces=pieces)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two."""
    return _extreme(np.maximum, a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two."""
    return _extreme(np.minimum, a, b)


def _extreme(pick: Any, a: Any, b: Any) -> Any:
    """The larger or smaller of a and b; one public number is a bound to clamp at."""
    for x, bound in ((a, b), (b, a)):
        if is_secret(x) and not is_secret(bound) and np.size(bound) == 1 and np.ndim(bound) <= len(x.shape):
            return clamp(x, min=bound) if pick is np.maximum else clamp(x, max=bound)
    return pick(a, b)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where a public condition is true, b elsewhere."""
    chosen = public("where", "the condition", condition, REMEDIES["branch"].instead)
    for scores, filled, gone in ((a, b, chosen == 0), (b, a, chosen != 0)):
        if is_secret(scores) and not is_secret(filled) and (low := np.asarray(filled) <= LEFT_OUT).any():
            kept = scores if low.all() else np.where(gone, np.where(low, 0.0, filled), scores)
            return without(kept, gone & low)
    return np.where(chosen, a, b)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """x with `value` in the places where a public mask is true."""
    chosen = public("masked_fill", "the mask", mask, REMEDIES["branch"].instead).astype(bool)
    return where(chosen, value, values(x))


def sign(x: Any, gap: float | None = None) -> Any:
    """-1, 0 or 1; of secrets with the distance from 0 from which on it has to be right."""
    if not is_secret(x):
        return np.sign(x)
    if gap is None:
        raise UnsupportedError(f"sign: {REMEDIES['comparison'].for_models}")
    return sign_of(x, gap=number("sign", "gap", gap))
