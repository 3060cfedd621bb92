"""Layouts made from layouts: axes added where there is room, exchanged for others, summed away.

All keep the data that stay where they are, so that what an operation moves is as little as can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from latticework.tensor.layout.layout import Layout, num_bits
from latticework.tensor.layout.layout_candidates import sort_vectors
from latticework.values.packing.pack import GAP, REPEAT, PackDim, Roll


def without_copies(layout: Layout) -> Layout:
    """The same vectors once: vector dims that repeat are dropped, but for those that rotate others."""
    rolling = {j for _, j in layout.rolls}
    gone = [i for i, d in enumerate(layout.vector_dims) if d.axis == REPEAT and i not in rolling]
    return without_dims(layout, gone)


def fold(layout: Layout) -> Layout:
    """Fewer vectors: vector dims taken into slot dims that repeat, those of neither in any roll."""
    rolled = {place for roll in layout.rolls for place in roll}
    first = len(layout.vector_dims)
    for i, j in product(range(first), range(first, len(layout.all_dims))):
        dim, room = layout.all_dims[i], layout.all_dims[j]
        if dim.axis < 0 or room.axis != REPEAT or {i, j} & rolled or room.extent % dim.extent:
            continue
        dims = list(layout.all_dims)
        dims[j : j + 1] = [dim, PackDim(REPEAT, room.extent // dim.extent)]
        del dims[i]
        rolls = tuple((a - (a > i) + (a > j), b - (b > i) + (b > j)) for a, b in layout.rolls)
        return fold(Layout(tuple(dims[first - 1 :]), tuple(dims[: first - 1]), rolls))
    return layout


def fill(layout: Layout) -> Layout:
    """The same with copies where slots are empty."""
    dims = tuple(PackDim(REPEAT, d.extent) if d.axis == GAP else d for d in layout.dims)
    return Layout(dims, layout.vector_dims, layout.rolls)


def without_dims(layout: Layout, gone: Sequence[int]) -> Layout:
    """Return the layout without the dims at the places `gone`; rolls of or by them go too."""
    remaining = [i for i in range(len(layout.all_dims)) if i not in gone]
    place = {old: new for new, old in enumerate(remaining)}
    first = len(layout.vector_dims)
    rolls = tuple((place[i], place[j]) for i, j in layout.rolls if i in place and j in place)
    dims = tuple(layout.all_dims[i] for i in remaining if i >= first)
    return Layout(dims, tuple(layout.all_dims[i] for i in remaining if i < first), rolls)


def with_axis(layout: Layout, axis: int, extent: int) -> Layout:
    """A new axis, padded to a power of two, on the fastest slot dims that repeat, the rest of it on vectors."""
    first, bits = len(layout.vector_dims), num_bits(extent)
    held = {place for roll in layout.rolls for place in roll}
    places = [i for i in range(first, len(layout.all_dims)) if layout.all_dims[i].axis == REPEAT and i not in held]
    dims: list[list[PackDim]] = [[d] for d in layout.all_dims]
    taken = 0
    for place in reversed(places):
        room = layout.all_dims[place].extent
        if taken == bits or room & (room - 1):
            continue
        count = min(bits - taken, num_bits(room))
        part = PackDim(axis, 1 << count, 1 << taken)
        dims[place] = [PackDim(REPEAT, room >> count), part]
        taken += count
    new_first = [PackDim(axis, -(-extent // (1 << taken)), 1 << taken)] if taken < bits else []
    moved: dict[int, int] = {}
    flat: list[PackDim] = list(new_first)
    for place, parts in enumerate(dims):
        moved[place] = len(flat) + len(parts) - 1
        flat += parts
    split = len(new_first) + first
    rolls = tuple((moved[i], moved[j]) for i, j in layout.rolls)
    return sort_vectors(Layout(tuple(flat[split:]), tuple(flat[:split]), rolls))


def exchange(layout: Layout, renamed: Mapping[int, int], new: Sequence[tuple[int, int]]) -> Layout:
    """Axes renamed, those not named making way for new ones (axis, extent), which take their places if they can."""
    freed = [i for i, d in enumerate(layout.all_dims) if d.axis >= 0 and d.axis not in renamed]
    rolled = {place for roll in layout.rolls for place in roll}
    exchanged = layout
    if rolled & set(freed):
        exchanged = Layout(layout.dims, layout.vector_dims, tuple(r for r in layout.rolls if not set(r) & set(freed)))
    exchanged = _relabel(exchanged, renamed)
    for axis, extent in new:
        if extent > 1:
            exchanged = with_axis(exchanged, axis, extent)
    return sort_vectors(without_copies(exchanged))


def _relabel(layout: Layout, renamed: Mapping[int, int]) -> Layout:
    def change(dim: PackDim) -> PackDim:
        if dim.axis < 0:
            return dim
        return (
            PackDim(renamed[dim.axis], dim.extent, dim.stride) if dim.axis in renamed else PackDim(REPEAT, dim.extent)
        )

    return Layout(tuple(map(change, layout.dims)), tuple(map(change, layout.vector_dims)), layout.rolls)


def sum_away(layout: Layout, axes: Sequence[int], slots_become: int = GAP) -> Layout | None:
    """Return the layout of sums by adding vectors and rotated slots; None if a summed dim rolls others.

    slots_become  GAP: the sum is at index 0 of the dims that were summed;  REPEAT: at every index
    """
    over = {i for i, d in enumerate(layout.all_dims) if d.axis in axes}
    if any(j in over and i not in over for i, j in layout.rolls):
        return None
    rolls: tuple[Roll, ...] = tuple(r for r in layout.rolls if not set(r) & over)
    first = len(layout.vector_dims)
    remaining = [i for i in range(len(layout.all_dims)) if not (i in over and i < first)]
    place = {old: new for new, old in enumerate(remaining)}
    dims = [PackDim(slots_become, d.extent) if i in over else d for i, d in enumerate(layout.all_dims)]
    vectors = tuple(dims[i] for i in remaining if i < first)
    return Layout(
        tuple(dims[i] for i in remaining if i >= first), vectors, tuple((place[i], place[j]) for i, j in rolls)
    )
