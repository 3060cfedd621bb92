"""The same elements under other shapes, and parts of them; shapes, axes and places are public."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.converters import Converter
from latticework.models.onnx.operators.onnx_sizes import bound_size
from latticework.models.onnx.size_limits import check_size
from latticework.models.semantics import concatenation, shaping
from latticework.models.semantics.operand_checks import axis_of, is_secret, number, public, values, whole, wholes

Ints = Sequence[int]


def _reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    """A length of 0 is that of the axis of x, unless `allowzero`."""
    old, new = np.shape(x), wholes("Reshape", "shape", shape)
    if not allowzero:
        if any(n == 0 and axis >= len(old) for axis, n in enumerate(new)):
            raise ShapeError(f"Reshape: shape {new} has a 0 where x of shape {old} has no axis")
        new = tuple(old[axis] if n == 0 else n for axis, n in enumerate(new))
    return shaping.reshape(x, new)


def _flatten(x: Any, *, axis: int = 1) -> Any:
    """Two axes: the product of those before `axis`, and of the others."""
    shape = np.shape(x)
    if not -len(shape) <= axis <= len(shape):
        raise ShapeError(f"Flatten: axis={axis} does not exist in shape {shape}")
    at = axis if axis >= 0 else axis + len(shape)
    return shaping.reshape(x, (prod(shape[:at]), prod(shape[at:])))


def _transpose(x: Any, *, perm: Ints | None = None) -> Any:
    return shaping.permute(x, tuple(range(np.ndim(x)))[::-1] if perm is None else perm)


def axes_given(name: str, given: Any, attribute: Ints | None) -> tuple[int, ...] | None:
    """Axes from an operand, as newer versions have them, or from an attribute."""
    if given is None:
        return None if attribute is None else tuple(attribute)
    return wholes(name, "axes", given)


def _squeeze(x: Any, given: Any = None, *, axes: Ints | None = None) -> Any:
    named = axes_given("Squeeze", given, axes)
    for axis in named or ():
        if np.shape(x)[axis_of("Squeeze", axis, np.ndim(x))] != 1:
            raise ShapeError(f"Squeeze: axis {axis} of shape {np.shape(x)} is longer than 1")
    return shaping.squeeze(x, named if named else None)


def _unsqueeze(x: Any, given: Any = None, *, axes: Ints | None = None) -> Any:
    return shaping.unsqueeze(x, axes_given("Unsqueeze", given, axes) or ())


def _expanded_shape(x: Any, shape: Any) -> tuple[int, ...]:
    new, old = wholes("Expand", "shape", shape), np.shape(x)
    if any(n < 0 for n in new):
        raise ShapeError(f"Expand: shape {new}; lengths are from 0 on")
    try:
        return np.broadcast_shapes(old, new)
    except ValueError:
        raise ShapeError(f"Expand: shape {old} does not become {new}; only axes of length 1 are repeated") from None


@bound_size(_expanded_shape)
def _expand(x: Any, shape: Any) -> Any:
    return shaping.expand(x, _expanded_shape(x, shape))


def _concat(*parts: Any, axis: int) -> Any:
    rank = max(map(np.ndim, parts), default=0)
    along = axis_of("Concat", axis, rank)
    if any(np.ndim(part) != rank for part in parts):
        raise ShapeError(f"Concat: shapes {', '.join(str(np.shape(part)) for part in parts)} differ in their axes")
    shape = list(np.shape(parts[0]))
    shape[along] = sum(np.shape(part)[along] for part in parts)
    check_size(shape, secret=is_secret(*parts))
    kept = [part for part in parts if np.shape(part)[along]]
    return concatenation.cat(kept or parts[:1], along) if rank else parts[0]


def _split(
    x: Any, sizes: Any = None, *, axis: int = 0, split: Ints | None = None, num_outputs: int | None = None,
    wanted: tuple[bool, ...] = (),
) -> Any:  # fmt: skip
    """Parts of given sizes, or as many as are wanted, alike but for the last."""
    given = split if sizes is None else wholes("Split", "sizes", sizes)
    count = len(wanted)
    if num_outputs is not None and num_outputs != count:
        raise ShapeError(f"Split: num_outputs={num_outputs}, and the node makes {count}")
    if given is None:
        n = np.shape(x)[axis_of("Split", axis, np.ndim(x))]
        each = -(-n // count)
        given = [max(min(each, n - i * each), 0) for i in range(count)]
    return shaping.split(x, tuple(given), axis)


def _slice(
    x: Any, first: Any = None, last: Any = None, along: Any = None, by: Any = None, *, axes: Ints | None = None,
    starts: Ints | None = None, ends: Ints | None = None,
) -> Any:  # fmt: skip
    begin = wholes("Slice", "starts", starts if first is None else first)
    stop = wholes("Slice", "ends", ends if last is None else last)
    named = axes_given("Slice", along, axes)
    named = tuple(range(len(begin))) if named is None else named
    steps = (1,) * len(begin) if by is None else wholes("Slice", "steps", by)
    if not len(begin) == len(stop) == len(named) == len(steps):
        raise ShapeError(
            f"Slice: {len(begin)} starts, {len(stop)} ends, {len(named)} axes, {len(steps)} steps; as many"
        )
    for axis, start, end, step in zip(named, begin, stop, steps, strict=True):
        n = np.shape(x)[axis_of("Slice", axis, np.ndim(x))]
        if step < 0:  # a number below -n means to the very beginning, which None says in Python
            x = shaping.slice(x, axis, min(start, n - 1), None if end < -n else end, step)
        else:
            x = shaping.slice(x, axis, start, end, step)
    return x


def _pad(
    x: Any, pads_in: Any = None, fill: Any = None, axes: Any = None, *, mode: str = "constant",
    pads: Ints | None = None, value: float = 0.0,
) -> Any:  # fmt: skip
    """pads: before all axes, then after all."""
    given = wholes("Pad", "pads", pads if pads_in is None else pads_in)
    rank = np.ndim(x)
    named = range(rank) if axes is None else [axis_of("Pad", a, rank) for a in wholes("Pad", "axes", axes)]
    if len(given) != 2 * len(named):
        raise ShapeError(f"Pad: {len(given)} pads for {len(named)} axes; give two for each")
    widths = [(0, 0)] * rank
    for axis, before, after in zip(named, given, given[len(named) :], strict=False):
        widths[axis] = before, after
    check_size([n + max(b, 0) + max(a, 0) for n, (b, a) in zip(np.shape(x), widths, strict=True)], secret=is_secret(x))
    modes = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    if mode not in modes:
        raise UnsupportedError(f"Pad: mode={mode!r}; there are {', '.join(modes)}")
    if mode != "constant" and not is_secret(x):
        return _pad_or_cut(np.asarray(x), widths, mode)
    filling = value if fill is None else number("Pad", "the value", fill)
    padded = concatenation.pad(x, widths, modes[mode], filling)
    return padded if is_secret(x) else np.asarray(padded).astype(np.asarray(x).dtype)


def _pad_or_cut(x: Any, widths: list[tuple[int, int]], mode: str) -> Any:
    cut = tuple(np.s_[max(-b, 0) : n - max(-a, 0)] for n, (b, a) in zip(x.shape, widths, strict=True))
    return np.pad(x[cut], [(max(b, 0), max(a, 0)) for b, a in widths], mode=mode)  # type: ignore[call-overload]


def _tiled_shape(x: Any, repeats: Any, tiles: Any = None) -> tuple[int, ...]:
    counts = wholes("Tile", "repeats", repeats)
    if tiles is not None or len(counts) != np.ndim(x) or min(counts, default=0) < 0:
        raise ShapeError(f"Tile: repeats {counts} for shape {np.shape(x)}; give a number from 0 on for every axis")
    return tuple(n * count for n, count in zip(np.shape(x), counts, strict=True))


@bound_size(_tiled_shape)
def _tile(x: Any, repeats: Any) -> Any:
    return shaping.tile(x, repeats)


def _depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Channels as pixels; CRD is what PyTorch calls pixel_shuffle, DCR has the channels behind the block."""
    n, channels, rows, columns = _image("DepthToSpace", x)
    r = whole("DepthToSpace", "blocksize", blocksize, 1)
    if mode not in ("DCR", "CRD"):
        raise UnsupportedError(f"DepthToSpace: mode={mode!r}; there are DCR and CRD")
    if channels % (r * r):
        raise ShapeError(f"DepthToSpace: {channels} channels do not divide by {r} * {r}")
    if mode == "CRD":
        return concatenation.pixel_shuffle(x, r)
    parts = np.reshape(values(x), (n, r, r, channels // (r * r), rows, columns))
    return np.reshape(np.transpose(parts, (0, 3, 4, 1, 5, 2)), (n, channels // (r * r), rows * r, columns * r))


def _space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    if mode not in ("DCR", "CRD"):
        raise UnsupportedError(f"SpaceToDepth: mode={mode!r}; there are DCR and CRD")
    n, channels, rows, columns = _image("SpaceToDepth", x)
    r = whole("SpaceToDepth", "blocksize", blocksize, 1)
    if rows % r or columns % r:
        raise ShapeError(f"SpaceToDepth: {rows} x {columns} pixels do not divide by {r}")
    if mode == "CRD":
        return concatenation.pixel_unshuffle(x, r)
    parts = np.reshape(values(x), (n, channels, rows // r, r, columns // r, r))
    return np.reshape(np.transpose(parts, (0, 3, 5, 1, 2, 4)), (n, channels * r * r, rows // r, columns // r))


def _image(name: str, x: Any) -> tuple[int, ...]:
    if np.ndim(x) != 4:
        raise ShapeError(f"{name}: shape {np.shape(x)}; it has to be (batch, channels, rows, columns)")
    return tuple(np.shape(x))


def _trilu(x: Any, k: Any = None, *, upper: int = 1) -> Any:
    diagonal = 0 if k is None else whole("Trilu", "k", k)
    shape = np.shape(x)
    if len(shape) < 2:
        raise ShapeError(f"Trilu: shape {shape}; it has to have two axes")
    mask = np.triu(np.ones(shape[-2:]), diagonal) if upper else np.tril(np.ones(shape[-2:]), diagonal)
    return x * mask if is_secret(x) else np.where(mask != 0, x, np.zeros((), np.asarray(x).dtype))


def _cumsum(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
    along = axis_of("CumSum", whole("CumSum", "axis", axis), np.ndim(x))
    dtype = None if is_secret(x) else np.asarray(x).dtype
    turned = np.flip(values(x), along) if reverse else values(x)
    total = np.cumsum(turned, along) if dtype is None else np.cumsum(turned, along, dtype)
    if exclusive:
        total = total - turned
    return np.flip(total, along) if reverse else total


def _dropout(
    x: Any, ratio: Any = None, training_mode: Any = None, *, seed: int = 0, is_test: int = 0, **old: float
) -> Any:
    """Nothing, but while a model is trained."""
    if training_mode is not None and np.any(public("Dropout", "training_mode", training_mode)):
        raise UnsupportedError(f"Dropout in training mode: {REMEDIES['random'].for_models}")
    if set(old) - {"ratio"}:
        raise TypeError(f"unknown attributes {', '.join(old)}")
    return x, np.ones(np.shape(x), np.bool_)


def _reverse_sequence(x: Any, lengths: Any, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    counts = wholes("ReverseSequence", "sequence_lens", lengths)
    shape = np.shape(x)
    if {batch_axis, time_axis} != {0, 1} or len(shape) < 2 or len(counts) != shape[batch_axis]:
        raise ShapeError(f"ReverseSequence: axes {batch_axis}, {time_axis} and {len(counts)} lengths for shape {shape}")
    time = np.arange(shape[time_axis])
    if any(not 0 <= count <= len(time) for count in counts):
        raise ShapeError(f"ReverseSequence: lengths {counts} of sequences of {len(time)}")
    order = np.stack([np.where(time < count, count - 1 - time, time) for count in counts])
    batch = np.arange(shape[batch_axis])[:, None]
    return values(x)[(batch, order)] if batch_axis == 0 else values(x)[(order.T, batch.T)]


CONVERTERS = (
    Converter("Identity", lambda x: x),
    Converter("Dropout", _dropout, note="left out"),
    Converter("Reshape", _reshape),
    Converter("Flatten", _flatten),
    Converter("Transpose", _transpose),
    Converter("Squeeze", _squeeze),
    Converter("Unsqueeze", _unsqueeze),
    Converter("Expand", _expand, since=8),
    Converter("Concat", _concat),
    Converter("Split", _split),
    Converter("Slice", _slice),
    Converter("Pad", _pad),
    Converter("Tile", _tile),
    Converter("DepthToSpace", _depth_to_space),
    Converter("SpaceToDepth", _space_to_depth),
    Converter("Trilu", _trilu, since=14),
    Converter("CumSum", _cumsum, since=11),
    Converter("ReverseSequence", _reverse_sequence, since=10, note="lengths are public"),
)
