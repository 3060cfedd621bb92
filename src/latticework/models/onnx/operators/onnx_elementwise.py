"""Arithmetic and activations, element by element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from latticework.frontend.functions.array_functions import approximate, tanh
from latticework.functions.table import RECORDS
from latticework.models.converters import Converter
from latticework.models.onnx.operators.onnx_sizes import bound_size, broadcast
from latticework.models.semantics import activations, elementwise_arithmetic
from latticework.models.semantics.operand_checks import is_secret
from latticework.models.semantics.unary import MEANINGS


def _both(meaning: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """A converter's function of two operands, which are broadcast."""

    @bound_size(broadcast)
    def two(a: Any, b: Any) -> Any:
        return meaning(a, b)

    return two


def _fold(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A converter's function of any number of operands, folded from the first on."""

    @bound_size(broadcast)
    def several(first: Any, *others: Any) -> Any:
        return functools.reduce(meaning, others, first)

    return several


def _div(a: Any, b: Any) -> Any:
    """Divide; public whole numbers are rounded towards 0."""
    whole = all(not is_secret(x) and np.asarray(x).dtype.kind in "iu" for x in (a, b))
    if whole and not np.all(b):
        raise ZeroDivisionError("a whole number is divided by 0")
    return (
        elementwise_arithmetic.div(a, b, "trunc").astype(np.asarray(a).dtype)
        if whole
        else elementwise_arithmetic.div(a, b)
    )


def _pow(x: Any, exponent: Any) -> Any:
    """Raise to a power, in the type of x."""
    if is_secret(x, exponent):
        return elementwise_arithmetic.power(x, exponent)
    base = np.asarray(x)
    return np.power(base.astype(np.float64), exponent).astype(base.dtype)


@bound_size(broadcast)
def _mean(*operands: Any) -> Any:
    return functools.reduce(np.add, operands) * (1 / len(operands))


def _clip(x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return elementwise_arithmetic.clamp(x, low if min is None else min, high if max is None else max)


def _prelu(x: Any, slope: Any) -> Any:
    """Slopes are stretched over the last axes; a vector is not of channels, as for PyTorch."""
    stretched = is_secret(slope) or np.ndim(slope) != 1 or np.size(slope) == 1
    return activations.prelu(x, slope if stretched else np.reshape(slope, (*(1,) * (np.ndim(x) - 1), -1)))


def _old_prelu(x: Any, slope: Any) -> Any:
    """Slopes of channels."""
    return activations.prelu(x, slope)


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    return activations.gelu(x, approximate=approximate)


def _leaky(x: Any, *, alpha: float = 0.01) -> Any:
    return activations.leaky_relu(x, alpha)


def _elu(x: Any, *, alpha: float = 1.0) -> Any:
    return activations.elu(x, alpha)


def _celu(x: Any, *, alpha: float = 1.0) -> Any:
    return activations.celu(x, alpha)


def _selu(x: Any, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Any:
    return activations.selu(x, alpha, gamma)


def _hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return activations.hardsigmoid(x, alpha, beta)


def _thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    return activations.thresholded_relu(x, alpha)


def _swish(x: Any, *, alpha: float = 1.0) -> Any:
    return MEANINGS["silu"](x) if alpha == 1 else x * MEANINGS["sigmoid"](np.multiply(alpha, x))


def _shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    def shrink(v: Any) -> Any:
        return np.where(v < -lambd, v + bias, np.where(v > lambd, v - bias, 0.0))

    return approximate(shrink)(x) if is_secret(x) else shrink(x)


def _scaled_tanh(x: Any, *, alpha: float = 1.0, beta: float = 1.0) -> Any:
    return np.multiply(alpha, tanh(np.multiply(beta, x)))


def _negative(x: Any) -> Any:
    return np.negative(x)


def _softplus(x: Any) -> Any:
    return activations.softplus(x)


_ARITHMETIC = (("Add", elementwise_arithmetic.add), ("Sub", np.subtract), ("Mul", np.multiply))
_WITH_OPTIONS = (
    *(Converter(name, _both(meaning)) for name, meaning in _ARITHMETIC),
    Converter("Div", _both(_div)),
    Converter("Pow", _both(_pow), note="the base or the exponent is public; then the exponent is one number"),
    Converter("Sum", _fold(np.add)),
    Converter("Mean", _mean),
    Converter("Max", _fold(elementwise_arithmetic.maximum)),
    Converter("Min", _fold(elementwise_arithmetic.minimum)),
    Converter("Where", bound_size(broadcast)(elementwise_arithmetic.where),
              since=9, note="the condition is public"),
    Converter("Clip", _clip),
    Converter("Neg", _negative),
    Converter("Softplus", _softplus),
    Converter("LeakyRelu", _leaky),
    Converter("PRelu", _old_prelu),
    Converter("PRelu", bound_size(broadcast)(_prelu), since=7),
    Converter("Elu", _elu),
    Converter("Celu", _celu, since=12),
    Converter("Selu", _selu),
    Converter("HardSigmoid", _hard_sigmoid),
    Converter("ThresholdedRelu", _thresholded_relu),
    Converter("Gelu", _gelu, since=20),
    Converter("Swish", _swish, since=24),
    Converter("Shrink", _shrink, since=9),
    Converter("ScaledTanh", _scaled_tanh),
)  # fmt: skip
CONVERTERS = (
    *_WITH_OPTIONS,
    *(
        Converter(record.onnx, MEANINGS[record.name], since=record.onnx_since)
        for record in RECORDS
        if record.onnx and record.onnx not in {converter.operator for converter in _WITH_OPTIONS}
    ),
)
