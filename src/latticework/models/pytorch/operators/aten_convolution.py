"""Convolutions and pools of ATen."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.lazy_dataclass import dataclass
from latticework.models.average_pooling import PRICE
from latticework.models.pytorch.operators.table import each, pairs
from latticework.models.semantics import columns, pooling
from latticework.models.semantics import convolution as meant
from latticework.models.semantics.grouped_parameters import group_parameters

_AXES = "along one axis or two"
_VALUES = "the values; where they were is a comparison"


def _conv(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    axes = len(weight.shape) - 2
    if isinstance(padding, str):
        around = _named_padding(padding, weight.shape[2:], dilation)
    else:
        around = pairs(padding, axes)
    return meant.convolution(x, weight, bias, stride, around, dilation, groups)


def _named_padding(padding: str, kernel: Any, dilation: Any) -> Any:
    """Zeros around for the padding "same", with the odd one behind; 0 for "valid"."""
    if padding == "valid":
        return 0
    gaps = dilation if isinstance(dilation, list | tuple) else [dilation]
    gaps = gaps * len(kernel) if len(gaps) == 1 else gaps
    total = [d * (k - 1) for d, k in zip(gaps, kernel, strict=True)]
    return tuple((n // 2, n - n // 2) for n in total)


def _transpose(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    around = pairs(padding, len(weight.shape) - 2)
    return meant.conv_transpose(x, weight, bias, stride, around, output_padding, groups, dilation)


@dataclass(frozen=True)
class ConvolutionArguments:
    """The arguments of ATen's general convolution behind the bias; the last four choose an implementation."""

    stride: Any
    padding: Any
    dilation: Any
    transposed: bool
    output_padding: Any
    groups: int
    benchmark: bool = False
    deterministic: bool = False
    cudnn_enabled: bool = False
    allow_tf32: bool = False


@group_parameters
def _convolve(x: Any, weight: Any, bias: Any, c: ConvolutionArguments) -> Any:
    if c.transposed:
        return _transpose(x, weight, bias, c.stride, c.padding, c.output_padding, c.groups, c.dilation)
    return _conv(x, weight, bias, c.stride, c.padding, c.dilation, c.groups)


def _average(
    x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    kernel, steps, around = _window(kernel_size, stride, padding, len(x.shape))
    return pooling.average_pool(x, kernel, steps, around, ceil_mode, count_include_pad, divisor_override)


def _average_of_channels(x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, *options: Any) -> Any:
    """Windows along one of three axes, as local response normalisation has them."""
    along = [axis for axis, size in enumerate(kernel_size) if size != 1]
    borders = [n for n, size in zip(_three(padding), kernel_size, strict=True) if size == 1]
    if len(along) != 1 or any(step != 1 for step in _three(stride or kernel_size)) or any(borders):
        raise UnsupportedError(f"windows {kernel_size} along three axes; {REMEDIES['three axes'].for_models}")
    axis = len(x.shape) - 3 + along[0]
    moved = np.moveaxis(x, axis, -1)
    found = _average(moved, [kernel_size[along[0]]], [1], [_three(padding)[along[0]]], *options)
    return np.moveaxis(found, -1, axis)


def _three(given: Any) -> list[int]:
    numbers = list(given) if isinstance(given, list | tuple) else [given]
    return numbers * 3 if len(numbers) == 1 else numbers


def _largest(
    x: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    kernel, steps, around = _window(kernel_size, stride, padding, len(x.shape))
    return pooling.max_pool(x, kernel, steps, around, dilation, ceil_mode)


def _largest_alone(*args: Any) -> Any:
    return (_largest(*args),)


def _window(kernel: Any, stride: Any, padding: Any, rank: int) -> tuple[list[int], Any, Any]:
    axes = len(kernel)
    if axes > 2 or axes >= rank:
        raise UnsupportedError(f"windows {kernel} in an array of {rank} axes; {REMEDIES['three axes'].for_models}")
    return list(kernel), stride or None, pairs(padding, axes)


CONVERTERS = [
    *each("conv1d.default conv1d.padding conv2d.default conv2d.padding", _conv),
    *each("conv_transpose1d.default conv_transpose2d.input", _transpose),
    *each("convolution.default _convolution.default", _convolve, _AXES),
    *each("im2col.default", columns.unfold),
    *each("col2im.default", columns.fold),
    *each("avg_pool1d.default avg_pool2d.default", _average),
    *each("avg_pool3d.default", _average_of_channels, "along one of the three axes"),
    *each("max_pool1d.default max_pool2d.default", _largest, PRICE),
    *each("max_pool1d_with_indices.default max_pool2d_with_indices.default", _largest_alone, f"{_VALUES}; {PRICE}"),
    *each("adaptive_avg_pool1d.default adaptive_avg_pool2d.default", pooling.adaptive_average_pool, "any size"),
    *each("_adaptive_avg_pool2d.default", pooling.adaptive_average_pool, "any size"),
    *each("adaptive_max_pool1d.default adaptive_max_pool2d.default",
          lambda x, size: (pooling.adaptive_max_pool(x, size),), f"{_VALUES}; {PRICE}"),
]  # fmt: skip
