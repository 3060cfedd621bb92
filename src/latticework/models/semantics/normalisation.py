"""Normalisation: by statistics that are public one affine map, by those of the secret itself with a root below."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.functions.approximation.real_functions import Function
from latticework.models.semantics.concatenation import pad
from latticework.models.semantics.operand_checks import apply_function, axis_of, number, public, values, whole, wholes
from latticework.models.semantics.reductions import amax
from latticework.models.semantics.unary import MEANINGS

_TRAINED = "export the model as it predicts (model.eval()), with its running statistics"
_EPS = float(np.finfo(np.float64).eps)


def batch_norm(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias, public numbers for every channel (axis 1).

    They are one factor and one addend of each.
    """
    if mean is None or var is None:
        raise UnsupportedError(f"batch_norm: there are no running statistics; {_TRAINED}")
    name, shape = "batch_norm", np.shape(x)
    if len(shape) < 2:
        raise ShapeError(f"batch_norm: x of shape {shape} has no channels along axis 1")
    centre, spread = (_channels(name, what, v, shape[1]) for what, v in (("mean", mean), ("var", var)))
    _check_eps("batch_norm", eps)
    if not np.isfinite(spread).all():
        raise RangeError(f"batch_norm: a variance is {spread[~np.isfinite(spread)].flat[0]:g}; repair the model")
    if (spread + eps <= 0).any():
        raise RangeError(
            f"batch_norm: a variance plus eps={eps:g} is {float((spread + eps).min()):g}; it must be above 0"
        )
    scale = _channels(name, "weight", 1.0 if weight is None else weight, shape[1]) / np.sqrt(spread + eps)
    shift = _channels(name, "bias", 0.0 if bias is None else bias, shape[1]) - centre * scale
    along = (shape[1], *(1,) * (len(shape) - 2))
    return values(x) * scale.reshape(along) + shift.reshape(along)


def _channels(name: str, what: str, given: Any, count: int) -> Any:
    array = public(name, what, given, _TRAINED).astype(np.float64)
    if array.size not in (1, count):
        raise ShapeError(f"{name}: {what} has shape {array.shape}; it must be one number for each of {count} channels")
    return np.broadcast_to(array.reshape(-1), (count,))


def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalise the last axes, of shape `normalized_shape`, to mean 0 and variance 1; then times weight plus bias."""
    axes = _last("layer_norm", x, normalized_shape)
    return _affine(_standard(values(x), axes, eps, weight), None, bias)


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Divide by the root mean square of the last axes: x / sqrt(mean(x * x) + eps), times weight.

    eps   that of float64 unless given; PyTorch's is that of the type of x
    """
    axes, x = _last("rms_norm", x, normalized_shape), values(x)
    _check_eps("rms_norm", 0.0 if eps is None else eps)
    size = MEANINGS["rsqrt"](np.mean(np.square(x), axis=axes, keepdims=True) + (_EPS if eps is None else eps))
    return _affine(x, weight, None) * size


