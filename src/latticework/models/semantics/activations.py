"""Activations with parameters: each one function of one number, exact on arrays and one polynomial of secrets.

Those without are in the table (`functions/table.py`). Functions with a kink, or with a jump in a derivative, say so
(`smooth=False`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.frontend.functions.array_functions import softmax as softmax_of
from latticework.frontend.functions.comparing import greater
from latticework.functions import definitions
from latticework.functions.approximation.piecewise_linear import PiecewiseLinear, piecewise_linear_clip, relu_from
from latticework.functions.approximation.real_functions import FUNCTIONS, Function
from latticework.models.semantics.elementwise_arithmetic import clamp
from latticework.models.semantics.masking import MaskedScores
from latticework.models.semantics.operand_checks import apply_function, axis_of, is_secret, number, values
from latticework.models.semantics.reductions import logsumexp
from latticework.models.semantics.unary import MEANINGS

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x where it is positive, negative_slope * x elsewhere."""
    return apply_function(_leaky(number("leaky_relu", "negative_slope", negative_slope)), x)


@lru_cache(maxsize=64)
def _leaky(slope: float) -> Function:
    return Function(
        "leaky_relu", lambda x: np.where(np.asarray(x) > 0, x, slope * np.asarray(x)), smooth=slope == 1,
        pieces=None if slope == 1 else relu_from(below=slope),
    )  # fmt: skip


def prelu(x: Any, weight: Any) -> Any:
    """x where it is positive, weight * x elsewhere.

    weight  one number; a vector: one for every channel, axis 1 of x; with more axes it is broadcast as by NumPy
    """
    if is_secret(weight):
        return np.multiply(weight, x) + (1.0 - weight) * MEANINGS["relu"](x)
    slopes = np.asarray(weight, dtype=np.float64)
    if slopes.size == 1 and slopes.ndim <= max(np.ndim(x), 1):
        return leaky_relu(x, float(slopes.reshape(())))
    if slopes.ndim == 1:
        if np.ndim(x) < 2 or np.shape(x)[1] != slopes.size:
            raise ShapeError(f"prelu: {slopes.size} slopes, and x of shape {np.shape(x)} has other channels")
        slopes = slopes.reshape(-1, *(1,) * (np.ndim(x) - 2))
    if is_secret(x):
        return slopes * x + (1.0 - slopes) * MEANINGS["relu"](x)
    return np.where(np.asarray(x) > 0, x, slopes * np.asarray(x))


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""
    return apply_function(_elu(number("elu", "alpha", alpha), 1.0, 1.0), x)


def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere."""
    a = number("celu", "alpha", alpha)
    return apply_function(_elu(a, 1.0, 1.0 / a), x)


def selu(x: Any, alpha: float = SELU_ALPHA, gamma: float = SELU_SCALE) -> Any:
    """gamma * elu(x, alpha)."""
    return apply_function(_elu(number("selu", "alpha", alpha), number("selu", "gamma", gamma), 1.0), x)


@lru_cache(maxsize=64)
def _elu(alpha: float, scale: float, inner: float) -> Function:
    def reference(x: Any) -> Any:
        x = np.asarray(x, dtype=np.float64)
        return scale * np.where(x > 0, x, alpha * np.expm1(inner * np.minimum(x, 0.0)))

    return Function("elu", reference, smooth=False)


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
    return apply_function(_softplus_of(number("softplus", "beta", beta), number("softplus", "threshold", threshold)), x)


@lru_cache(maxsize=64)
def _softplus_of(beta: float, threshold: float) -> Function:
    def reference(x: Any) -> Any:
        x = np.asarray(x, dtype=np.float64)
        return np.where(beta * x > threshold, x, definitions.softplus(beta * x) / beta)

    return Function("softplus", reference, smooth=threshold >= 15.0)  # a step of exp(-threshold)


def gelu(x: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function of x, or what GPT-2 takes for that ("tanh")."""
    if approximate not in ("none", "tanh"):
        raise UnsupportedError(f"gelu: approximate={approximate!r}; there are 'none' and 'tanh'")
    return apply_function(FUNCTIONS["gelu"] if approximate == "none" else GELU_TANH, x)


