"""Convolutions and pooling, with the padding that ONNX's attributes name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.models.average_pooling import PRICE
from latticework.models.converters import Converter
from latticework.models.onnx.size_limits import PRODUCTS_OF_CALL, PRODUCTS_OF_WORK, check_size, take_products
from latticework.models.semantics import convolution, pooling, reductions
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.operand_checks import is_secret

Ints = Sequence[int]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class WindowGeometry:
    """The attributes that say where windows lie."""

    strides: Ints | None = None
    dilations: Ints | None = None
    pads: Ints | None = None
    auto_pad: str = "NOTSET"


@dataclass(frozen=True, kw_only=True)
class ConvOptions(WindowGeometry):
    """The attributes of Conv."""

    group: int = 1
    kernel_shape: Ints | None = None

    def check_kernel(self, operator: str, w: Any) -> tuple[int, ...]:
        """Return the extents of the kernel; ShapeError unless `kernel_shape` says the same."""
        kernel: tuple[int, ...] = np.shape(w)[2:]
        if self.kernel_shape is not None and tuple(self.kernel_shape) != kernel:
            raise ShapeError(
                f"{operator}: kernel_shape={tuple(self.kernel_shape)[:8]}, and the weights have shape {np.shape(w)}"
            )
        return kernel


@dataclass(frozen=True, kw_only=True)
class ConvTransposeOptions(ConvOptions):
    """The attributes of ConvTranspose."""

    output_padding: Ints | None = None
    output_shape: Ints | None = None


@dataclass(frozen=True, kw_only=True)
class PoolOptions(WindowGeometry):
    """The attributes that all pooling operators have."""

    kernel_shape: Ints
    ceil_mode: int = 0


class Windows:
    """Windows over the spatial axes of (batch, channels, ...).

    raises  ShapeError where numbers do not fit the axes, or a window is larger than what it moves over
    """

    def __init__(self, name: str, x: Any, kernel: Ints, geometry: WindowGeometry, *, ceil_mode: int = 0) -> None:
        self.name, self.extents = name, np.shape(x)[2:]
        rank = len(self.extents)
        if rank not in (1, 2):
            raise UnsupportedError(f"{name}: {rank} spatial axes, of shape {np.shape(x)}; 1 and 2 are supported")
        self.kernel = self._each("kernel_shape", kernel, rank)
        self.strides = self._each("strides", geometry.strides, rank)
        self.dilations = self._each("dilations", geometry.dilations, rank)
        self.ceil_mode = bool(ceil_mode)
        self.spans = tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations, strict=True))
        self.padding = self._padding(geometry.pads, geometry.auto_pad)

    def _each(self, what: str, given: Ints | None, rank: int) -> tuple[int, ...]:
        found = (1,) * rank if not given else tuple(given)
        if len(found) != rank or min(found) < 1:
            raise ShapeError(f"{self.name}: {what}={found[:8]} for {rank} axes; give a number of at least 1 for each")
        return found

    def _padding(self, pads: Ints | None, auto_pad: str) -> Pairs:
        rank = len(self.extents)
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            found = []
            for n, s, span in zip(self.extents, self.strides, self.spans, strict=True):
                whole = max((-(-n // s) - 1) * s + span - n, 0)
                halves = whole // 2, whole - whole // 2
                found.append(halves if auto_pad == "SAME_UPPER" else halves[::-1])
            return tuple(found)
        if auto_pad not in ("NOTSET", "VALID", ""):
            raise UnsupportedError(
                f"{self.name}: auto_pad={auto_pad!r}; there are NOTSET, SAME_UPPER, SAME_LOWER, VALID"
            )
        if not pads or auto_pad == "VALID":
            return ((0, 0),) * rank
        if len(pads) != 2 * rank or min(pads) < 0:
            raise ShapeError(
                f"{self.name}: pads={tuple(pads)[:8]} for {rank} axes; give two numbers from 0 on for each"
            )
        return tuple(zip(pads[:rank], pads[rank:], strict=True))

    def check(self, lead: Sequence[int], secret: bool) -> None:
        """ShapeError where there is no result, or one that is too large, with `lead` as its first axes."""
        padded = [n + b + a for n, (b, a) in zip(self.extents, self.padding, strict=True)]
        if any(span > n for span, n in zip(self.spans, padded, strict=True)):
            raise ShapeError(
                f"{self.name}: windows of {self.spans} in arrays of {tuple(padded)}; a window is larger than the array"
            )
        check_size((*lead, *padded), secret=secret)
        check_size((*lead, *self._places(padded)), secret=secret)

    def _places(self, padded: Sequence[int]) -> list[int]:
        rounding = ceil if self.ceil_mode else int
        return [rounding((n - span) / s) + 1 for n, span, s in zip(padded, self.spans, self.strides, strict=True)]

    @property
    def steps(self) -> int:
        """Places of the window, of all axes."""
        return prod(self._places([n + b + a for n, (b, a) in zip(self.extents, self.padding, strict=True)]))


def convolve(x: Any, w: Any, b: Any, options: ConvOptions) -> Any:
    """Conv of x (batch, channels, ...) with weights w."""
    windows = Windows("Conv", x, options.check_kernel("Conv", w), options)
    windows.check((*np.shape(x)[:1], max(np.shape(x)[1], np.shape(w)[0])), is_secret(x, w))
    take_products(
        np.shape(x)[0] * np.size(w) * windows.steps, "Conv", PRODUCTS_OF_CALL if is_secret(x, w) else PRODUCTS_OF_WORK
    )
    return convolution.convolution(x, w, b, windows.strides, windows.padding, windows.dilations, options.group)


@group_parameters
def _conv(x: Any, w: Any, b: Any = None, *, options: ConvOptions) -> Any:
    return convolve(x, w, b, options)


@group_parameters
def _conv_transpose(x: Any, w: Any, b: Any = None, *, options: ConvTransposeOptions) -> Any:
    kernel = options.check_kernel("ConvTranspose", w)
    same = options.auto_pad in ("SAME_UPPER", "SAME_LOWER")
    windows = Windows("ConvTranspose", x, kernel, replace(options, pads=None, auto_pad="NOTSET") if same else options)
    rank = len(kernel)
    extra = tuple(options.output_padding) if options.output_padding else (0,) * rank
    wanted = tuple(options.output_shape)[-rank:] if options.output_shape else ()
    if not wanted and same:
        wanted = tuple(n * s for n, s in zip(windows.extents, windows.strides, strict=True))
    if len(extra) != rank or min(extra) < 0 or (wanted and len(wanted) != rank):
        raise ShapeError(f"ConvTranspose: output_padding={extra[:8]}, output_shape={wanted[:8]} for {rank} axes")
    full = [s * (n - 1) + e + span for n, s, e, span in
            zip(windows.extents, windows.strides, extra, windows.spans, strict=True)]  # fmt: skip
    padding = windows.padding
    if wanted:
        totals = [f - n for f, n in zip(full, wanted, strict=True)]
        extra = tuple(e + max(-t, 0) for e, t in zip(extra, totals, strict=True))
        halves = [(max(t, 0) // 2, max(t, 0) - max(t, 0) // 2) for t in totals]
        padding = tuple(h if options.auto_pad == "SAME_UPPER" else h[::-1] for h in halves)
    check_size((*np.shape(x)[:1], np.shape(w)[1] * options.group, *full), secret=is_secret(x, w))
    take_products(
        np.shape(x)[0] * np.size(w) * prod(windows.extents),
        "ConvTranspose",
        PRODUCTS_OF_CALL if is_secret(x, w) else PRODUCTS_OF_WORK,
    )
    return convolution.conv_transpose(
        x, w, b, stride=windows.strides, padding=padding, output_padding=extra, groups=options.group,
        dilation=windows.dilations,
    )  # fmt: skip


@group_parameters
def _average_pool(x: Any, *, count_include_pad: int = 0, options: PoolOptions) -> Any:
    windows = _pool_windows("AveragePool", x, options)
    if any(d != 1 for d in windows.dilations):
        raise UnsupportedError(
            f"AveragePool: dilations={windows.dilations}; write it as a convolution with equal weights"
        )
    return pooling.average_pool(
        x, windows.kernel, windows.strides, windows.padding, windows.ceil_mode,
        count_include_pad=bool(count_include_pad),
    )  # fmt: skip


@group_parameters
def _max_pool(x: Any, *, storage_order: int = 0, options: PoolOptions) -> Any:
    w = _pool_windows("MaxPool", x, options)
    return pooling.max_pool(x, w.kernel, w.strides, w.padding, w.dilations, w.ceil_mode)


@group_parameters
def _lp_pool(x: Any, *, p: int = 2, options: PoolOptions) -> Any:
    windows = _pool_windows("LpPool", x, options)
    if any(d != 1 for d in windows.dilations):
        raise UnsupportedError(f"LpPool: dilations={windows.dilations}; export the model without")
    return pooling.lp_pool(x, p, windows.kernel, windows.strides, windows.padding, windows.ceil_mode)


def _pool_windows(name: str, x: Any, options: PoolOptions) -> Windows:
    """Return the windows of a pooling operator, checked."""
    windows = Windows(name, x, options.kernel_shape, options, ceil_mode=options.ceil_mode)
    windows.check(np.shape(x)[:2], is_secret(x))
    return windows


def _spatial(x: Any) -> tuple[int, ...]:
    return tuple(range(2, np.ndim(x)))


def _global_lp_pool(x: Any, *, p: int = 2) -> Any:
    return reductions.norm(x, p, _spatial(x), keepdim=True)


_AXES = "1 or 2 spatial axes"
CONVERTERS = (
    Converter("Conv", _conv, note=_AXES),
    Converter("ConvTranspose", _conv_transpose, note=_AXES),
    Converter("AveragePool", _average_pool, note=f"{_AXES}, no dilation"),
    Converter("MaxPool", _max_pool, note=f"{_AXES}; not its second result, the places; {PRICE}"),
    Converter("LpPool", _lp_pool, note=f"{_AXES}, no dilation"),
    Converter("GlobalAveragePool", pooling.global_average_pool),
    Converter("GlobalMaxPool", pooling.global_max_pool, note=PRICE),
    Converter("GlobalLpPool", _global_lp_pool),
)
