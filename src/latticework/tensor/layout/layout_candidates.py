"""Layouts for a shape: which there are to choose from, and which of equal worth is the one to use.

Axes within vectors are padded to powers of two; of vectors there are no more than hold something. A tensor that fits
one vector is walked in any order of its axes, what is left over being repeated somewhere; one that does not is cut into
tiles of powers of two, one tile a vector (Rotom's seeds).
Vectors may be numbered in any order at no cost, so one order is used: axes ascending, slow parts of an axis first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, permutations, product
from math import prod

from latticework.errors import LayoutError
from latticework.tensor.layout.layout import Layout, Shape, num_bits
from latticework.values.packing.pack import GAP, REPEAT, PackDim

MOST_ORDERS = 120  # of the axes: all of five, and as many of more, which change the fastest


def pad_shape(shape: Shape) -> Shape:
    """The shape with every axis padded to a power of two."""
    return tuple(1 << num_bits(n) for n in shape)


def holds(layout: Layout, shape: Shape) -> bool:
    """Whether every element of a tensor of this shape has a place, and each as many."""
    for axis, extent in enumerate(shape):
        reached = 1
        for dim in sorted((d for d in layout.all_dims if d.axis == axis), key=lambda d: d.stride):
            if dim.stride != reached:
                return False
            reached *= dim.extent
        if reached < extent:
            return False
    return all(d.axis < len(shape) for d in layout.all_dims)


def in_order(shape: Shape, slots: int, order: Sequence[int] | None = None, fill: int = REPEAT) -> Layout:
    """The compact layout that walks the axes in an order, slowest first (row-major by default).

    What does not fit one vector is spread over several, slow parts first; what is left over repeats the whole, or is
    left empty (fill GAP).
    """
    order = range(len(shape)) if order is None else order
    if sorted(order) != list(range(len(shape))):
        raise LayoutError(f"{tuple(order)} is not an order of the {len(shape)} axes of shape {shape}")
    free = slots
    slot_dims: list[PackDim] = []
    vector_dims: list[PackDim] = []
    for axis in reversed(order):
        extent = pad_shape(shape)[axis]
        inside = min(extent, free)
        free //= inside
        slot_dims.insert(0, PackDim(axis, inside))
        vector_dims.append(PackDim(axis, -(-shape[axis] // inside), inside))
    return sort_vectors(Layout((PackDim(fill, free), *slot_dims), tuple(vector_dims)))


def skew(shape: Shape, slots: int, length: int) -> Layout | None:
    """A tensor along one axis in copies that are rotated against each other; None where there are not enough slots.

    So that each copy of a result of this length, whose copies share out the sums of a product, finds other elements at
    the same distance: `slots` divided by the longer of both copies are rotated by another extent * length / slots each.
    """
    axes = [axis for axis, extent in enumerate(shape) if extent > 1]
    if len(axes) != 1:
        return None
    (axis,) = axes
    extent, other = pad_shape(shape)[axis], 1 << num_bits(length)
    copies, rotation = slots // max(extent, other), extent * other // slots
    if copies < 2 or rotation < 1:
        return None
    dims = (PackDim(REPEAT, copies), PackDim(REPEAT, slots // extent // copies))
    return Layout((*dims, PackDim(axis, extent // rotation, rotation), PackDim(axis, rotation)), (), ((2, 0),))


@lru_cache(maxsize=1024)
def seeds(shape: Shape, slots: int, fill: int = REPEAT) -> tuple[Layout, ...]:
    """Layouts from which a search starts, the row-major one first.

    fill  what the slots hold that are left over: repetition (REPEAT) or nothing (GAP)
    One vector: the orders of the axes, `MOST_ORDERS` at most, with the left over dimension in every place. Several: the
    compact layouts of these orders, and of matrices all tiles of powers of two in both orders.
    """
    axes = [axis for axis, extent in enumerate(shape) if extent > 1]
    size = prod(pad_shape(shape))
    layouts = [in_order(shape, slots)]
    orders = list(islice(permutations(axes), MOST_ORDERS))
    if size <= slots:
        for order in orders:
            dims = [PackDim(axis, pad_shape(shape)[axis]) for axis in order]
            for place in range(len(dims) + 1):
                layouts.append(Layout((*dims[:place], PackDim(fill, slots // size), *dims[place:])))
    else:
        ones = [axis for axis in range(len(shape)) if axis not in axes]
        layouts += [in_order(shape, slots, (*ones, *order)) for order in orders]
        if len(axes) == 2:
            layouts += tilings(shape, slots)
    if fill != REPEAT and size < slots:
        del layouts[0]
    return tuple(dict.fromkeys(layouts))


def tilings(shape: Shape, slots: int) -> tuple[Layout, ...]:
    """All layouts of a tensor larger than a vector as one tile of powers of two a vector, in all orders inside.

    The squarest tiles first: products rotate one side of a tile by the other.
    """
    axes = [axis for axis, extent in enumerate(shape) if extent > 1]
    extents = pad_shape(shape)
    layouts: list[Layout] = []
    for sides in sorted(product(*(_powers(extents[axis]) for axis in axes)), key=max):
        if prod(sides) != slots:
            continue
        outer = tuple(PackDim(axis, -(-shape[axis] // side), side) for axis, side in zip(axes, sides, strict=True))
        inner = [PackDim(axis, side) for axis, side in zip(axes, sides, strict=True)]
        for order in permutations(inner):
            layouts.append(sort_vectors(Layout(order, outer)))
    return tuple(dict.fromkeys(layouts))


def _powers(extent: int) -> list[int]:
    return [1 << k for k in range(num_bits(extent) + 1)]


def sort_vectors(layout: Layout) -> Layout:
    """The same slots with the vectors in their one order: repetition, then axes ascending, slow parts first."""
    return with_vector_order(layout, vector_order(layout))


def vector_order(layout: Layout) -> list[int]:
    """The places of the vector dims in their one order."""
    dims = layout.vector_dims
    return sorted(range(len(dims)), key=lambda i: (dims[i].axis, -dims[i].stride, -dims[i].extent, i))


def with_vector_order(layout: Layout, order: Sequence[int]) -> Layout:
    """The vector dims in another order, given by their present places; rolls follow."""
    moved = {old: new for new, old in enumerate(order)}
    rolls = tuple((moved.get(i, i), moved.get(j, j)) for i, j in layout.rolls)
    return Layout(layout.dims, tuple(layout.vector_dims[i] for i in order), rolls)


def join(layout: Layout, free: Sequence[int] = (GAP,)) -> Layout:
    """Vector dims moved into free slot dims beside slot dims of their axis, where they continue those: fewer vectors.

    `[1:4][0:4:4];[0:4][1:4:4][G:4]` becomes `[0:4:4];[0:4][1:16]`. What rolls or is rolled stays.

    free  kinds of slot dims that may be taken: GAP, REPEAT
    """
    while True:
        moved = next(_moves_into_slots(layout, free), None)
        if moved is None:
            return sort_vectors(layout)
        layout = moved


def _moves_into_slots(layout: Layout, free: Sequence[int]) -> Iterator[Layout]:
    rolled = {place for roll in layout.rolls for place in roll}
    first = len(layout.vector_dims)
    for vector, slot in product(range(first), range(first, len(layout.all_dims))):
        dim, room = layout.all_dims[vector], layout.all_dims[slot]
        if dim.axis < 0 or room.axis not in free or vector in rolled or slot in rolled:
            continue
        extent = min(dim.extent, room.extent)
        if dim.extent % extent or room.extent % extent:
            continue
        rest = PackDim(room.axis, room.extent // extent)
        slow = PackDim(dim.axis, extent, dim.stride * (dim.extent // extent))
        fast = PackDim(dim.axis, extent, dim.stride)
        left = layout.all_dims[slot - 1] if slot > first else None
        right = layout.all_dims[slot + 1] if slot + 1 < len(layout.all_dims) else None
        if left is not None and left.axis == dim.axis and left.stride == dim.stride * dim.extent:
            outer, added = PackDim(dim.axis, dim.extent // extent, dim.stride), (slow, rest)
        elif right is not None and right.axis == dim.axis and dim.stride == right.stride * right.extent:
            outer, added = PackDim(dim.axis, dim.extent // extent, dim.stride * extent), (rest, fast)
        else:
            continue
        dims = list(layout.all_dims)
        dims[slot : slot + 1] = added
        dims[vector] = outer
        rolls = tuple((i + (i > slot), j + (j > slot)) for i, j in layout.rolls)
        yield Layout(tuple(dims[first:]), tuple(dims[:first]), rolls)
