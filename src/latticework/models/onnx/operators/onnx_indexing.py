"""Elements at public places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.converters import Converter
from latticework.models.onnx.size_limits import check_size
from latticework.models.semantics import shaping
from latticework.models.semantics.operand_checks import axis_of, is_secret, public, select_elements, values

_PLACES = REMEDIES["index"].instead


def _gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    numbers = public("Gather", "the index", indices, _PLACES)
    shape = np.shape(x)
    along = axis_of("Gather", axis, len(shape))
    check_size((*shape[:along], *numbers.shape, *shape[along + 1 :]), secret=is_secret(x))
    if is_secret(x):
        return shaping.index_select(x, along, numbers)
    _check(numbers, shape[along] if shape else 1, "Gather")
    return np.take(x, numbers, along)


def _gather_elements(x: Any, indices: Any, *, axis: int = 0) -> Any:
    numbers = public("GatherElements", "the index", indices, _PLACES)
    return shaping.gather(x, axis, numbers)


def _gather_nd(x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    """x at rows of numbers: the last axis of the index names axes of x behind the `batch_dims` first."""
    numbers, shape = public("GatherND", "the index", indices, _PLACES), np.shape(x)
    if (
        not numbers.ndim
        or not 0 <= batch_dims < min(len(shape), numbers.ndim)
        or (numbers.shape[-1] > len(shape) - batch_dims or numbers.shape[:batch_dims] != shape[:batch_dims])
    ):
        raise ShapeError(f"GatherND: an index of shape {numbers.shape} does not fit shape {shape}")
    depth = batch_dims + numbers.shape[-1]
    lead = numbers.shape[:-1]
    check_size((*lead, *shape[depth:]), secret=is_secret(x))
    ahead = [np.arange(n).reshape(-1, *(1,) * (len(lead) - axis - 1)) for axis, n in enumerate(shape[:batch_dims])]
    flat = _flat([*ahead, *np.moveaxis(numbers, -1, 0)], shape[:depth], "GatherND", lead)
    return _gather_parts(x, flat, shape[depth:])


def _flat(places: Sequence[Any], shape: Sequence[int], name: str, lead: tuple[int, ...]) -> Any:
    """Numbers of elements in order of all, of numbers along each axis."""
    total = np.zeros(lead, np.int64)
    for numbers, n in zip(places, shape, strict=True):
        _check(numbers, n, name)
        total = total * n + np.where(numbers < 0, numbers + n, numbers)
    return total


def _gather_parts(x: Any, flat: Any, kept: tuple[int, ...]) -> Any:
    """Parts of shape `kept` of x, by their numbers."""
    rows = np.reshape(values(x), (-1, *kept))
    picked = select_elements(rows, flat.reshape(-1).tolist(), 0) if flat.size else rows[:0]
    return np.reshape(picked, (*flat.shape, *kept))


def _scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    numbers, shape = public("ScatterND", "the index", indices, _PLACES), np.shape(x)
    if not numbers.ndim or numbers.shape[-1] > len(shape):
        raise ShapeError(f"ScatterND: an index of shape {numbers.shape} does not fit shape {shape}")
    depth, lead = numbers.shape[-1], numbers.shape[:-1]
    if np.shape(updates) != (*lead, *shape[depth:]):
        raise ShapeError(f"ScatterND: updates of shape {np.shape(updates)}, not {(*lead, *shape[depth:])}")
    rows = _flat(np.moveaxis(numbers, -1, 0), shape[:depth], "ScatterND", lead)
    size = prod(shape[depth:])
    places = (rows.reshape(-1, 1) * size + np.arange(size)).reshape(-1)
    return _scatter_flat("ScatterND", x, places, updates, reduction)


def _scatter_elements(x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    numbers, shape = public("ScatterElements", "the index", indices, _PLACES), np.shape(x)
    along = axis_of("ScatterElements", axis, len(shape))
    if numbers.ndim != len(shape) or np.shape(updates) != numbers.shape:
        raise ShapeError(
            f"ScatterElements: index {numbers.shape}, updates {np.shape(updates)} and x {shape} do not fit"
        )
    grid: list[Any] = list(np.indices(numbers.shape, sparse=True))
    grid[along] = numbers
    return _scatter_flat(
        "ScatterElements", x, _flat(grid, shape, "ScatterElements", numbers.shape).reshape(-1), updates, reduction
    )


def _scatter_flat(name: str, x: Any, places: Any, updates: Any, reduction: str) -> Any:
    """x with updates in places, or added there."""
    shape, count = np.shape(x), prod(np.shape(x))
    if not is_secret(x, updates):
        return _scatter_flat_public(name, np.array(x), places, np.asarray(updates), reduction)
    if reduction not in ("none", "add"):
        raise UnsupportedError(f"{name}: reduction={reduction!r} of secrets; none and add are supported")
    if not places.size:
        return x
    if reduction == "add" and len(np.unique(places)) < len(places):
        raise UnsupportedError(f"{name}: several updates are added in one place; add them before")
    flat, new = np.reshape(values(x), -1), np.reshape(values(updates), -1)
    if reduction == "add":
        new = select_elements(flat, places.tolist(), 0) + new
    source = np.arange(count)
    source[places] = count + np.arange(len(places))
    return np.reshape(select_elements(np.concatenate([flat, new]), source.tolist(), 0), shape)


def _scatter_flat_public(name: str, x: Any, places: Any, updates: Any, reduction: str) -> Any:
    flat = x.reshape(-1)
    ways = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    if reduction == "none":
        flat[places] = updates.reshape(-1)
    elif reduction in ways:
        ways[reduction].at(flat, places, updates.reshape(-1))
    else:
        raise UnsupportedError(f"{name}: reduction={reduction!r}; there are none, {', '.join(ways)}")
    return flat.reshape(x.shape)


def _compress(x: Any, condition: Any, *, axis: int | None = None) -> Any:
    kept = public("Compress", "the condition", condition).astype(bool).reshape(-1)
    x = np.reshape(values(x), -1) if axis is None else values(x)
    along = 0 if axis is None else axis_of("Compress", axis, np.ndim(x))
    if len(kept) > np.shape(x)[along]:
        raise ShapeError(f"Compress: a condition of {len(kept)} for {np.shape(x)[along]} elements")
    places = np.flatnonzero(kept)
    if not len(places):
        raise ShapeError("Compress: the condition keeps no element")
    return select_elements(x, places.tolist(), along)


def _check(numbers: Any, length: int, name: str) -> None:
    if numbers.dtype.kind not in "iu":
        raise ShapeError(f"{name}: the index has dtype {numbers.dtype}; it must be whole numbers")
    if numbers.size and not -length <= numbers.min() <= numbers.max() < length:
        raise ShapeError(
            f"{name}: the index reaches from {numbers.min()} to {numbers.max()}, and the axis is {length} long"
        )


_PUBLIC = "the index is public"
CONVERTERS = (
    Converter("Gather", _gather, note=_PUBLIC),
    Converter("GatherElements", _gather_elements, since=11, note=_PUBLIC),
    Converter("GatherND", _gather_nd, since=11, note=_PUBLIC),
    Converter("ScatterND", _scatter_nd, since=11, note=_PUBLIC),
    Converter("ScatterElements", _scatter_elements, since=11, note=_PUBLIC),
    Converter("Scatter", _scatter_elements, since=9, note=_PUBLIC),
    Converter("Compress", _compress, since=9, note="the condition is public"),
)
