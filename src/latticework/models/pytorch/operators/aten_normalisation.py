"""Normalisations of ATen."""

from __future__ import annotations

from typing import Any

from latticework.lazy_dataclass import dataclass
from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import normalisation as meant
from latticework.models.semantics.grouped_parameters import group_parameters

_EVALUATION = "in evaluation mode, with running statistics"


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> tuple[Any, ...]:
    return (meant.batch_norm(x, mean, var, weight, bias, eps),)


@dataclass(frozen=True)
class InstanceNormArguments:
    """The arguments of ATen's instance_norm behind the running statistics."""

    use_input_stats: bool
    momentum: float
    eps: float
    cudnn_enabled: bool = True


@group_parameters
def _instance_norm(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, options: InstanceNormArguments
) -> Any:
    if options.use_input_stats:
        return meant.instance_norm(x, weight, bias, options.eps)
    return meant.batch_norm(x, running_mean, running_var, weight, bias, options.eps)


def _layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enable: bool = True
) -> Any:
    return meant.layer_norm(x, normalized_shape, weight, bias, eps)


def _group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    return meant.group_norm(x, num_groups, weight, bias, eps)


def _native_group_norm(
    x: Any, weight: Any, bias: Any, batch: int, channels: int, size: int, group: int, eps: float
) -> tuple[Any, ...]:
    return (meant.group_norm(x, group, weight, bias, eps),)


CONVERTERS = [
    *each("_native_batch_norm_legit_no_training.default", _batch_norm, _EVALUATION),
    *each("instance_norm.default", _instance_norm),
    *each("layer_norm.default", _layer_norm),
    *each("native_layer_norm.default", lambda *args: (_layer_norm(*args),), "the normalised numbers alone"),
    *each("group_norm.default", _group_norm),
    *each("native_group_norm.default", _native_group_norm, "the normalised numbers alone"),
    *each("rms_norm.default", meant.rms_norm),
    *each("_fused_rms_norm.default", lambda *args: (meant.rms_norm(*args),), "the normalised numbers alone"),
]
