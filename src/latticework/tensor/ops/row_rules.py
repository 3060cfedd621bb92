"""Row rules: the axis of a tensor that holds the rows of the inputs, one rule for each kind of operation.

Rows lie along an axis of a tensor if its i-th part there is made of the i-th rows of the inputs alone, and in the same
way for every i. So a program that keeps them gives for many rows what it gives for each by itself, and any number of
them can be computed in batches. The rules prove this from shapes and attributes; what they cannot prove is mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

Shape = tuple[int, ...]
MOST_FOLLOWED = 1 << 24  # elements of a tensor whose every element is followed


@dataclass(frozen=True, slots=True)
class Rows:
    """Axes of a tensor along which rows lie, or elements are equal.

    axis   along which rows lie; None: it is made of no rows
    same   then: axes along which all elements are equal
    """

    axis: int | None = None
    same: frozenset[int] = frozenset()

    def is_same(self, axis: int, shape: Shape) -> bool:
        """Whether the elements along an axis are one and the same, as those of a single row are."""
        return self.axis is None and (axis in self.same or shape[axis] == 1)


@dataclass(frozen=True, slots=True)
class RowUse:
    """One use of an operation: its operands' shapes and what is known of them, its attributes and its reference."""

    shapes: tuple[Shape, ...]
    operands: tuple[Rows, ...]
    result: Shape
    attrs: Mapping[str, Any]
    reference: Callable[[Sequence[npt.NDArray[np.float64]]], npt.NDArray[np.float64]]


RowRule = Callable[[RowUse], Rows | None]  # None: rows are mixed, or it cannot be said


def elementwise(use: RowUse) -> Rows | None:
    """Each element of the result is made of those in its place, by NumPy's broadcasting."""
    rank = len(use.result)
    return _by_loops(use, [tuple(range(rank - len(shape), rank)) for shape in use.shapes])


def matrix_product(use: RowUse) -> Rows | None:
    """Stacks, rows of the left and columns of the right stay; what is summed mixes rows."""
    a, b = use.shapes
    stack = max(len(a[:-2]), len(b[:-2]))
    left = tuple(range(stack - len(a[:-2]), stack))
    right = tuple(range(stack - len(b[:-2]), stack))
    rows = (stack,) if len(a) > 1 else ()
    summed = len(use.result)
    columns = (stack + len(rows),) if len(b) > 1 else ()
    return _by_loops(use, [(*left, *rows, summed), (*right, summed, *columns)])


def _by_loops(use: RowUse, loops: Sequence[tuple[int, ...]]) -> Rows | None:
    """Derive rows by loops: loops[n][i] walks axis i of operand n; a loop is an axis of the result, or is summed."""
    row_loops = {of[rows.axis] for rows, of in zip(use.operands, loops, strict=True) if rows.axis is not None}

    def repeats(loop: int) -> bool:
        """Whether nothing but rows changes along a loop."""
        return all(
            rows.axis == axis or rows.is_same(axis, shape)
            for rows, shape, of in zip(use.operands, use.shapes, loops, strict=True)
            for axis in range(len(shape))
            if of[axis] == loop
        )

    if not row_loops:
        return Rows(None, frozenset(axis for axis in range(len(use.result)) if repeats(axis)))
    loop = row_loops.pop()
    if row_loops or loop >= len(use.result) or not repeats(loop):
        return None
    extents = {shape[rows.axis] for rows, shape in zip(use.operands, use.shapes, strict=True) if rows.axis is not None}
    return Rows(loop) if extents == {use.result[loop]} else None  # one row may be broadcast to several


def reduction(use: RowUse) -> Rows | None:
    """Sums and products over `axes`."""
    ((shape,), (rows,)) = use.shapes, use.operands
    gone = {axis % len(shape) for axis in use.attrs["axes"]}
    result_axis = {
        axis: axis - (0 if use.attrs["keepdims"] else sum(g < axis for g in gone)) for axis in range(len(shape))
    }
    if rows.axis is None:
        return Rows(None, frozenset(result_axis[axis] for axis in rows.same if axis not in gone))
    return None if rows.axis in gone else Rows(result_axis[rows.axis])


def along_one_axis(use: RowUse) -> Rows | None:
    """Derive rows of an operation that walks `axis` and keeps the others; operands meet element by element."""
    rows = use.operands[0] if len(use.operands) == 1 else elementwise(use)
    if rows is None:
        return None
    axis = use.attrs["axis"] % len(use.result)
    return None if rows.axis == axis else Rows(rows.axis, rows.same - {axis})


def windows(use: RowUse) -> Rows | None:
    """Windows over the last axes of images, with kernels or without: only a batch in front of them holds rows."""
    image, *kernels = use.operands
    fixed = 3 if kernels else 2
    if any(kernel.axis is not None for kernel in kernels):
        return None
    if image.axis is not None:
        return Rows(image.axis) if image.axis < len(use.shapes[0]) - fixed else None
    return Rows(None, frozenset(axis for axis in image.same if axis < len(use.shapes[0]) - fixed))


def movement(use: RowUse) -> Rows | None:
    """Elements moved, repeated, left out, or put among zeros: the operation itself says where each of them goes."""
    ((shape,), (rows,)) = use.shapes, use.operands
    if max(prod(shape), prod(use.result)) > MOST_FOLLOWED:
        return None
    if rows.axis is None:
        places = tuple(1 if rows.is_same(axis, shape) else n for axis, n in enumerate(shape))
        moved = use.reference([np.broadcast_to(_number_places(places), shape)])
        return Rows(None, frozenset(axis for axis in range(moved.ndim) if _is_constant(moved, axis)))
    row = np.arange(shape[rows.axis], dtype=np.float64)
    places = tuple(1 if axis == rows.axis else n for axis, n in enumerate(shape))
    along = row.reshape([-1 if axis == rows.axis else 1 for axis in range(len(shape))])
    source = use.reference([1.0 + np.broadcast_to(along, shape)])  # 0: a zero that was put there
    place = use.reference([np.broadcast_to(_number_places(places), shape)])
    for axis in sorted(range(source.ndim), key=lambda axis: axis != rows.axis):
        wanted = 1.0 + row.reshape([-1 if a == axis else 1 for a in range(source.ndim)])
        if source.shape[axis] == len(row) and _is_constant(place, axis) and ((source == wanted) | (source == 0)).all():
            return Rows(axis)
    return None


def _number_places(places: Shape) -> npt.NDArray[np.float64]:
    """Every place by a number of its own, from 1 on."""
    return np.arange(1.0, prod(places) + 1.0).reshape(places)


def _is_constant(array: npt.NDArray[np.float64], axis: int) -> bool:
    return bool((array == array.take([0], axis)).all())


def public_array(array: npt.NDArray[np.float64]) -> Rows:
    """Return the axes along which a public array is constant."""
    return Rows(None, frozenset(axis for axis in range(array.ndim) if _is_constant(array, axis)))


def either(a: Rows, b: Rows, shape: Shape) -> Rows | None:
    """Return the rows of a value that is one or the other, as what a loop carries; None if they disagree."""
    if a.axis == b.axis:
        return Rows(a.axis, a.same & b.same)
    rows, other = (a, b) if a.axis is not None else (b, a)
    return rows if rows.axis is not None and other.is_same(rows.axis, shape) else None
