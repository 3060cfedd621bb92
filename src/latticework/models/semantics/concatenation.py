"""Joining: arrays one behind the other, borders around them, channels as pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.models.semantics.operand_checks import axis_of, number, public, select_elements, values, whole

Pairs = tuple[tuple[int, int], ...]


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Arrays one behind the other along an axis; vectors without elements beside others count for nothing."""
    parts = [values(t) for t in tensors]
    some = [t for t in parts if np.shape(t) != (0,)] or parts[:1]
    if not some or not np.ndim(some[0]):
        raise ShapeError(
            f"cat: {len(parts)} arrays, the first of shape {np.shape(parts[0]) if parts else None}; they need an axis"
        )
    return np.concatenate(some, axis_of("cat", dim, np.ndim(some[0]))) if len(some) > 1 else some[0]


def stack(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Arrays of one shape along a new axis."""
    if not len(tensors):
        raise ShapeError("stack: no arrays; give at least one")
    return np.stack([values(t) for t in tensors], axis_of("stack", dim, np.ndim(tensors[0]) + 1))


_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(x: Any, pads: Any, mode: str = "constant", value: Any = 0) -> Any:
    """Elements added around the last axes; less than none cut off as many.

    pads    (before, after) for each of the last axes, in their order; or, as PyTorch writes it, one row of numbers that
            begins with the last axis: (left, right, top, bottom)
    mode    constant (a public number), reflect (mirrored, the border itself once), replicate (the border), circular
    """
    if mode not in _MODES:
        raise UnsupportedError(f"pad: mode={mode!r}; there are {', '.join(_MODES)}")
    shape, widths = np.shape(x), pad_widths(pads, np.ndim(x))
    x = values(x)
    for axis, (n, (before, after)) in enumerate(zip(shape, widths, strict=True)):
        most = {"reflect": n - 1, "circular": n}.get(mode)
        if (most is not None and max(before, after) > most) or n + before + after < 0:
            raise ShapeError(
                f"pad: {before} before and {after} after axis {axis} of shape {shape} in mode {mode} is too much"
            )
        if min(before, after) < 0:
            cut = np.s_[max(-before, 0) : n - max(-after, 0)]
            x = x[(*(np.s_[:],) * axis, cut)]
    grown = tuple((max(before, 0), max(after, 0)) for before, after in widths)
    if not any(map(any, grown)):
        return x
    if mode == "constant":
        return np.pad(x, grown, constant_values=number("pad", "value", value) if np.any(value) else 0)
    return np.pad(x, grown, mode=_MODES[mode])  # type: ignore[call-overload]


def pad_widths(pads: Any, rank: int) -> Pairs:
    """(before, after) for every axis."""
    array = public("pad", "pads", pads)
    if (
        (array.dtype.kind not in "iu" and array.size)
        or array.ndim > 2
        or array.size % 2
        or (array.ndim == 2 and array.shape[1] != 2)
    ):
        raise ShapeError(f"pad: pads={pads!r} must be pairs (before, after), or one row of them from the last axis on")
    pairs = [(int(b), int(a)) for b, a in array.reshape(-1, 2)]
    pairs = pairs[::-1] if array.ndim == 1 else pairs
    if len(pairs) > rank:
        raise ShapeError(f"pad: pads={pads!r} are for {len(pairs)} axes, and there are {rank}")
    return (*((0, 0),) * (rank - len(pairs)), *pairs)


def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Channels as pixels: (..., c * r * r, h, w) becomes (..., c, h * r, w * r)."""
    r = whole("pixel_shuffle", "upscale_factor", upscale_factor, 1)
    *lead, channels, h, w = _image("pixel_shuffle", x)
    if channels % (r * r):
        raise ShapeError(f"pixel_shuffle: {channels} channels of shape {np.shape(x)} do not divide by {r} * {r}")
    parts = np.reshape(values(x), (*lead, channels // (r * r), r, r, h, w))
    k = len(lead)
    moved = np.transpose(parts, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return np.reshape(moved, (*lead, channels // (r * r), h * r, w * r))


def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """Pixels as channels: (..., c, h * r, w * r) becomes (..., c * r * r, h, w)."""
    r = whole("pixel_unshuffle", "downscale_factor", downscale_factor, 1)
    *lead, channels, h, w = _image("pixel_unshuffle", x)
    if h % r or w % r:
        raise ShapeError(f"pixel_unshuffle: {h} x {w} pixels of shape {np.shape(x)} do not divide by {r}")
    parts = np.reshape(values(x), (*lead, channels, h // r, r, w // r, r))
    k = len(lead)
    moved = np.transpose(parts, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return np.reshape(moved, (*lead, channels * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Any:
    """Channels (axis 1) of all groups in turn."""
    shape, g = np.shape(x), whole("channel_shuffle", "groups", groups, 1)
    if len(shape) < 2 or shape[1] % g:
        raise ShapeError(f"channel_shuffle: {g} groups do not divide the channels of shape {shape}")
    order = np.arange(shape[1]).reshape(g, -1).T.reshape(-1).tolist()
    return select_elements(values(x), order, 1)


def _image(name: str, x: Any) -> tuple[int, ...]:
    if np.ndim(x) < 3:
        raise ShapeError(f"{name}: shape {np.shape(x)} has no channels, rows and columns")
    return tuple(np.shape(x))
