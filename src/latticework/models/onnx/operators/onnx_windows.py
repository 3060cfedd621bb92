"""Convolutions and pooling, with ONNX's ways to say how far borders go."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.models.average_pooling import PRICE
from latticework.models.converters import Converter
from latticework.models.onnx.size_limits import PRODUCTS_OF_CALL, PRODUCTS_OF_WORK, check_size, take_products
from latticework.models.semantics import convolution, pooling, reductions
from latticework.models.semantics.operand_checks import is_secret

Ints = Sequence[int]
Pairs = tuple[tuple[int, int], ...]


class Windows:
    """Windows over the spatial axes of (batch, channels, ...).

    raises  ShapeError where numbers do not fit the axes, or a window is larger than what it moves over
    """

    def __init__(
        self,
        name: str,
        x: Any,
        kernel: Ints,
        *,
        strides: Ints | None = None,
        dilations: Ints | None = None,
        pads: Ints | None = None,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
    ) -> None:
        self.name, self.extents = name, np.shape(x)[2:]
        rank = len(self.extents)
        if rank not in (1, 2):
            raise UnsupportedError(f"{name}: {rank} spatial axes, of shape {np.shape(x)}; 1 and 2 are supported")
        self.kernel = self._each("kernel_shape", kernel, rank)
        self.strides = self._each("strides", strides, rank)
        self.dilations = self._each("dilations", dilations, rank)
        self.ceil_mode = bool(ceil_mode)
        self.spans = tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations, strict=True))
        self.padding = self._padding(pads, auto_pad)

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


def conv(
    x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Ints | None = None, group: int = 1,
    kernel_shape: Ints | None = None, pads: Ints | None = None, strides: Ints | None = None,
) -> Any:  # fmt: skip
    """Conv, whose names and meanings the options have."""
    kernel = np.shape(w)[2:]
    if kernel_shape is not None and tuple(kernel_shape) != kernel:
        raise ShapeError(f"Conv: kernel_shape={tuple(kernel_shape)[:8]}, and the weights have shape {np.shape(w)}")
    found = Windows("Conv", x, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    found.check((*np.shape(x)[:1], max(np.shape(x)[1], np.shape(w)[0])), is_secret(x, w))
    take_products(
        np.shape(x)[0] * np.size(w) * found.steps, "Conv", PRODUCTS_OF_CALL if is_secret(x, w) else PRODUCTS_OF_WORK
    )
    return convolution.convolution(x, w, b, found.strides, found.padding, found.dilations, group)


def _conv_transpose(
    x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Ints | None = None, group: int = 1,
    kernel_shape: Ints | None = None, output_padding: Ints | None = None, output_shape: Ints | None = None,
    pads: Ints | None = None, strides: Ints | None = None,
) -> Any:  # fmt: skip
    kernel = np.shape(w)[2:]
    if kernel_shape is not None and tuple(kernel_shape) != kernel:
        raise ShapeError(f"ConvTranspose: kernel_shape={tuple(kernel_shape)[:8]}, and the weights are {np.shape(w)}")
    same = auto_pad in ("SAME_UPPER", "SAME_LOWER")
    found = Windows(
        "ConvTranspose", x, kernel, strides=strides, dilations=dilations, pads=None if same else pads,
        auto_pad="NOTSET" if same else auto_pad,
    )  # fmt: skip
    rank = len(kernel)
    extra = tuple(output_padding) if output_padding else (0,) * rank
    wanted = tuple(output_shape)[-rank:] if output_shape else ()
    if not wanted and same:
        wanted = tuple(n * s for n, s in zip(found.extents, found.strides, strict=True))
    if len(extra) != rank or min(extra) < 0 or (wanted and len(wanted) != rank):
        raise ShapeError(f"ConvTranspose: output_padding={extra[:8]}, output_shape={wanted[:8]} for {rank} axes")
    full = [s * (n - 1) + e + span for n, s, e, span in
            zip(found.extents, found.strides, extra, found.spans, strict=True)]  # fmt: skip
    padding = found.padding
    if wanted:
        totals = [f - n for f, n in zip(full, wanted, strict=True)]
        extra = tuple(e + max(-t, 0) for e, t in zip(extra, totals, strict=True))
        halves = [(max(t, 0) // 2, max(t, 0) - max(t, 0) // 2) for t in totals]
        padding = tuple(h if auto_pad == "SAME_UPPER" else h[::-1] for h in halves)
    check_size((*np.shape(x)[:1], np.shape(w)[1] * group, *full), secret=is_secret(x, w))
    take_products(
        np.shape(x)[0] * np.size(w) * prod(found.extents),
        "ConvTranspose",
        PRODUCTS_OF_CALL if is_secret(x, w) else PRODUCTS_OF_WORK,
    )
    return convolution.conv_transpose(
        x, w, b, stride=found.strides, padding=padding, output_padding=extra, groups=group, dilation=found.dilations
    )


def _average_pool(
    x: Any, *, kernel_shape: Ints, auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: Ints | None = None, pads: Ints | None = None, strides: Ints | None = None,
) -> Any:  # fmt: skip
    found = _pool("AveragePool", x, kernel_shape, auto_pad, ceil_mode, dilations, pads, strides)
    if any(d != 1 for d in found.dilations):
        raise UnsupportedError(
            f"AveragePool: dilations={found.dilations}; write it as a convolution with equal weights"
        )
    return pooling.average_pool(
        x, found.kernel, found.strides, found.padding, found.ceil_mode, count_include_pad=bool(count_include_pad)
    )


def _max_pool(
    x: Any, *, kernel_shape: Ints, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Ints | None = None,
    pads: Ints | None = None, storage_order: int = 0, strides: Ints | None = None,
) -> Any:  # fmt: skip
    found = _pool("MaxPool", x, kernel_shape, auto_pad, ceil_mode, dilations, pads, strides)
    return pooling.max_pool(x, found.kernel, found.strides, found.padding, found.dilations, found.ceil_mode)


def _lp_pool(
    x: Any, *, kernel_shape: Ints, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Ints | None = None,
    p: int = 2, pads: Ints | None = None, strides: Ints | None = None,
) -> Any:  # fmt: skip
    found = _pool("LpPool", x, kernel_shape, auto_pad, ceil_mode, dilations, pads, strides)
    if any(d != 1 for d in found.dilations):
        raise UnsupportedError(f"LpPool: dilations={found.dilations}; export the model without")
    return pooling.lp_pool(x, p, found.kernel, found.strides, found.padding, found.ceil_mode)


def _pool(
    name: str, x: Any, kernel: Ints, auto_pad: str, ceil_mode: int, dilations: Ints | None, pads: Ints | None,
    strides: Ints | None,
) -> Windows:  # fmt: skip
    found = Windows(
        name, x, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad, ceil_mode=ceil_mode
    )
    found.check(np.shape(x)[:2], is_secret(x))
    return found


def _spatial(x: Any) -> tuple[int, ...]:
    return tuple(range(2, np.ndim(x)))


def _global_lp_pool(x: Any, *, p: int = 2) -> Any:
    return reductions.norm(x, p, _spatial(x), keepdim=True)


_AXES = "1 or 2 spatial axes"
CONVERTERS = (
    Converter("Conv", conv, note=_AXES),
    Converter("ConvTranspose", _conv_transpose, note=_AXES),
    Converter("AveragePool", _average_pool, note=f"{_AXES}, no dilation"),
    Converter("MaxPool", _max_pool, note=f"{_AXES}; not its second result, the places; {PRICE}"),
    Converter("LpPool", _lp_pool, note=f"{_AXES}, no dilation"),
    Converter("GlobalAveragePool", pooling.global_average_pool),
    Converter("GlobalMaxPool", pooling.global_max_pool, note=PRICE),
    Converter("GlobalLpPool", _global_lp_pool),
)
