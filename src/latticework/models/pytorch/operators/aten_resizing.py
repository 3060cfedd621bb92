"""New sizes of images in ATen: each operator exists with all factors in a list (`vec`), and with them apart."""

from __future__ import annotations

from typing import Any

from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import resizing as meant


def _by(output_size: Any, factors: Any) -> dict[str, Any]:
    """Factors say where elements lie, and lengths do where there are none."""
    known = [factor for factor in factors or () if factor is not None]
    return {"scale_factor": known} if known else {"size": list(output_size)}


def _nearest(x: Any, output_size: Any, *factors: Any) -> Any:
    return meant.upsample_nearest(x, **_by(output_size, factors))


def _exact(x: Any, output_size: Any, *factors: Any) -> Any:
    known = [factor for factor in factors if factor is not None]
    sizes = output_size or [int(n * f) for n, f in zip(x.shape[2:], known, strict=True)]
    return meant.resize(x, sizes, "nearest", "half_pixel", scales=known or None, nearest_mode="round_prefer_ceil")


def _linear(x: Any, output_size: Any, align_corners: bool, *factors: Any) -> Any:
    return meant.upsample_bilinear(x, **_by(output_size, factors), align_corners=align_corners)


def _cubic(x: Any, output_size: Any, align_corners: bool, *factors: Any) -> Any:
    return meant.upsample_bicubic(x, **_by(output_size, factors), align_corners=align_corners)


def _resize_by_kernels(mode: str) -> Any:
    """Resizing that takes the mean of all elements below an element of the result."""
    return lambda x, output_size, align_corners, *factors: meant.resize_antialiased(
        x, **_by(output_size, factors), mode=mode, align_corners=align_corners
    )


def _in_a_list(meaning: Any) -> Any:
    return lambda x, output_size, *rest: meaning(x, output_size, *rest[:-1], *(rest[-1] or ()))


CONVERTERS = [
    *each("upsample_nearest1d.default upsample_nearest2d.default", _nearest),
    *each("upsample_nearest1d.vec upsample_nearest2d.vec", _in_a_list(_nearest)),
    *each("_upsample_nearest_exact1d.default _upsample_nearest_exact2d.default", _exact),
    *each("_upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec", _in_a_list(_exact)),
    *each("upsample_linear1d.default upsample_bilinear2d.default", _linear),
    *each("upsample_linear1d.vec upsample_bilinear2d.vec", _in_a_list(_linear)),
    *each("upsample_bicubic2d.default", _cubic),
    *each("upsample_bicubic2d.vec", _in_a_list(_cubic)),
    *each("_upsample_bilinear2d_aa.default", _resize_by_kernels("linear")),
    *each("_upsample_bilinear2d_aa.vec", _in_a_list(_resize_by_kernels("linear"))),
    *each("_upsample_bicubic2d_aa.default", _resize_by_kernels("cubic")),
    *each("_upsample_bicubic2d_aa.vec", _in_a_list(_resize_by_kernels("cubic"))),
]
