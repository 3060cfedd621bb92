"""Pools: windows over the last axes, of which there are as many as the kernel has numbers.

stride    as large as the kernel unless given
padding   around every axis: a number, or (before, after) for each; zeros for sums, nothing for the largest
ceil_mode  a last window that begins inside, and ends beyond the border, counts too
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.frontend.functions.images import sum_pool2d
from latticework.lazy_dataclass import dataclass
from latticework.models.semantics.convolution import Pairs, pairs, per_axis
from latticework.models.semantics.matrix_products import along_axis
from latticework.models.semantics.operand_checks import public, select_elements, values, whole, wholes
from latticework.models.semantics.reductions import amax
from latticework.models.semantics.reductions import mean as mean_of

Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PoolWindows:
    """Windows along the last axes: for every axis the kernel, steps, borders, gaps, and how many there are."""

    kernel: Ints
    stride: Ints
    padding: Pairs
    dilation: Ints
    count: Ints

    def starts(self, axis: int) -> Any:
        """The first places of all windows along an axis, below 0 in the border."""
        return self.stride[axis] * np.arange(self.count[axis]) - self.padding[axis][0]


def average_pool(
    x: Any,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Means over windows, of the elements inside only unless the border counts; or sums over a divisor."""
    windows = _windows("average_pool", x, kernel, stride, padding, 1, ceil_mode)
    if divisor_override is not None:
        return _sums(x, windows) / float(whole("average_pool", "divisor_override", divisor_override, 1))
    counts = np.ones(())
    for axis, (k, n) in enumerate(zip(windows.kernel, np.shape(x)[-len(windows.kernel) :], strict=True)):
        before, after = windows.padding[axis] if count_include_pad else (0, 0)
        first = windows.starts(axis)
        inside = np.minimum(first + k, n + after) - np.maximum(first, -before)
        counts = np.multiply.outer(counts, inside)
    if counts.min() < 1:
        raise ShapeError(f"average_pool: a window of {windows.kernel} lies in the padding {windows.padding} alone")
    return _sums(x, windows) / (counts.flat[0] if (counts == counts.flat[0]).all() else counts)


def lp_pool(
    x: Any, norm_type: float, kernel: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False
) -> Any:
    """(sum of |x|^p over windows)^(1/p), p the norm type. PyTorch sums x^p, which differs for odd p and negative x."""
    p = float(norm_type)
    if not p > 0 or np.isinf(p):
        raise UnsupportedError(f"lp_pool: norm_type={norm_type!r}; it must be a number above 0")
    windows = _windows("lp_pool", x, kernel, stride, padding, 1, ceil_mode)
    if p == 1:
        return _sums(np.absolute(x), windows)
    if p == 2:
        return np.sqrt(_sums(np.square(x), windows))
    return np.power(_sums(np.power(x if p % 2 == 0 else np.absolute(x), p), windows), 1.0 / p)


