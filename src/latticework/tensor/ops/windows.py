"""Sliding windows of convolutions and pooling over the last two axes, and the layouts of their results."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.tensor.layout.layout import Shape
from latticework.tensor.ops.base import FloatArray

Pair = tuple[int, int]
Padding = tuple[Pair, Pair]  # (before, after) along rows, and along columns


def pair(name: str, what: str, argument: Any, least: int) -> Pair:
    """One whole number for both axes, or two; ShapeError if it is less than `least` or no number."""
    try:
        values = tuple(
            operator.index(n) for n in (argument if isinstance(argument, (tuple, list)) else (argument, argument))
        )
    except TypeError:
        values = ()
    if len(values) != 2 or min(values) < least:
        raise ShapeError(f"{name}: {what}={argument!r} must be a whole number >= {least}, or two: (rows, columns)")
    return values[0], values[1]


def padding_of(name: str, argument: Any, kernel: Pair, stride: Pair, dilation: Pair) -> Padding:
    """Zeros around the image: a number, (rows, columns), "valid" (none) or "same" (the result is as large).

    In place of a number of rows or columns: (before, after).
    """
    if isinstance(argument, str):
        if argument == "valid":
            return (0, 0), (0, 0)
        if argument != "same":
            raise ShapeError(f"{name}: padding={argument!r} is neither a number nor 'same' or 'valid'")
        if stride != (1, 1):
            raise ShapeError(f"{name}: padding='same' goes with stride=1, not {stride}; give the padding as a number")
        total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return (total[0] // 2, total[0] - total[0] // 2), (total[1] // 2, total[1] - total[1] // 2)
    pairs = isinstance(argument, (tuple, list)) and len(argument) == 2 and not all(isinstance(n, int) for n in argument)
    rows, columns = argument if pairs else pair(name, "padding", argument, 0)
    return pair(name, "padding", rows, 0), pair(name, "padding", columns, 0)


def num_windows(name: str, a: Shape, kernel: Pair, stride: Pair, padding: Padding, dilation: Pair = (1, 1)) -> Pair:
    """Windows along the last two axes of an array: floor((n + padding - dilation * (kernel - 1) - 1) / stride) + 1."""
    counts = []
    for n, k, s, (before, after), d in zip(a[-2:], kernel, stride, padding, dilation, strict=True):
        reach = d * (k - 1) + 1
        if n + before + after < reach:
            raise ShapeError(
                f"{name}: a window of {reach} does not fit the last axes of shape {a}, which with padding are "
                f"{n + before + after} long; use a smaller kernel, or padding"
            )
        counts.append((n + before + after - reach) // s + 1)
    return counts[0], counts[1]


def windows(a: FloatArray, kernel: Pair, stride: Pair, padding: Padding, dilation: Pair = (1, 1)) -> FloatArray:
    """A view (..., window rows, window columns, kernel rows, kernel columns) of an array of shape (..., H, W)."""
    framed = _pad(a, padding)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(framed, reach, axis=(-2, -1))
    return view[..., :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def _pad(a: FloatArray, padding: Padding) -> FloatArray:
    """Put zeros around the last two axes; np.pad takes longer than a small convolution."""
    if padding == ((0, 0), (0, 0)):
        return a
    (above, below), (before, after) = padding
    rows, columns = a.shape[-2:]
    result = np.zeros((*a.shape[:-2], above + rows + below, before + columns + after), a.dtype)
    result[..., above : above + rows, before : before + columns] = a
    return result
