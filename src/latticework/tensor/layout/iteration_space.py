"""Iteration space of a product of two secrets: layouts of the box of all its loops, the summed one included.

Both operands are brought to where the box wants them, repeating along the loops that they lack; vectors are multiplied
and those along the summed loop k added. With k along vectors, the index of k may be rolled by those of the other loops:
each operand is then its first vector rotated step by step, A_v[m, j] = A[m, m + j + v] and
B_v[m, j] = B[m + j + v, j] (Jiang et al., CCS 2018, for both; Rotom's rolls in general).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latticework.tensor.layout.layout import Layout, num_bits
from latticework.values.packing.pack import REPEAT, PackDim


def boxes(
    result: Layout, summed: int, extent: int, own: tuple[set[int], set[int]], few: bool = False, rolled: bool = True
) -> Iterator[Layout]:
    """Boxes whose sum over axis `summed`, of this extent, lies as `result` does.

    The summed loop numbers vectors; where the result repeats at the outermost, some of it may lie there instead.

    own     axes that only the left, and only the right operand has: they may rotate the summed one
    few     only those in which the most of them do, of both if that can be: both operands are then got by rotating
    rolled  whether there are boxes in which they do
    """
    whole = 1 << num_bits(extent)
    inside = min(result.outer_copies, whole)
    for share, length in dict.fromkeys((share, n) for share in sorted({1, inside}) for n in (extent, whole)):
        outer = -(-length // share)
        dims = list(result.dims)
        if share > 1:
            dims[:1] = [PackDim(REPEAT, dims[0].extent // share), PackDim(summed, share, outer)]
        if result.rolls:
            moved = 1 + (share > 1)
            first = len(result.vector_dims)
            rolls = tuple((i + (1 if i < first else moved), j + (1 if j < first else moved)) for i, j in result.rolls)
            yield Layout(tuple(dims), (PackDim(summed, outer), *result.vector_dims), rolls)
            continue
        rolling = [place for axes in own for place in _turning(dims, axes)] if rolled else []
        subsets = list(_subsets(rolling))
        rotated = [box for chosen in subsets for box in _rotate(dims, result.vector_dims, summed, outer, chosen)]
        yield from rotated[-1:] if few else rotated


def _rotate(
    dims: Sequence[PackDim], vectors: Sequence[PackDim], summed: int, outer: int, chosen: Sequence[int]
) -> Iterator[Layout]:
    """The box with the summed vector dim rotated by the fast parts, all as long, of some slot dims."""
    length = min([outer, *(dims[i].extent for i in chosen)])
    if outer % length or any(dims[i].extent % length for i in chosen):
        return
    first = [PackDim(summed, outer // length, length), PackDim(summed, length)] if chosen else [PackDim(summed, outer)]
    every: list[PackDim] = [*first, *vectors]
    rolling = []
    for i, dim in enumerate(dims):
        if i in chosen and dim.extent > length:
            every.append(PackDim(dim.axis, dim.extent // length, dim.stride * length))
        every.append(PackDim(dim.axis, length, dim.stride) if i in chosen else dim)
        if i in chosen:
            rolling.append(len(every) - 1)
    split = len(first) + len(vectors)
    rolls = tuple((len(first) - 1, j) for j in rolling)
    yield Layout(tuple(every[split:]), tuple(every[:split]), rolls)


def _turning(dims: Sequence[PackDim], axes: set[int]) -> list[int]:
    """The slot dim that may rotate a vector dim: of the fastest of some axes the longest, if there is one."""
    fastest = [i for i, d in enumerate(dims) if d.axis in axes and d.stride == 1 and d.extent > 1]
    return sorted(fastest, key=lambda i: (-dims[i].extent, dims[i].axis))[:1]


def _subsets(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    yield ()
    for place in places:
        yield (place,)
    if len(places) > 1:
        yield tuple(places)