def max_pool(
    x: Any, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    """The largest element of every window: of secrets by comparisons in a tree, along rows and then along columns."""
    windows = _windows("max_pool", x, kernel, stride, padding, dilation, ceil_mode)
    x, spatial = values(x), len(windows.kernel)
    for axis in range(spatial):
        along = np.ndim(x) - spatial + axis
        n, gap = x.shape[along], windows.dilation[axis]
        numbers = windows.starts(axis)[:, None] + gap * np.arange(windows.kernel[axis])
        inside = (numbers >= 0) & (numbers < n)
        if not inside.any(axis=1).all():
            raise ShapeError(f"max_pool: a window of {windows.kernel} lies in the padding {windows.padding} alone")
        first = numbers[np.arange(len(numbers)), inside.argmax(axis=1)]
        x = _largest(x, along, list(zip(first.tolist(), inside.sum(axis=1).tolist(), strict=True)), gap)
    return x


def adaptive_average_pool(x: Any, sizes: Any) -> Any:
    """Means over as many windows as `sizes` says along each of the last axes, alike as far as possible; None: as is."""
    wanted = _sizes("adaptive_average_pool", x, sizes)
    lengths, spatial = np.shape(x)[-len(wanted) :], len(wanted)
    if all(m == 1 for m in wanted):
        return mean_of(x, tuple(range(-spatial, 0)), keepdim=True)
    if spatial < 3 and all(n % m == 0 for n, m in zip(lengths, wanted, strict=True)):
        return average_pool(x, [n // m for n, m in zip(lengths, wanted, strict=True)])
    for axis, (n, m) in enumerate(zip(lengths, wanted, strict=True)):
        if n != m:
            means = np.zeros((m, n))
            for i, (first, count) in enumerate(_adaptive(n, m)):
                means[i, first : first + count] = 1.0 / count
            x = along_axis(x, means, np.ndim(x) - spatial + axis)
    return x


def adaptive_max_pool(x: Any, sizes: Any) -> Any:
    """The largest element of the windows that adaptive_average_pool has."""
    wanted = _sizes("adaptive_max_pool", x, sizes)
    lengths, x = np.shape(x)[-len(wanted) :], values(x)
    for axis, (n, m) in enumerate(zip(lengths, wanted, strict=True)):
        x = _largest(x, np.ndim(x) - len(wanted) + axis, _adaptive(n, m), 1)
    return x


def global_average_pool(x: Any) -> Any:
    """Means over all axes behind batch and channels, which stay as 1."""
    return mean_of(x, tuple(range(2, np.ndim(x))), keepdim=True) if np.ndim(x) > 2 else values(x)


def global_max_pool(x: Any) -> Any:
    """The largest element of all axes behind batch and channels, which stay as 1."""
    return amax(x, tuple(range(2, np.ndim(x))), keepdim=True) if np.ndim(x) > 2 else values(x)


def _sums(x: Any, windows: PoolWindows) -> Any:
    """Sums over windows, the border being zeros, as far as the last windows reach."""
    lengths = np.shape(x)[-len(windows.kernel) :]
    around = [
        (before, max((count - 1) * s + k - before - n, 0))
        for n, k, s, (before, _), count in zip(
            lengths, windows.kernel, windows.stride, windows.padding, windows.count, strict=True
        )
    ]
    if len(windows.kernel) == 2:
        return sum_pool2d(x, windows.kernel, windows.stride, tuple(around))
    rows = np.expand_dims(values(x), -2)
    return np.squeeze(sum_pool2d(rows, (1, *windows.kernel), (1, *windows.stride), ((0, 0), *around)), -2)


def _largest(x: Any, axis: int, windows: Sequence[tuple[int, int]], step: int) -> Any:
    """The largest of x[first], x[first + step], ... along an axis, for every window (first, number of elements).

    Windows are joined of two that overlap, of half as many elements or one more, and those are made alike, each once.
    So nothing stands for what lies beyond the border.
    """
    most = max(count for _, count in windows)
    if most == 1:
        return select_elements(x, [first for first, _ in windows], axis)
    half = (most + 1) // 2
    left = [(first, min(count, half)) for first, count in windows]
    right = [(first + max(count - half, 0) * step, min(count, half)) for first, count in windows]
    parts = sorted({*left, *right})
    halves, place = _largest(x, axis, parts, step), {window: i for i, window in enumerate(parts)}
    return np.maximum(*(select_elements(halves, [place[window] for window in side], axis) for side in (left, right)))


def _adaptive(n: int, m: int) -> list[tuple[int, int]]:
    """First place and length of m windows over n elements."""
    return [(i * n // m, -(-(i + 1) * n // m) - i * n // m) for i in range(m)]


def _sizes(name: str, x: Any, sizes: Any) -> Ints:
    given = sizes if isinstance(sizes, (tuple, list)) else list(wholes(name, "sizes", sizes))
    if np.ndim(x) < len(given) or not given:
        raise ShapeError(f"{name}: sizes={sizes!r} for shape {np.shape(x)}; give one number for each of the last axes")
    lengths = np.shape(x)[-len(given) :]
    return tuple(n if m is None else whole(name, "sizes", m, 1) for n, m in zip(lengths, given, strict=True))


def _windows(name: str, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> PoolWindows:
    size = wholes(name, "kernel", kernel)
    axes = len(size)
    if np.ndim(public(name, "kernel", kernel)) == 0 or axes not in (1, 2):
        raise UnsupportedError(
            f"{name}: kernel={kernel!r}; give one number for each axis that windows slide along, one or two"
        )
    size = per_axis(name, "kernel", kernel, axes, 1)
    steps = size if stride is None or np.size(stride) == 0 else per_axis(name, "stride", stride, axes, 1)
    gaps, around = per_axis(name, "dilation", dilation, axes, 1), pairs(name, padding, axes)
    lengths = np.shape(x)[-axes:]
    if len(lengths) < axes:
        raise ShapeError(f"{name}: shape {np.shape(x)} has no {axes} axes to slide along")
    counts = []
    for n, k, s, (before, after), d in zip(lengths, size, steps, around, gaps, strict=True):
        room = n + before + after - d * (k - 1) - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        if count < 1 or max(before, after) > d * (k - 1):
            raise ShapeError(
                f"{name}: a window of {d * (k - 1) + 1} and padding ({before}, {after}) do not fit the {n} elements of "
                f"an axis of shape {np.shape(x)}"
            )
        counts.append(count - int((count - 1) * s >= n + before))
    return PoolWindows(size, steps, around, gaps, tuple(counts))
