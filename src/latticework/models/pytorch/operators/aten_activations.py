"""Activations of ATen."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.pytorch.operators.table import convert_dtype, each
from latticework.models.semantics import activations as meant
from latticework.models.semantics.elementwise_arithmetic import clamp
from latticework.models.semantics.unary import MEANINGS


def _elu(x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    if input_scale == 1:
        return np.multiply(scale, meant.elu(x, alpha)) if scale != 1 else meant.elu(x, alpha)
    if alpha * input_scale == 1 and scale == 1:
        return meant.celu(x, alpha)
    if (alpha, scale, input_scale) == (meant.SELU_ALPHA, meant.SELU_SCALE, 1):
        return meant.selu(x)
    raise UnsupportedError(f"elu: alpha={alpha}, scale={scale}, input_scale={input_scale}; scale and input_scale of 1")


def _softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    return meant.softmax(convert_dtype(x, dtype), dim)


def _log_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    return meant.log_softmax(convert_dtype(x, dtype), dim)


def _threshold(x: Any, threshold: float, value: float) -> Any:
    if threshold == value:
        return clamp(x, min=threshold)
    if value == 0:
        return meant.thresholded_relu(x, threshold)
    raise UnsupportedError(
        f"threshold: it jumps from {value:g} to {threshold:g}; train with both equal, or write it in a program: "
        f"{REMEDIES['comparison'].for_programs}"
    )


def _rrelu(x: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    if training:
        raise UnsupportedError(f"rrelu: {REMEDIES['random'].for_models}")
    return meant.leaky_relu(x, (lower + upper) / 2)


CONVERTERS = [
    *each("relu6.default", meant.relu6),
    *each("leaky_relu.default", meant.leaky_relu),
    *each("prelu.default _prelu_kernel.default", meant.prelu),
    *each("rrelu.default", _rrelu, "in evaluation mode"),
    *each("elu.default", _elu),
    *each("selu.default", meant.selu),
    *each("celu.default", meant.celu),
    *each("softplus.default", meant.softplus),
    *each("gelu.default", lambda x, *, approximate="none": meant.gelu(x, approximate)),
    *each("softshrink.default", meant.softshrink),
    *each("hardtanh.default", meant.hardtanh),
    *each("hardsigmoid.default", meant.hardsigmoid),
    *each("log_sigmoid_forward.default", lambda x: (MEANINGS["log_sigmoid"](x),)),
    *each("threshold.default", _threshold, "where it has no step: value is threshold"),
    *each("glu.default", meant.glu),
    *each("softmax.int", _softmax),
    *each("_softmax.default", lambda x, dim, half_to_float: meant.softmax(x, dim)),
    *each("log_softmax.int", _log_softmax),
    *each("_log_softmax.default", lambda x, dim, half_to_float: meant.log_softmax(x, dim)),
]
