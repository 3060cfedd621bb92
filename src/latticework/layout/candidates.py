"""Boxes to choose from: layouts of all loops of an operation, from where an operand lies or afresh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from math import log2, prod

from latticework.layout.forms import padded, sorted_vectors
from latticework.layout.layout import Layout, Shape
from latticework.layout.loops import Loops, axes_of
from latticework.plan.pack import REPEAT, PackDim

TILES = 3  # ways to cut what does not fit one vector, the squarest first


def stretched(layout: Layout, extents: Shape, in_slots: bool = True) -> Layout:
    """The layout with the loops that it does not walk yet, where nothing that lies has to move.

    in_slots  they take slot dims that repeat, the fastest first, and only what finds no room numbers vectors;
              else all number vectors
    """
    walked = axes_of(layout)
    missing = [loop for loop, extent in enumerate(extents) if extent > 1 and loop not in walked]
    read = {place for roll in layout.rolls for place in roll}
    first = len(layout.vector_dims)
    places: list[tuple[PackDim, ...]] = [(dim,) for dim in layout.all_dims]
    vectors: list[PackDim] = []
    for loop in reversed(missing):
        reached = 1
        for place in reversed(range(first, len(places))) if in_slots else ():
            dim, *parts = places[place]
            if dim.axis != REPEAT or place in read or reached >= extents[loop]:
                continue
            share = 1
            while dim.extent % (2 * share) == 0 and reached * share < extents[loop]:
                share *= 2
            places[place] = (PackDim(REPEAT, dim.extent // share), PackDim(loop, share, reached), *parts)
            reached *= share
        vectors.insert(0, PackDim(loop, -(-extents[loop] // reached), reached))
    # Rolls name dims that were not cut.
    moved = {old: len(vectors) + sum(map(len, places[:old])) for old in range(len(places))}
    rolls = tuple((moved[i], moved[j]) for i, j in layout.rolls)
    slot_dims = tuple(dim for parts in places[first:] for dim in parts)
    vector_dims = (*vectors, *(dim for parts in places[:first] for dim in parts))
    return sorted_vectors(Layout(slot_dims, vector_dims, rolls))


def fresh_boxes(loops: Loops, slots: int) -> Iterator[Layout]:
    """Boxes that walk the result's loops within vectors, in tiles if need be, and number vectors by a summed one.

    The summed loop also takes the slots that are left over; a part of it of the length of a tile is rolled by one of
    the result's loops, by two, or not: A_k[i, j] = A[i, i + j + k] and B_k[i, j] = B[i + j + k, j] by both (Jiang et
    al., CCS 2018), so that each operand is its first vector turned.
    """
    out = [loop for loop in loops.result if loops.extents[loop] > 1]
    summed = [loop for loop in loops.summed if loops.extents[loop] > 1]
    extents = padded(loops.extents)
    for sides in _tiles([extents[loop] for loop in out], slots):
        tile = [PackDim(loop, side) for loop, side in zip(out, sides, strict=True)]
        outer = [PackDim(loop, extents[loop] // side, side) for loop, side in zip(out, sides, strict=True)]
        spare = slots // prod(sides)
        for order in permutations(tile) if len(tile) < 4 else (tuple(tile),):
            yield from _with_summed(loops, summed, [*outer], order, spare)


def _with_summed(
    loops: Loops, summed: Sequence[int], outer: list[PackDim], order: Sequence[PackDim], spare: int
) -> Iterator[Layout]:
    if not summed:
        yield sorted_vectors(Layout((PackDim(REPEAT, spare), *order), tuple(outer)))
        return
    *others, loop = summed
    outer = [*outer, *(PackDim(other, loops.extents[other]) for other in others)]
    extent = loops.extents[loop]
    for share in dict.fromkeys([min(spare, extent & -extent), 1]):
        left = extent // share
        slot_dims = (PackDim(REPEAT, spare // share), PackDim(loop, share, left), *order)
        yield sorted_vectors(Layout(slot_dims, (*outer, PackDim(loop, left))))
        turning = [n for n, dim in enumerate(order) if dim.extent > 1][-2:] if left > 1 else []
        for size in (1, 2):
            for chosen in combinations(turning, size):
                side = max(order[n].extent for n in chosen)
                inner = side if left % side == 0 else left
                vectors = (*outer, PackDim(loop, left // inner, inner), PackDim(loop, inner))
                rolled = len(vectors) - 1
                rolls = tuple((rolled, len(vectors) + 2 + n) for n in chosen)
                yield sorted_vectors(Layout(slot_dims, vectors, rolls))


def _tiles(extents: Sequence[int], slots: int) -> list[tuple[int, ...]]:
    """Sides of tiles that fill a vector, the squarest first; all of it where that fits."""
    if prod(extents) <= slots:
        return [tuple(extents)]
    sides = [
        found
        for found in product(*([1 << k for k in range(extent.bit_length())] for extent in extents))
        if prod(found) == slots
    ]
    return sorted(sides, key=lambda found: (sum(log2(side) ** 2 for side in found), found))[:TILES]