def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Every channel (axis 1) of every sample by itself: mean 0 and variance 1, then times weight plus bias."""
    shape = np.shape(x)
    if len(shape) < 3:
        raise ShapeError(
            f"instance_norm: x of shape {shape}; it must be (batch, channels, ...) with an axis behind them"
        )
    along = (shape[1], *(1,) * (len(shape) - 2))
    weight, bias = (None if p is None else np.reshape(values(p), along) for p in (weight, bias))
    return _affine(_standard(values(x), tuple(range(2, len(shape))), eps, weight), None, bias)


def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Every group of channels (axis 1) of every sample by itself, then times weight plus bias of each channel."""
    shape, groups = np.shape(x), whole("group_norm", "num_groups", num_groups, 1)
    if len(shape) < 2 or shape[1] % groups:
        raise ShapeError(f"group_norm: {groups} groups do not divide the channels, axis 1, of shape {shape}")
    along = (shape[1], *(1,) * (len(shape) - 2))
    weight, bias = (None if p is None else np.reshape(values(p), along) for p in (weight, bias))
    parts = np.reshape(values(x), (shape[0], groups, shape[1] // groups, *shape[2:]))
    inner = None if weight is None else np.reshape(weight, (groups, shape[1] // groups, *(1,) * (len(shape) - 2)))
    found = _standard(parts, tuple(range(2, len(shape) + 1)), eps, inner)
    return _affine(np.reshape(found, shape), None, bias)


def _check_eps(name: str, eps: float) -> None:
    """RangeError for what keeps no square root away from 0."""
    if not 0 <= eps < np.inf:
        raise RangeError(f"{name}: eps={eps:g}; give a number from 0 on, as 1e-5: it keeps variances away from 0")


def _standard(x: Any, axes: tuple[int, ...], eps: float, weight: Any) -> Any:
    """Mean 0 and variance 1 over axes, times a weight: that, where it is public, is a factor before the product."""
    apart = x - np.mean(x, axis=axes, keepdims=True)
    _check_eps("a normalisation", eps)
    size = MEANINGS["rsqrt"](np.mean(np.square(apart), axis=axes, keepdims=True) + eps)
    return _affine(apart, weight, None) * size


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    x = x if weight is None else np.multiply(x, weight)
    return x if bias is None else np.add(x, bias)


def _last(name: str, x: Any, normalized_shape: Any) -> tuple[int, ...]:
    shape, wanted = np.shape(x), wholes(name, "normalized_shape", normalized_shape)
    if not wanted or shape[-len(wanted) :] != wanted:
        raise ShapeError(f"{name}: normalized_shape={wanted} is not the end of shape {shape}")
    return tuple(range(len(shape) - len(wanted), len(shape)))


def lp_normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """x over its p-norm along an axis, or over eps where that is larger."""
    order, axis = number("lp_normalize", "p", p), axis_of("lp_normalize", dim, np.ndim(x))
    x = values(x)
    if order == np.inf:
        return x * apply_function(_inverse_root(1.0, float(eps)), amax(np.absolute(x), axis, keepdim=True))
    if not order > 0:
        raise UnsupportedError(f"lp_normalize: p={p!r}; there are numbers above 0, and inf")
    base = np.square(x) if order == 2 else np.absolute(x) if order == 1 else np.power(np.absolute(x), order)
    return x * apply_function(_inverse_root(order, float(eps)), np.sum(base, axis=axis, keepdims=True))


@lru_cache(maxsize=64)
def _inverse_root(order: float, eps: float) -> Function:
    def reference(total: Any) -> Any:
        root = np.sqrt(total) if order == 2 else np.power(total, 1.0 / order)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.maximum(root, eps))

    return Function("inverse norm", reference, domains=((0.0, inf),))


def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0, before: int | None = None
) -> Any:
    """x / (k + alpha * mean of x * x over `size` channels, axis 1)^beta; channels that are not there are 0.

    before  how many of them come before each: size // 2 unless given, as PyTorch has it; (size - 1) // 2 in ONNX
    """
    count, shape = whole("local_response_norm", "size", size, 1), np.shape(x)
    if len(shape) < 3:
        raise ShapeError(f"local_response_norm: x of shape {shape}; it must be (batch, channels, ...)")
    if not (0 <= alpha < inf and 0 <= k < inf and -inf < beta < inf and alpha + k > 0):
        raise RangeError(
            f"local_response_norm: alpha={alpha:g}, beta={beta:g}, k={k:g}; give alpha and k from 0 on, one of them "
            "above it, since k + alpha * mean is raised to a power"
        )
    first = count // 2 if before is None else whole("local_response_norm", "before", before, 0)
    squares = pad(np.square(x), [(0, 0) if i != 1 else (first, count - 1 - first) for i in range(len(shape))])
    sums = np.cumsum(np.eye(shape[1] + count - 1), axis=1)
    window = sums[:, count - 1 :] - np.hstack([np.zeros((len(sums), 1)), sums[:, : shape[1] - 1]])
    total = np.moveaxis(np.matmul(np.moveaxis(squares, 1, -1), window), -1, 1)
    return values(x) * np.power(k + total * (alpha / count), -beta)
