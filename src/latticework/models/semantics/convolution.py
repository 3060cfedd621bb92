"""Convolutions along one axis or two, with a batch in front or none.

padding   zeros around: a number for all sides, or (before, after) for every axis
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.frontend.functions.images import conv2d, conv_transpose2d
from latticework.models.semantics.operand_checks import public, values, whole, wholes

Pairs = tuple[tuple[int, int], ...]


def convolution(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Kernels (out, in / groups, ...) over x (channels, ...), not reversed."""
    spatial = _spatial("convolution", x, weight)
    steps, gaps = (per_axis("convolution", w, n, spatial, 1) for w, n in (("stride", stride), ("dilation", dilation)))
    around = pairs("convolution", padding, spatial)
    count = whole("convolution", "groups", groups, 1)
    if spatial == 2:
        return conv2d(x, weight, bias, steps, around, gaps, count)
    x, weight = np.expand_dims(values(x), -2), np.expand_dims(values(weight), -2)
    return np.squeeze(conv2d(x, weight, bias, (1, *steps), ((0, 0), *around), (1, *gaps), count), -2)


def conv_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of a convolution: every element adds its kernel (in, out / groups, ...) to the result."""
    name, spatial = "conv_transpose", _spatial("conv_transpose", x, weight)
    steps = per_axis(name, "stride", stride, spatial, 1)
    gaps = per_axis(name, "dilation", dilation, spatial, 1)
    more = per_axis(name, "output_padding", output_padding, spatial, 0)
    around, count = pairs(name, padding, spatial), whole(name, "groups", groups, 1)
    if spatial == 2:
        return conv_transpose2d(x, weight, bias, steps, around, more, count, gaps)
    x, weight = np.expand_dims(values(x), -2), np.expand_dims(values(weight), -2)
    options = (1, *steps), ((0, 0), *around), (0, *more), count, (1, *gaps)
    return np.squeeze(conv_transpose2d(x, weight, bias, *options), -2)


def _spatial(name: str, x: Any, weight: Any) -> int:
    spatial = np.ndim(weight) - 2
    if spatial not in (1, 2):
        raise UnsupportedError(
            f"{name}: weight of shape {np.shape(weight)} slides along {max(spatial, 0)} axes; there are those along "
            "one and two"
        )
    if np.ndim(x) not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"{name}: x has shape {np.shape(x)}, weight {np.shape(weight)}; x must be (channels, ...) or a batch"
        )
    return spatial


def per_axis(name: str, what: str, given: Any, axes: int, least: int) -> tuple[int, ...]:
    """One whole number for every axis, or one for all."""
    found = wholes(name, what, given)
    found = found * axes if len(found) == 1 else found
    if len(found) != axes or min(found) < least:
        raise ShapeError(f"{name}: {what}={given!r} must be {axes} whole numbers of at least {least}, or one")
    return found


def pairs(name: str, given: Any, axes: int) -> Pairs:
    """(before, after) for every axis; one number is all of them."""
    array = public(name, "padding", given)
    if array.dtype.kind not in "iu" or array.shape not in ((), (1,), (axes, 2)) or array.min() < 0:
        raise ShapeError(
            f"{name}: padding={given!r} must be a whole number from 0 on, or (before, after) for each of {axes} axes"
        )
    before_after = np.broadcast_to(array, (axes, 2)) if array.size == 1 else array
    return tuple((int(b), int(a)) for b, a in before_after)
