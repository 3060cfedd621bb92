"""Formulas of functions that NumPy has none of, on arrays of float64.

Polynomials are fitted to these values, so plans depend on every bit of them.
"""

from __future__ import annotations

import math

import numpy as np

from latticework.functions.function_record import FloatArray
from latticework.values.extension import _core


def relu(x: FloatArray) -> FloatArray:
    """max(x, 0); whole numbers stay whole."""
    return np.maximum(x, 0)


def sigmoid(x: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)), in the form that cannot overflow; below -37 it is 0."""
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x)))


def sigmoid_in_full(x: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)) to the last bit of numbers near 0 too.

    Owners take logarithms of what they decrypt, and that of the 0 of `sigmoid` is infinite. Polynomials are not fitted
    to it: it differs from `sigmoid` in last bits, so that every plan with one would change.
    """
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def gelu(x: FloatArray) -> FloatArray:
    """x * (1 + erf(x / sqrt 2)) / 2."""
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(0.5 * x * (1.0 + error_function(x / math.sqrt(2.0))))


def gelu_tanh(x: FloatArray) -> FloatArray:
    """GELU as GPT-2 approximates it."""
    x = np.asarray(x, dtype=np.float64)
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def reciprocal(x: FloatArray) -> FloatArray:
    """1 / x, of whole numbers too; infinite at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.asarray(x, dtype=np.float64))


def rsqrt(x: FloatArray) -> FloatArray:
    """1 / sqrt(x); infinite at 0, NaN below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 / np.sqrt(x))


def error_function(x: FloatArray) -> FloatArray:
    """erf(x), number by number."""
    array = np.asarray(x, dtype=np.float64)
    return _core.maps.error_function(np.ascontiguousarray(array).reshape(-1)).reshape(array.shape)


def complementary_error_function(x: FloatArray) -> FloatArray:
    """1 - erf(x), number by number, small ones too."""
    array = np.asarray(x, dtype=np.float64)
    return np.fromiter(map(math.erfc, array.reshape(-1).tolist()), np.float64, array.size).reshape(array.shape)


def softplus(x: FloatArray) -> FloatArray:
    """log(1 + exp(x))."""
    return np.logaddexp(0.0, x)


def silu(x: FloatArray) -> FloatArray:
    """x * sigmoid(x)."""
    return np.asarray(x) * sigmoid(x)


def mish(x: FloatArray) -> FloatArray:
    """x * tanh(softplus(x))."""
    return np.asarray(x) * np.tanh(softplus(x))


def hardswish(x: FloatArray) -> FloatArray:
    """x * min(max(x + 3, 0), 6) / 6."""
    x = np.asarray(x, dtype=np.float64)
    return x * np.clip(x + 3.0, 0.0, 6.0) / 6.0


def softsign(x: FloatArray) -> FloatArray:
    """x / (1 + |x|)."""
    return np.asarray(x) / (1.0 + np.abs(x))


def log_sigmoid(x: FloatArray) -> FloatArray:
    """log(sigmoid(x))."""
    return -softplus(-np.asarray(x))


def tanhshrink(x: FloatArray) -> FloatArray:
    """x - tanh(x)."""
    return np.asarray(x) - np.tanh(x)


def logit(x: FloatArray) -> FloatArray:
    """The inverse of the sigmoid."""
    return np.log(x) - np.log1p(-x)


def power_of_ten(x: FloatArray) -> FloatArray:
    """10 ** x, the inverse of log10."""
    return np.power(10.0, x)


def cube(x: FloatArray) -> FloatArray:
    """x ** 3, the inverse of cbrt."""
    return x * x * x


def inverse_square(x: FloatArray) -> FloatArray:
    """1 / x**2, the inverse of rsqrt."""
    return np.asarray(1.0 / np.square(x))
