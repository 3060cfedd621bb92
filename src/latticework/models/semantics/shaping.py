"""Shapes and places: the same elements under other shapes, parts of them, and elements moved."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.models.semantics.operand_checks import axes_of, axis_of, public, select_elements, values, whole, wholes

_INDEX = "choose secretly by a product with bits that are 0 or 1"


def reshape(x: Any, shape: Any) -> Any:
    """The elements in order under another shape, of which one length may be -1."""
    return np.reshape(values(x), wholes("reshape", "shape", shape))


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Axes from one to another, both included, as one; a number becomes a vector."""
    shape = np.shape(x)
    if not shape:
        return np.reshape(values(x), (1,))
    first, last = axis_of("flatten", start_dim, len(shape)), axis_of("flatten", end_dim, len(shape))
    if first > last:
        raise ShapeError(f"flatten: start_dim={start_dim} comes after end_dim={end_dim} in shape {shape}")
    return np.reshape(values(x), (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """An axis as several, of which one length may be -1."""
    shape = np.shape(x)
    axis = axis_of("unflatten", dim, len(shape))
    new = list(wholes("unflatten", "sizes", sizes))
    known = prod(n for n in new if n != -1)
    if new.count(-1) == 1 and known and shape[axis] % known == 0:
        new[new.index(-1)] = shape[axis] // known
    if -1 in new or prod(new) != shape[axis]:
        raise ShapeError(f"unflatten: sizes {tuple(new)} do not multiply to {shape[axis]}, axis {axis} of {shape}")
    return np.reshape(values(x), (*shape[:axis], *new, *shape[axis + 1 :]))


def permute(x: Any, dims: Any) -> Any:
    """Axes in another order."""
    order = wholes("permute", "dims", dims)
    found = tuple(axis_of("permute", dim, np.ndim(x)) for dim in order)
    if sorted(found) != list(range(np.ndim(x))):
        raise ShapeError(f"permute: dims={order} is no order of the {np.ndim(x)} axes of shape {np.shape(x)}")
    return np.transpose(values(x), found)


def transpose(x: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    rank = np.ndim(x)
    first, second = axis_of("transpose", dim0, rank), axis_of("transpose", dim1, rank)
    return np.swapaxes(values(x), first, second) if rank else values(x)


def squeeze(x: Any, dim: Any = None) -> Any:
    """Axes of length 1 left out: all, or those of `dim` that are so; others stay."""
    shape = np.shape(x)
    named = axes_of("squeeze", dim, len(shape)) if dim is not None and np.size(dim) else ()
    gone = [axis for axis in (range(len(shape)) if dim is None else named) if shape[axis] == 1]
    return np.reshape(values(x), tuple(n for axis, n in enumerate(shape) if axis not in gone))


def unsqueeze(x: Any, dim: Any) -> Any:
    """New axes of length 1, in places of the result."""
    places = wholes("unsqueeze", "dim", dim)
    rank = np.ndim(x) + len(places)
    found = axes_of("unsqueeze", places, rank)
    old = iter(np.shape(x))
    return np.reshape(values(x), tuple(1 if axis in found else next(old) for axis in range(rank)))


def expand(x: Any, sizes: Any) -> Any:
    """Axes of length 1 repeated, and new ones in front; -1 leaves an axis as it is."""
    new, old = wholes("expand", "sizes", sizes), np.shape(x)
    ahead = len(new) - len(old)
    if ahead < 0 or -1 in new[:ahead]:
        raise ShapeError(
            f"expand: sizes {new} do not fit shape {old}; give a length for every axis, -1 for those it has"
        )
    full = tuple(old[axis - ahead] if n == -1 else n for axis, n in enumerate(new))
    if any(m not in (1, n) for m, n in zip(old, full[ahead:], strict=True)):
        raise ShapeError(f"expand: shape {old} does not become {full}; only axes of length 1 are repeated")
    return np.broadcast_to(values(x), full)


def select(x: Any, dim: int, index: Any) -> Any:
    """One part along an axis, which disappears."""
    axis, at = axis_of("select", dim, np.ndim(x)), whole("select", "index", public("select", "index", index, _INDEX))
    return values(x)[(*(np.s_[:],) * axis, at)]


def slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Any:
    """Every step-th part from `start` to before `end` along an axis; what lies beyond its ends is left out."""
    axis = axis_of("slice", dim, np.ndim(x))
    bounds = (None if n is None else whole("slice", what, n) for n, what in ((start, "start"), (end, "end")))
    first, stop = bounds
    by = whole("slice", "step", step)
    if by == 0:
        raise ShapeError("slice: step=0; give another whole number")
    return values(x)[(*(np.s_[:],) * axis, np.s_[first:stop:by])]


def narrow(x: Any, dim: int, start: Any, length: Any) -> Any:
    """`length` parts from `start` on along an axis."""
    axis = axis_of("narrow", dim, np.ndim(x))
    n = np.shape(x)[axis]
    first, count = whole("narrow", "start", start), whole("narrow", "length", length, 0)
    first += n if first < 0 else 0
    if not 0 <= first <= first + count <= n:
        raise ShapeError(f"narrow: {count} parts from {start} on leave axis {axis} of shape {np.shape(x)}")
    return values(x)[(*(np.s_[:],) * axis, np.s_[first : first + count])]


def gather(x: Any, dim: int, index: Any) -> Any:
    """out[i, j, ...] = x[..., index[i, j, ...], ...] with the number in place of axis `dim`; numbers are public.

    index   as many axes as x, none but `dim` longer than that of x
    """
    numbers, shape = public("gather", "index", index, _INDEX), np.shape(x)
    axis = axis_of("gather", dim, len(shape))
    if not shape:
        return np.reshape(values(x), numbers.shape)
    others = [i for i in range(len(shape)) if i != axis]
    if len(shape) != numbers.ndim or any(numbers.shape[i] > shape[i] for i in others):
        raise ShapeError(f"gather: an index of shape {numbers.shape} does not fit shape {shape} along axis {axis}")
    _check(numbers, shape[axis], "gather", axis)
    grid = list(np.indices(numbers.shape, sparse=True))
    grid[axis] = numbers
    return values(x)[tuple(grid)]


def index_select(x: Any, dim: int, index: Any) -> Any:
    """The parts along an axis that have public numbers, in their order; an index of several axes makes as many."""
    numbers, shape = public("index_select", "index", index, _INDEX), np.shape(x)
    axis = axis_of("index_select", dim, len(shape))
    if not shape:
        return np.broadcast_to(np.reshape(values(x), (1,) * numbers.ndim), numbers.shape)
    _check(numbers, shape[axis], "index_select", axis)
    flat = np.where(numbers < 0, numbers + shape[axis], numbers).reshape(-1)
    found = select_elements(values(x), flat, axis) if flat.size else values(x)[(*(np.s_[:],) * axis, np.s_[:0])]
    return np.reshape(found, (*shape[:axis], *numbers.shape, *shape[axis + 1 :]))


def _check(numbers: Any, length: int, name: str, axis: int) -> None:
    if numbers.dtype.kind not in "iu":
        raise ShapeError(f"{name}: the index has dtype {numbers.dtype}; it must be whole numbers")
    if numbers.size and not -length <= numbers.min() <= numbers.max() < length:
        raise ShapeError(
            f"{name}: the index reaches from {numbers.min()} to {numbers.max()}, and axis {axis} is {length} long"
        )


def unbind(x: Any, dim: int = 0) -> tuple[Any, ...]:
    """All parts along an axis, which disappears."""
    axis = axis_of("unbind", dim, np.ndim(x))
    return tuple(values(x)[(*(np.s_[:],) * axis, i)] for i in range(np.shape(x)[axis]))


def split(x: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of one size along an axis, of which the last may be smaller, or of the sizes given."""
    axis = axis_of("split", dim, np.ndim(x))
    n = np.shape(x)[axis]
    given = split_size_or_sections
    if np.ndim(given):
        sizes = list(wholes("split", "sizes", given))
    else:
        size = whole("split", "the size", given, 1)
        sizes = [min(size, n - start) for start in range(0, max(n, 1), size)]
    if sum(sizes) != n or min(sizes, default=0) < 0:
        told = f"{str(sizes[:8])[:-1]}{', ...' * (len(sizes) > 8)}]"
        raise ShapeError(f"split: sizes {told} do not add up to {n}, axis {axis} of shape {np.shape(x)}")
    ends = np.cumsum(sizes).tolist()
    return tuple(
        values(x)[(*(np.s_[:],) * axis, np.s_[end - size : end])] for size, end in zip(sizes, ends, strict=True)
    )


def chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Split into at most `chunks` parts of one size along an axis, of which the last may be smaller."""
    n = np.shape(x)[axis_of("chunk", dim, np.ndim(x))]
    return split(x, max(-(-n // whole("chunk", "chunks", chunks, 1)), 1), dim)


def flip(x: Any, dims: Any) -> Any:
    """Axes in reverse; of no axes nothing."""
    named = wholes("flip", "dims", dims)
    return np.flip(values(x), axes_of("flip", named, np.ndim(x))) if named and np.ndim(x) else values(x)


def roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    """Elements moved along axes, those beyond the end to the front; without axes in order of all elements."""
    by, along = wholes("roll", "shifts", shifts), wholes("roll", "dims", dims if dims is not None else ())
    if not along:
        if len(by) != 1:
            raise ShapeError(f"roll: shifts={by} without dims; give one shift, or an axis for each")
        return np.roll(values(x), by[0])
    if len(by) != len(along):
        raise ShapeError(f"roll: {len(by)} shifts for {len(along)} axes; give one for each")
    return np.roll(values(x), by, tuple(axis_of("roll", axis, np.ndim(x)) for axis in along))


def repeat(x: Any, sizes: Any) -> Any:
    """The whole so often along each axis, with new axes in front; `sizes` for every axis at least."""
    counts = wholes("repeat", "sizes", sizes)
    if len(counts) < np.ndim(x):
        raise ShapeError(f"repeat: sizes {counts} for shape {np.shape(x)}; give one for every axis")
    return np.tile(values(x), counts)


def tile(x: Any, dims: Any) -> Any:
    """The whole so often along each of the last axes."""
    return np.tile(values(x), wholes("tile", "dims", dims))


def repeat_interleave(x: Any, repeats: Any, dim: int | None = None) -> Any:
    """Every element, or every part along an axis, so often one after the other."""
    counts = public("repeat_interleave", "repeats", repeats, _INDEX)
    axis = None if dim is None else axis_of("repeat_interleave", dim, np.ndim(x))
    return np.repeat(values(x), counts.reshape(()) if counts.size == 1 else counts, axis)
