"""Resizing of images: public linear maps, one along each axis.

A row of an axis's matrix says of which elements, with which weights, an element of the result is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.models.semantics.matrix_products import along_axis
from latticework.models.semantics.operand_checks import public, select_elements, values, wholes

COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
)  # fmt: skip
ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def upsample_nearest(x: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """The nearest element, rounded down, along all axes behind batch and channels; PyTorch's mode "nearest"."""
    sizes, scales = _sizes(x, size, scale_factor)
    return resize(x, sizes, "nearest", "asymmetric", scales=scales, nearest_mode="floor")


def upsample_bilinear(x: Any, size: Any = None, scale_factor: Any = None, align_corners: bool = False) -> Any:
    """Interpolate linearly along all axes behind batch and channels; PyTorch's "linear" for one such axis."""
    sizes, scales = _sizes(x, size, scale_factor)
    return resize(x, sizes, "linear", "align_corners" if align_corners else "half_pixel", scales=scales)


def upsample_bicubic(x: Any, size: Any = None, scale_factor: Any = None, align_corners: bool = False) -> Any:
    """Cubic through the four nearest along all axes behind batch and channels, of coefficient -0.75."""
    sizes, scales = _sizes(x, size, scale_factor)
    return resize(x, sizes, "cubic", "align_corners" if align_corners else "half_pixel", scales=scales)


def resize_antialiased(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "linear", align_corners: bool = False
) -> Any:
    """Resize all axes behind batch and channels by kernels as wide as an element of the result: PyTorch's antialias.

    mode           linear, a triangle; cubic, Keys's kernel of coefficient -0.5
    align_corners  only changes the width: centres are those of elements in any case
    """
    sizes, scales = _sizes(x, size, scale_factor)
    lengths, first = np.shape(x)[2:], np.ndim(x) - len(sizes)
    x = values(x)
    for axis, (n, m) in enumerate(zip(lengths, sizes, strict=True)):
        step = n / m if scales is None else 1.0 / scales[axis]
        if align_corners:
            step = (n - 1) / (m - 1) if m > 1 else 0.0
        if m != n:  # PyTorch leaves an axis as it is that keeps its length, whatever its factor
            x = along_axis(x, _kernels(n, m, step, mode), first + axis)
    return x


def _kernels(n: int, m: int, step: float, mode: str) -> Any:
    """The matrix (m, n) of weights of elements within reach of centres that lie `step` elements apart."""
    wide, centres = max(step, 1.0), step * (np.arange(m)[:, None] + 0.5)
    reach = wide * (1.0 if mode == "linear" else 2.0)
    first, end = (np.trunc(centres + side * reach + 0.5) for side in (-1, 1))
    places = np.arange(n)
    away = np.abs((places - centres + 0.5) / wide)
    weights = np.maximum(1.0 - away, 0.0) if mode == "linear" else _cubic(away, -0.5)
    weights = np.where((places >= first) & (places < end), weights, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def _sizes(x: Any, size: Any, scale_factor: Any) -> tuple[tuple[int, ...], list[float] | None]:
    lengths = np.shape(x)[2:]
    if (size is None) == (scale_factor is None) or not lengths:
        raise ShapeError(
            f"upsample: give either size= or scale_factor=, of x (batch, channels, ...), not {np.shape(x)}"
        )
    if size is not None:
        given = wholes("upsample", "size", size)
        return given * len(lengths) if len(given) == 1 else given, None
    factors = np.broadcast_to(public("upsample", "scale_factor", scale_factor).astype(np.float64), (len(lengths),))
    return tuple(int(np.floor(n * f)) for n, f in zip(lengths, factors, strict=True)), [float(f) for f in factors]


def resize(
    x: Any,
    sizes: Any,
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    *,
    scales: Any = None,
    nearest_mode: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    exclude_outside: bool = False,
) -> Any:
    """The last axes with other lengths, as ONNX's Resize.

    sizes   of the last axes, as many as there are numbers
    scales  new lengths over old ones, before rounding: they say where elements lie, and sizes do where there are none
    mode    nearest, linear, cubic
    """
    wanted, rank = wholes("resize", "sizes", sizes), np.ndim(x)
    if not wanted or len(wanted) > rank or min(wanted) < 1:
        raise ShapeError(f"resize: sizes={wanted} for shape {np.shape(x)}; give lengths of at least 1 of its last axes")
    old = np.shape(x)[rank - len(wanted) :]
    factors = [m / n for m, n in zip(wanted, old, strict=True)] if scales is None else [float(f) for f in scales]
    x = values(x)
    for axis, (n, m, factor) in enumerate(zip(old, wanted, factors, strict=True), start=rank - len(wanted)):
        if (n, factor) == (m, 1.0):
            continue
        at = source_places(n, m, factor, coordinate_transformation_mode)
        if mode == "nearest":
            x = select_elements(x, np.clip(_round_positions(at, nearest_mode), 0, n - 1).tolist(), axis)
        elif mode in ("linear", "cubic"):
            x = along_axis(x, _between(at, n, mode, cubic_coeff_a, exclude_outside), axis)
        else:
            raise UnsupportedError(f"resize: mode={mode!r}; there are nearest, linear and cubic")
    return x


def source_places(n: int, m: int, scale: float, mode: str) -> Any:
    """The positions (m,), as real numbers, on an axis of n elements that those of an axis of m come from."""
    out = np.arange(m, dtype=np.float64)
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and m > 1):
        return (out + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return np.zeros(1)
    if mode == "half_pixel_symmetric":
        return n / 2 * (1 - m / (scale * n)) + (out + 0.5) / scale - 0.5
    if mode == "asymmetric":
        return out / scale
    if mode == "align_corners":
        return np.zeros(1) if m == 1 else out * (n - 1) / (m - 1)
    raise UnsupportedError(f"resize: coordinate_transformation_mode={mode!r}; there are {', '.join(COORDINATES)}")


def _round_positions(at: Any, mode: str) -> Any:
    if mode not in ROUNDING:
        raise UnsupportedError(f"resize: nearest_mode={mode!r}; there are {', '.join(ROUNDING)}")
    down = {"round_prefer_floor": np.ceil(at - 0.5), "round_prefer_ceil": np.floor(at + 0.5)}
    return down.get(mode, np.floor(at) if mode == "floor" else np.ceil(at)).astype(np.int64)


def _between(at: Any, n: int, mode: str, a: float, exclude: bool) -> Any:
    """The matrix (len(at), n) of weights; elements beyond the border are those at the border, or left out."""
    if mode == "linear" and not exclude:
        at = np.clip(at, 0, n - 1)
    first = np.floor(at).astype(np.int64)
    t = at - first
    if mode == "linear":
        offsets, weights = np.arange(2), np.stack([1 - t, t])
    else:
        offsets, weights = np.arange(-1, 3), np.stack([_cubic(np.abs(t - j), a) for j in range(-1, 3)])
    places = first + offsets[:, None]
    if exclude:
        weights = np.where((places >= 0) & (places < n), weights, 0.0)
        weights = weights / weights.sum(axis=0)
    matrix = np.zeros((len(at), n))
    np.add.at(matrix, (np.arange(len(at)), np.clip(places, 0, n - 1)), weights)
    return matrix


def _cubic(d: Any, a: float) -> Any:
    """Keys's kernel at a distance of at most 2."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))
