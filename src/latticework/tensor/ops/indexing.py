"""Arrays and lists as subscripts: NumPy's advanced indexing by public numbers, np.take and its like."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import reshape
from latticework.tensor.ops import slice as slicing
from latticework.tensor.ops.base import Shape, Tracer, check_size, normal_axis, shape_of
from latticework.tensor.ops.take import emit_take, take_along

IntArray = npt.NDArray[np.int64]


def trace(tracer: Tracer, a: object, index: Any) -> Value:
    """a[index], where lists, arrays and masks in the index are public."""
    value = tracer.lift(a)
    items = [_single(item) for item in (index if isinstance(index, tuple) else (index,))]
    if not any(isinstance(item, (list, np.ndarray, bool, np.bool_)) for item in items):
        return slicing.trace(tracer, value, tuple(items))
    items = _complete(shape_of(value), items)
    basic = tuple(slice(None) if isinstance(item, np.ndarray) else item for item in items)
    value = slicing.trace(tracer, value, basic)
    places = [place for place, item in enumerate(items) if isinstance(item, np.ndarray)]
    chosen = [_within(shape_of(value), axis, items[axis]) for axis in places]
    if _is_grid(chosen) and places == list(range(places[0], places[0] + len(places))):
        for axis, numbers in zip(places, chosen, strict=True):
            value = take_along(tracer, value, axis, numbers.reshape(-1))
        return value
    try:
        together = np.broadcast_arrays(*chosen)
    except ValueError:
        shapes = ", ".join(str(numbers.shape) for numbers in chosen)
        raise ShapeError(
            f"index: the lists of numbers have shapes {shapes}, which do not broadcast; for rows by columns use np.ix_"
        ) from None
    joined = places == list(range(places[0], places[0] + len(places)))
    at = places[0] if joined else 0
    lists = tuple(tuple(int(i) for i in numbers.reshape(-1)) for numbers in together)
    if not lists[0]:
        raise ShapeError(f"index: no element of an array of shape {shape_of(value)} is chosen; choose at least one")
    if len(places) == 1:
        value = take_along(tracer, value, places[0], lists[0])
    else:
        value = emit_take(tracer, value, tuple(places), lists, at)
    old = shape_of(value)
    return reshape.trace(tracer, value, (*old[:at], *together[0].shape, *old[at + 1 :]))


def take(tracer: Tracer, a: object, indices: Any, axis: Any = None, mode: str = "raise") -> Value:
    """np.take(a, indices, axis, mode=...)."""
    value = tracer.lift(a)
    if axis is None:
        value, axis = reshape.trace_ravel(tracer, value), 0
    along = normal_axis("take", axis, len(shape_of(value)))
    numbers = _numbers(tracer, "take", indices)
    length = shape_of(value)[along]
    if mode in ("wrap", "clip"):
        numbers = numbers % length if mode == "wrap" else np.clip(numbers, 0, length - 1)
    if numbers.ndim == 0:
        return slicing.trace(tracer, value, (*(slice(None),) * along, int(numbers)))
    return trace(tracer, value, (*(slice(None),) * along, numbers))


def compress(tracer: Tracer, condition: Any, a: object, axis: Any = None) -> Value:
    """np.compress(condition, a, axis) by a public condition."""
    chosen = _public(tracer, "compress", condition)
    if chosen.ndim != 1:
        raise ShapeError(f"compress: the condition has shape {chosen.shape}; give one axis of True and False")
    return take(tracer, a, np.flatnonzero(chosen), axis)


def delete(tracer: Tracer, arr: object, obj: Any, axis: Any = None) -> Value:
    """np.delete(arr, obj, axis)."""
    value = tracer.lift(arr)
    if axis is None:
        value, axis = reshape.trace_ravel(tracer, value), 0
    along = normal_axis("delete", axis, len(shape_of(value)))
    if not isinstance(obj, slice):
        _public(tracer, "delete", obj)
    try:
        remaining = np.delete(np.arange(shape_of(value)[along]), obj)
    except IndexError as error:
        raise ShapeError(f"delete: {error}, of shape {shape_of(value)}") from None
    return take(tracer, value, remaining, along)


def repeat(tracer: Tracer, a: object, repeats: Any, axis: Any = None) -> Value:
    """np.repeat(a, repeats, axis)."""
    value = tracer.lift(a)
    if axis is None:
        value, axis = reshape.trace_ravel(tracer, value), 0
    along = normal_axis("repeat", axis, len(shape_of(value)))
    counts = _numbers(tracer, "repeat", repeats)
    length = shape_of(value)[along]
    if counts.min(initial=0) < 0 or counts.size not in (1, length) or counts.ndim > 1:
        raise ShapeError(
            f"repeat: repeats={repeats!r} must be one number >= 0, or one for each of the {length} elements along axis "
            f"{along} of shape {shape_of(value)}"
        )
    total = int(counts) * length if counts.ndim == 0 else int(np.broadcast_to(counts, length).sum())
    check_size("repeat", (*shape_of(value)[:along], total, *shape_of(value)[along + 1 :]))
    return trace(tracer, value, (*(slice(None),) * along, np.repeat(np.arange(length), counts)))


def tile(tracer: Tracer, A: object, reps: Any) -> Value:
    """np.tile(A, reps)."""
    value = tracer.lift(A)
    counts = [int(n) for n in np.atleast_1d(_numbers(tracer, "tile", reps))]
    rank = max(len(counts), len(shape_of(value)))
    value = reshape.trace(tracer, value, (*(1,) * (rank - len(shape_of(value))), *shape_of(value)))
    counts = [1] * (rank - len(counts)) + counts
    if min(counts) < 1:
        raise ShapeError(f"tile: reps={reps!r} would leave nothing; give numbers >= 1")
    check_size("tile", tuple(n * count for n, count in zip(shape_of(value), counts, strict=True)))
    for axis, count in enumerate(counts):
        value = take_along(tracer, value, axis, np.tile(np.arange(shape_of(value)[axis]), count))
    return value


def _complete(shape: Shape, items: list[Any]) -> list[Any]:
    """The subscripts with the ellipsis written out, and every mask, list, array and integer as an array of numbers."""
    arrays = [_array(item) if isinstance(item, (list, np.ndarray, bool, np.bool_)) else item for item in items]
    masks = [a.ndim for a in arrays if isinstance(a, np.ndarray) and a.dtype == bool]
    others = sum(1 for a in arrays if a is not None and a is not Ellipsis and not _is_mask(a))
    used = sum(masks) + others
    if used > len(shape):
        raise ShapeError(f"index: {used} subscripts for shape {shape}; give at most {len(shape)}")
    if sum(1 for a in arrays if a is Ellipsis) > 1:
        raise ShapeError("index: more than one ellipsis (...); keep one")
    if not any(a is Ellipsis for a in arrays):
        arrays.append(Ellipsis)
    result: list[Any] = []
    axis = 0
    for item in arrays:
        if item is Ellipsis:
            result += [slice(None)] * (len(shape) - used)
            axis += len(shape) - used
        elif item is None:
            result.append(None)
        elif isinstance(item, slice):
            result.append(item)
            axis += 1
        elif _is_mask(item):
            if item.shape != shape[axis : axis + item.ndim]:
                raise ShapeError(
                    f"index: a mask of shape {item.shape} meets axes {axis} to {axis + item.ndim - 1} of {shape}; "
                    "they must be equally long"
                )
            result += list(np.nonzero(item))
            axis += item.ndim
        else:
            result.append(np.asarray(item if isinstance(item, np.ndarray) else slicing.element(item, axis, shape)))
            axis += 1
    return result


def _single(item: Any) -> Any:
    """An array of one whole number without axes is that number."""
    return int(item) if isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu" else item


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == bool


def _array(item: Any) -> npt.NDArray[Any]:
    """A subscript that is a list, an array or a truth value."""
    array = np.asarray(item)
    if array.dtype.kind not in "iub" and array.size:
        raise UnsupportedError(
            f"index: an array of dtype {array.dtype} is no subscript; use whole numbers, or a mask of True and False"
        )
    if array.dtype == bool and array.ndim == 0:
        raise UnsupportedError(f"index: {item} is no subscript; use a mask as long as the axis, or None for a new axis")
    return array if array.dtype == bool else array.astype(np.int64)


def _within(shape: Shape, axis: int, numbers: IntArray) -> IntArray:
    n = shape[axis]
    outside = numbers[(numbers < -n) | (numbers >= n)]
    if outside.size:
        raise ShapeError(
            f"index: {int(outside.flat[0])} is outside axis {axis} of shape {shape}, which is {n} long; "
            f"use {-n} to {n - 1}"
        )
    return numbers % n


def _is_grid(chosen: list[IntArray]) -> bool:
    """Whether the arrays are rows by columns, as np.ix_ makes them."""
    count = len(chosen)
    return count > 1 and all(
        numbers.ndim == count and all(n == 1 or axis == place for axis, n in enumerate(numbers.shape)) and numbers.size
        for place, numbers in enumerate(chosen)
    )


def _public(tracer: Tracer, name: str, argument: Any) -> npt.NDArray[np.float64]:
    array = tracer.plain(argument)
    if array is None:
        raise UnsupportedError(
            f"{name}: what is chosen must be known when the program is compiled, but it is secret; choose by public "
            "numbers, or multiply by a secret 0/1 array"
        )
    return array


def _numbers(tracer: Tracer, name: str, argument: Any) -> IntArray:
    """Public whole numbers."""
    array = _public(tracer, name, argument)
    if (array != np.floor(array)).any() or np.asarray(argument).dtype.kind == "f":
        raise UnsupportedError(f"{name}: {argument!r} must be whole numbers")
    return array.astype(np.int64)
