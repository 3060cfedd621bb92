"""Resize and Upsample: how many elements there will be, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.models.converters import Converter
from latticework.models.onnx.size_limits import check_size
from latticework.models.semantics import resizing
from latticework.models.semantics.grouped_parameters import group_parameters
from latticework.models.semantics.operand_checks import axis_of, is_secret, public


def _targets(
    x: Any, numbers: Sequence[int], scales: Any, sizes: Any, policy: str = "stretch"
) -> tuple[list[int], list[float]]:
    """Lengths of all axes, and what they are of the old ones before rounding."""
    shape = np.shape(x)
    if (scales is None) == (sizes is None):
        raise ShapeError("Resize: give scales or sizes, one of the two")
    given = public("Resize", "scales or sizes", scales if sizes is None else sizes)
    if given.shape != (len(numbers),) or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise ShapeError(f"Resize: {given.size} scales or sizes for {len(numbers)} axes of shape {shape}")
    factors = [float(s) if sizes is None else float(s) / shape[k] for k, s in zip(numbers, given, strict=True)]
    wanted = [floor(shape[k] * f) for k, f in zip(numbers, factors, strict=True)]
    if sizes is not None and policy == "stretch":
        wanted = [int(s) for s in given]
    elif sizes is not None and policy in ("not_larger", "not_smaller"):
        factor = min(factors) if policy == "not_larger" else max(factors)
        factors, wanted = [factor] * len(numbers), [int(shape[k] * factor + 0.5) for k in numbers]
    elif sizes is not None:
        raise UnsupportedError(f"Resize: keep_aspect_ratio_policy={policy!r} is not known")
    lengths, ratios = list(shape), [1.0] * len(shape)
    for k, length, factor in zip(numbers, wanted, factors, strict=True):
        lengths[k], ratios[k] = length, factor
    if min(lengths) < 1:
        raise ShapeError(f"Resize: shape {shape} becomes {tuple(lengths)}; every axis is at least 1 long")
    check_size(lengths, secret=is_secret(x))
    for n, m in zip(shape, lengths, strict=True):
        check_size((m, n))
    return lengths, ratios


@dataclass(frozen=True, kw_only=True)
class ResizeOptions:
    """The attributes of Resize."""

    antialias: int = 0
    axes: Sequence[int] | None = None
    coordinate_transformation_mode: str = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"
    mode: str = "nearest"
    nearest_mode: str = "round_prefer_floor"


@group_parameters
def _resize(x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, *, options: ResizeOptions) -> Any:
    rank, axes, coordinates = np.ndim(x), options.axes, options.coordinate_transformation_mode
    numbers = tuple(range(rank)) if axes is None else tuple(axis_of("Resize", axis, rank) for axis in axes)
    scales, sizes = (None if s is not None and np.size(s) == 0 else s for s in (scales, sizes))
    lengths, ratios = _targets(x, numbers, scales, sizes, options.keep_aspect_ratio_policy)
    if coordinates == "align_corners" and any(n * f != m for n, m, f in zip(np.shape(x), lengths, ratios, strict=True)):
        raise UnsupportedError(
            "Resize: align_corners with scales that leave parts of elements; runtimes differ: give sizes"
        )
    if options.antialias and options.mode != "nearest" and min(ratios) < 1:
        raise UnsupportedError("Resize: antialias=1 of what becomes smaller; export it without, or resize before")
    return resizing.resize(
        x, lengths, options.mode, coordinates, scales=ratios, nearest_mode=options.nearest_mode,
        cubic_coeff_a=options.cubic_coeff_a, exclude_outside=bool(options.exclude_outside),
    )  # fmt: skip


def _upsample(x: Any, given: Any = None, *, scales: Sequence[float] | None = None, mode: str = "nearest") -> Any:
    """Resize as until version 10: from positions i / scale, the nearest below."""
    lengths, ratios = _targets(x, range(np.ndim(x)), given if scales is None else np.array(scales), None)
    interpolation = "linear" if mode == "bilinear" else mode
    return resizing.resize(x, lengths, interpolation, "asymmetric", scales=ratios, nearest_mode="floor")


_NOTE = "no tf_crop_and_resize, no antialias"
CONVERTERS = (
    Converter("Resize", _upsample, since=10),
    Converter("Resize", _resize, since=11, note=_NOTE),
    Converter("Upsample", _upsample),
)