GELU_TANH = Function("gelu_tanh", definitions.gelu_tanh)


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """x, but at least min_val and at most max_val."""
    return clamp(x, min_val, max_val)


def relu6(x: Any) -> Any:
    """x, but at least 0 and at most 6."""
    return clamp(x, 0, 6)


def hardsigmoid(x: Any, alpha: float = 1.0 / 6.0, beta: float = 0.5) -> Any:
    """alpha * x + beta, but at least 0 and at most 1; PyTorch's alpha unless given (ONNX has 0.2)."""
    return apply_function(_hard_sigmoid(number("hardsigmoid", "alpha", alpha), number("hardsigmoid", "beta", beta)), x)


@lru_cache(maxsize=64)
def _hard_sigmoid(alpha: float, beta: float) -> Function:
    pieces = piecewise_linear_clip(0.0, 1.0, alpha, beta) if alpha > 0 else None
    return Function(
        "hardsigmoid", lambda x: np.clip(alpha * np.asarray(x) + beta, 0.0, 1.0), smooth=False, pieces=pieces
    )


def softshrink(x: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by `lambd`, and 0 closer to it than that."""
    return apply_function(_soft_shrink(number("softshrink", "lambd", lambd)), x)


@lru_cache(maxsize=64)
def _soft_shrink(by: float) -> Function:
    pieces = PiecewiseLinear((-by, by), (-0.5, 0.5), 1.0) if by > 0 else None
    return Function("softshrink", lambda x: np.asarray(x) - np.clip(x, -by, by), smooth=False, pieces=pieces)


def thresholded_relu(x: Any, alpha: float = 1.0, gap: float | None = None) -> Any:
    """x where it is above alpha, 0 elsewhere: a step, which of secrets takes a gap, unless alpha is 0."""
    bound = number("thresholded_relu", "alpha", alpha)
    if bound == 0:
        return MEANINGS["relu"](x)
    if not is_secret(x):
        return np.where(np.asarray(x) > bound, x, 0.0)
    if gap is None:
        raise UnsupportedError(
            f"thresholded_relu: it jumps from 0 to {bound:g} at {bound:g}; train with alpha=0, or write it in a "
            f"program: {REMEDIES['comparison'].for_programs}"
        )
    return x * greater(x, bound, gap=number("thresholded_relu", "gap", gap))


def glu(x: Any, dim: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second."""
    axis = axis_of("glu", dim, np.ndim(x))
    n = np.shape(x)[axis]
    if n % 2:
        raise ShapeError(f"glu: axis {axis} of shape {np.shape(x)} is {n} long, which has no halves")
    first, second = (values(x)[(*(np.s_[:],) * axis, half)] for half in (np.s_[: n // 2], np.s_[n // 2 :]))
    return first * MEANINGS["sigmoid"](second)


def softmax(x: Any, dim: int = -1) -> Any:
    """exp(x) over its sum along an axis; where x is -inf, or masked, it counts for nothing.

    raises  RangeError where nothing is left of a row
    """
    axis = axis_of("softmax", dim, np.ndim(x))
    if isinstance(x, MaskedScores):
        return softmax_of(x.scores, axis, where=x.kept)
    if is_secret(x) or not np.isneginf(x).any():
        return softmax_of(x, axis)
    kept = ~np.isneginf(x)
    return softmax_of(np.where(kept, x, 0.0), axis, where=kept)


def softmin(x: Any, dim: int = -1) -> Any:
    """The softmax of -x."""
    return softmax(np.negative(x), dim)


def log_softmax(x: Any, dim: int = -1) -> Any:
    """The logarithm of the softmax: x less its logsumexp."""
    return x - logsumexp(x, axis_of("log_softmax", dim, np.ndim(x)), keepdim=True)
