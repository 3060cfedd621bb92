"""Layouts of sums over axes: those that are possible, and those that take neither a mask nor a level.

Vectors that differ in summed axes are added. Slot dims of summed axes are rotated and added: then the sum is at index 0
of them, and at every index if nothing but summed axes and repetition that rolls nothing lies outside, so that a carry
never reaches anything else. A summed axis may be rolled by any other, but no other by a summed one: the terms of one
sum would lie apart. Summed axes have to fill their dims, unless padding is known to hold zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from latticework.tensor.layout.derive import sum_away
from latticework.tensor.layout.layout import Layout, Shape
from latticework.values.packing.pack import GAP, REPEAT


def summed_layout(layout: Layout, rank: int, axes: Sequence[int], keepdims: bool) -> Layout:
    """Return the layout of the sum over `axes` of a tensor of `rank` axes if they become repetition."""
    return layout.renumber_axes(_kept_axes(rank, axes, keepdims))


def summed_layouts(layout: Layout, rank: int, axes: Sequence[int], keepdims: bool) -> list[Layout]:
    """Return layouts of the sum that move nothing else: at every index of the summed slot dims, or at the first."""
    return list(dict.fromkeys(form for form in _forms(layout, rank, axes, keepdims) if form is not None))


def free_sums(layout: Layout, shape: Shape, axes: Sequence[int], keepdims: bool, cleared: bool = False) -> list[Layout]:
    """Those of them that take no mask, everywhere before at the first index.

    cleared  padding of the summed axes holds zeros, so that they need not fill their dims
    """
    everywhere, first = _forms(layout, len(shape), axes, keepdims)
    full = full_shape(layout, shape, axes)
    if first is None or (full != shape and not cleared) or not _fills(layout, full, axes):
        return []
    candidates = [everywhere] if everywhere is not None and _nothing_outside(layout, axes) else []
    return list(dict.fromkeys([*candidates, first]))


def full_shape(layout: Layout, shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with these axes as long as their dims."""
    extents = {axis: prod(d.extent for d in layout.all_dims if d.axis == axis) for axis in axes}
    return tuple(extents.get(axis, n) for axis, n in enumerate(shape))


def _forms(layout: Layout, rank: int, axes: Sequence[int], keepdims: bool) -> list[Layout | None]:
    lying = layout.renumber_axes({**_kept_axes(rank, axes, keepdims), **{axis: rank + axis for axis in axes}})
    return [sum_away(lying, [rank + axis for axis in axes], becomes) for becomes in (REPEAT, GAP)]


def _fills(layout: Layout, shape: Shape, axes: Sequence[int]) -> bool:
    """Whether the summed axes are as long as their dims, and those of the slots powers of two."""
    if any(prod(d.extent for d in layout.all_dims if d.axis == axis) != shape[axis] for axis in axes):
        return False
    return all(d.extent & (d.extent - 1) == 0 for d in layout.dims if d.axis in axes)


def _nothing_outside(layout: Layout, axes: Sequence[int]) -> bool:
    first = len(layout.vector_dims)
    rolling = {j - first for _, j in layout.rolls}
    last = max((i for i, d in enumerate(layout.dims) if d.axis in axes), default=0)
    outside = [i for i in range(last) if layout.dims[i].axis not in axes]
    fills = prod(d.extent for d in layout.dims) == layout.slots
    return fills and all(layout.dims[i].axis == REPEAT and i not in rolling for i in outside)


def _kept_axes(rank: int, axes: Sequence[int], keepdims: bool) -> dict[int, int]:
    """Axis of the operand -> axis of the sum."""
    stay = [axis for axis in range(rank) if axis not in axes]
    return {axis: axis if keepdims else place for place, axis in enumerate(stay)}
