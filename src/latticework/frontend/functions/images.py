"""Convolutions and pooling for programs, with PyTorch's meaning; in NumPy on arrays, compiled on secrets."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UserError
from latticework.frontend.recording.annotations import Result
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.tracing import FunctionTracer, Traced, user_line
from latticework.tensor.ops import conv2d as convolution
from latticework.tensor.ops import conv_transpose2d as transposing
from latticework.tensor.ops import sum_pool2d as pooling


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Result:
    """Slide kernels over images: out[o, i, j] = bias[o] + sum over c, k, l of weight[o, c, k, l] * x[c, i + k, j + l].

    x         (channels, rows, columns), or (batch, channels, rows, columns)
    weight    (out channels, channels / groups, kernel rows, kernel columns); x, weight or both may be secret
    bias      (out channels,)
    stride, dilation  a whole number, or (rows, columns)
    padding   zeros on each side: a number, (rows, columns), "valid" (0) or "same" (with stride 1: as large as x); for
              rows or columns also (before, after)
    groups    so many groups of channels are convolved apart
    returns   (out channels, r, s) with r = (rows + 2 padding - dilation * (kernel rows - 1) - 1) // stride + 1, or a
              batch of them
    """
    with user_line():
        tracer = _tracer(x, weight, bias)
        if tracer is not None:
            return tracer.call(convolution.trace, x, weight, bias, stride, padding, dilation, groups)
        images, kernels = plain_array(x, "conv2d"), plain_array(weight, "conv2d")
        attrs = convolution.attributes(images.shape, kernels.shape, stride, padding, dilation, groups)
        result = convolution.convolve(images, kernels, **attrs)
        if bias is None:
            return result
        shift = plain_array(bias, "conv2d")
        convolution.check_bias(shift.shape, kernels.shape)
        return result + shift.reshape(-1, 1, 1)


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: int = 1, padding: Any = 0, dilation: int = 1, groups: int = 1
) -> Result:
    """conv2d along one axis: x (channels, length) or with a batch in front, weight (out, channels / groups, kernel)."""
    with user_line():
        for what, array, ranks in (("x", x, (2, 3)), ("weight", weight, (3,))):
            if np.ndim(array) not in ranks:
                raise ShapeError(
                    f"conv1d: {what} has shape {np.shape(array)}; x must be (channels, length), with one batch axis in "
                    "front or none, and weight (out channels, in channels / groups, kernel)"
                )
        around = padding if isinstance(padding, str) else (0, padding)
        rows, kernels = np.expand_dims(x, -2), np.expand_dims(weight, -2)
        try:
            return np.squeeze(conv2d(rows, kernels, bias, (1, stride), around, (1, dilation), groups), -2)
        except UserError as error:
            raise type(error)(f"conv1d, as images of one row: {error.message}", at=error.at) from None


def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Result:
    """The transpose of conv2d: every pixel, times a kernel, is added to the result, `stride` apart.

    x         (channels, rows, columns), or (batch, channels, rows, columns)
    weight    (channels, out channels / groups, kernel rows, kernel columns); x or weight may be secret
    bias      (out channels,)
    padding   rows and columns cut off on each side: a number, (rows, columns), for either also (before, after)
    output_padding  rows and columns more at the end, less than the stride or the dilation
    returns   (out channels, r, s), or a batch of them, with
              r = (rows - 1) * stride - 2 padding + dilation * (kernel rows - 1) + output_padding + 1
    """
    with user_line():
        tracer = _tracer(x, weight, bias)
        options = stride, padding, output_padding, groups, dilation
        if tracer is not None:
            return tracer.call(transposing.trace, x, weight, bias, *options)
        images, kernels = plain_array(x, "conv_transpose2d"), plain_array(weight, "conv_transpose2d")
        result = transposing.spread(images, kernels, **transposing.attributes(images.shape, kernels.shape, *options))
        if bias is None:
            return result
        shift = plain_array(bias, "conv_transpose2d")
        transposing.check_bias(shift.shape, result.shape)
        return result + shift.reshape(-1, 1, 1)


def sum_pool2d(x: Any, kernel: Any, stride: Any = None, padding: Any = 0) -> Result:
    """Sums over windows of the last two axes.

    kernel   rows and columns of a window: a whole number, or two
    stride   from window to window; as large as the window unless given
    padding  zeros on each side, at most half of the kernel; or pairs (before, after), each less than the kernel
    """
    return _pool(x, kernel, stride, padding, mean=False)


def avg_pool2d(x: Any, kernel: Any, stride: Any = None, padding: Any = 0) -> Result:
    """Means over windows of the last two axes, as sum_pool2d; zeros of the padding count. Of a whole image: np.mean."""
    return _pool(x, kernel, stride, padding, mean=True)


def _pool(x: Any, kernel: Any, stride: Any, padding: Any, mean: bool) -> Any:
    with user_line():
        if isinstance(x, Traced):
            return x._tracer.call(pooling.trace, x, kernel, stride, padding, mean)
        name = "avg_pool2d" if mean else "sum_pool2d"
        images = plain_array(x, name)
        attrs = pooling.attributes(images.shape, kernel, stride, padding, name)
        total = pooling.sum_windows(images, **attrs)
        return total / np.prod(attrs["kernel"]) if mean else total


def _tracer(*operands: Any) -> FunctionTracer | None:
    return next((operand._tracer for operand in operands if isinstance(operand, Traced)), None)
