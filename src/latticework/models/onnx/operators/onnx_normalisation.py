"""Normalisations, as models carry them out: not while they are trained."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.lazy_dataclass import dataclass
from latticework.models.converters import Converter
from latticework.models.semantics import activations, normalisation
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.operand_checks import axes_of, axis_of
from latticework.models.semantics.unary import MEANINGS


@dataclass(frozen=True, kw_only=True)
class BatchNormOptions:
    """The attributes of BatchNormalization."""

    epsilon: float = 1e-5
    momentum: float = 0.9
    spatial: int = 1
    training_mode: int = 0


@group_parameters
def _batch(x: Any, scale: Any, bias: Any, mean: Any, var: Any, *, options: BatchNormOptions) -> Any:
    if options.training_mode:
        raise UnsupportedError(f"BatchNormalization in training mode: {REMEDIES['batch statistics'].for_models}")
    if not options.spatial:
        raise UnsupportedError("BatchNormalization with spatial=0, by element; export the model with a newer version")
    return normalisation.batch_norm(x, mean, var, scale, bias, options.epsilon)


def _old_batch(*operands: Any, is_test: int = 0, consumed_inputs: Sequence[int] = (), **options: Any) -> Any:
    if not is_test:
        raise UnsupportedError(
            f"BatchNormalization in training mode, is_test=0: {REMEDIES['batch statistics'].for_models}"
        )
    return _batch(*operands, **options)


def _layer(
    x: Any, scale: Any = None, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1,
    wanted: Sequence[bool] = (),
) -> Any:  # fmt: skip
    """Normalise a layer; the means and the factors are further results where they are wanted."""
    at = axis_of("LayerNormalization", axis, np.ndim(x))
    shape = np.shape(x)[at:]
    scale = None if scale is None else np.broadcast_to(scale, shape)
    bias = None if bias is None else np.broadcast_to(bias, shape)
    found = normalisation.layer_norm(x, shape, scale, bias, epsilon)
    if not any(wanted[1:]):
        return found
    axes = tuple(range(at, np.ndim(x)))
    mean = np.mean(x, axis=axes, keepdims=True)
    return found, mean, MEANINGS["rsqrt"](np.var(x, axis=axes, keepdims=True) + epsilon)


def _rms(x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    shape = np.shape(x)[axis_of("RMSNormalization", axis, np.ndim(x)) :]
    return normalisation.rms_norm(x, shape, np.broadcast_to(scale, shape), epsilon)


def _instance(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    return normalisation.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def _group(x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    return normalisation.group_norm(x, num_groups, scale, bias, epsilon)


def _old_group(x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1) -> Any:
    """Scales and shifts of groups, not of channels."""
    if num_groups < 1 or np.shape(x)[1] % num_groups:
        raise ShapeError(f"GroupNormalization: {num_groups} groups of {np.shape(x)[1]} channels")
    each = np.shape(x)[1] // num_groups
    return normalisation.group_norm(x, num_groups, np.repeat(scale, each), np.repeat(bias, each), epsilon)


def _mean_variance(x: Any, *, axes: Sequence[int] = (0, 2, 3)) -> Any:
    named = axes_of("MeanVarianceNormalization", axes, np.ndim(x))
    centred = x - np.mean(x, axis=named, keepdims=True)
    return centred * MEANINGS["rsqrt"](np.mean(np.square(centred), axis=named, keepdims=True) + 1e-9)


def _lp(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    return normalisation.lp_normalize(x, p, axis)


def _local(x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    """The square sum of an even number of channels reaches one further behind than before."""
    return normalisation.local_response_norm(x, size, alpha, beta, bias, (size - 1) // 2)


def _softmax(x: Any, *, axis: int = -1) -> Any:
    return activations.softmax(x, axis)


def _log_softmax(x: Any, *, axis: int = -1) -> Any:
    return activations.log_softmax(x, axis)


def _old(meaning: Any) -> Any:
    """The softmax of versions before 13: over all elements from an axis on."""

    def apply_flattened(x: Any, *, axis: int = 1) -> Any:
        shape = np.shape(x)
        at = axis_of("Softmax", axis, len(shape))
        return np.reshape(meaning(np.reshape(x, (prod(shape[:at]), -1)), axis=1), shape)

    return apply_flattened


CONVERTERS = (
    Converter("BatchNormalization", _old_batch),
    Converter("BatchNormalization", _batch, since=7, note="not while training"),
    Converter("LayerNormalization", _layer, since=17),
    Converter("RMSNormalization", _rms, since=23),
    Converter("InstanceNormalization", _instance),
    Converter("GroupNormalization", _old_group, since=18),
    Converter("GroupNormalization", _group, since=21),
    Converter("MeanVarianceNormalization", _mean_variance, since=9),
    Converter("LpNormalization", _lp, note="of what is not 0"),
    Converter("LRN", _local),
    Converter("Softmax", _old(_softmax)),
    Converter("Softmax", _softmax, since=13),
    Converter("LogSoftmax", _old(_log_softmax)),
    Converter("LogSoftmax", _log_softmax, since=13),
)
