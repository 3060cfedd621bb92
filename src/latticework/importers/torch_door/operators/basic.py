"""Operators of layers, by the functions of programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.frontend import functions, images
from latticework.importers.converters import Converter


def _conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    return images.conv2d(x, weight, bias, stride, padding, dilation, groups)


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> Any:
    scale = (1 if weight is None else weight) / np.sqrt(var + eps)
    shift = (0 if bias is None else bias) - mean * scale
    shape = (-1,) + (1,) * (len(x.shape) - 2)
    return x * scale.reshape(shape) + shift.reshape(shape)


CONVERTERS = [
    Converter("aten.conv2d.default", _conv2d),
    Converter("aten.linear.default", lambda x, weight, bias=0.0: x @ weight.T + bias),
    Converter("aten.relu.default", functions.relu),
    Converter("aten.tanh.default", functions.tanh),
    Converter("aten.add.Tensor", lambda x, other, *, alpha=1: x + alpha * other),
    Converter("aten.view.default", lambda x, size: np.reshape(x, tuple(size))),
    Converter("aten._native_batch_norm_legit_no_training.default", _batch_norm),
    Converter("aten.adaptive_avg_pool2d.default", lambda x, sizes: np.mean(x, axis=(-2, -1), keepdims=True)),
]
