"""Windows of images as columns, and columns added up to images: PyTorch's unfold and fold, linear maps both."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.models.semantics.convolution import per_axis
from latticework.models.semantics.matrix_products import along_axis
from latticework.models.semantics.operand_checks import values


def unfold(x: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns of an image (..., channels, height, width): (..., channels * kernel elements, number of windows)."""
    lengths, lead = np.shape(x)[-2:], np.shape(x)[:-3]
    windows = _windows("unfold", x, 3, lengths, (kernel, dilation, padding, stride))
    for axis, (places, n) in enumerate(zip(windows, lengths, strict=True), start=np.ndim(x) - 2):
        x = along_axis(x, _picks(places, n), axis)
    (high, down), (wide, across) = (np.shape(places) for places in windows)
    split = np.reshape(values(x), (*lead, np.shape(x)[-3], high, down, wide, across))
    return np.reshape(np.swapaxes(split, -3, -2), (*lead, -1, down * across))


def fold(x: Any, size: Any, kernel: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The image (..., channels, *size) to which columns, as `unfold` makes them, add up where windows overlap."""
    lengths = per_axis("fold", "output_size", size, 2, 1)
    windows = _windows("fold", x, 2, lengths, (kernel, dilation, padding, stride))
    (high, down), (wide, across) = (np.shape(places) for places in windows)
    lead, (rows, columns) = np.shape(x)[:-2], np.shape(x)[-2:]
    if rows % (high * wide) or columns != down * across:
        raise ShapeError(
            f"fold: x of shape {np.shape(x)} for an image of {lengths[0]} x {lengths[1]}; it must be (..., a multiple "
            f"of {high * wide}, {down * across})"
        )
    split = np.reshape(values(x), (*lead, rows // (high * wide), high, wide, down, across))
    x = np.reshape(np.swapaxes(split, -3, -2), (*lead, -1, high * down, wide * across))
    for axis, (places, n) in enumerate(zip(windows, lengths, strict=True), start=np.ndim(x) - 2):
        x = along_axis(x, _picks(places, n).T, axis)
    return x


def _windows(name: str, x: Any, rank: int, lengths: Any, given: tuple[Any, Any, Any, Any]) -> list[Any]:
    """The places (kernel element, window) of all elements along both axes: below 0, or beyond the end, in the border.

    given   kernel, dilation, padding, stride
    """
    if np.ndim(x) not in (rank, rank + 1):
        raise ShapeError(f"{name}: x of shape {np.shape(x)}; it must have {rank} axes, or one more for the batch")
    named = zip(("kernel", "dilation", "padding", "stride"), given, (1, 1, 0, 1), strict=True)
    kernel, gaps, around, steps = (per_axis(name, what, each, 2, least) for what, each, least in named)
    found = []
    for n, k, d, p, s in zip(lengths, kernel, gaps, around, steps, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if count < 1:
            raise ShapeError(f"{name}: a window of {d * (k - 1) + 1} does not fit {n} elements and a border of {p}")
        found.append(d * np.arange(k)[:, None] + s * np.arange(count) - p)
    return found


def _picks(places: Any, n: int) -> Any:
    """The matrix (places, n) of ones that takes the element at each place, and 0 in the border."""
    return (places.reshape(-1, 1) == np.arange(n)).astype(np.float64)
