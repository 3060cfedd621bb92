"""Normalisations: numbers moved and scaled by public statistics, or by their own."""

from __future__ import annotations

from typing import Any

import numpy as np


def batch_norm(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias, for each channel (axis 1) by its own public numbers."""
    scale = (1.0 if weight is None else np.asarray(weight)) / np.sqrt(np.asarray(var) + eps)
    shift = (0.0 if bias is None else np.asarray(bias)) - np.asarray(mean) * scale
    shape = (-1,) + (1,) * (np.ndim(x) - 2)
    return x * scale.reshape(shape) + shift.reshape(shape)
