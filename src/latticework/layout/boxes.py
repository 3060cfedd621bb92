"""Where two secret operands of a product meet: layouts of the box of all its loops, the summed one included.

Both operands are brought to where the box wants them, repeating along the loops that they lack; vectors are multiplied and
those along the summed loop k added. With k along vectors, the index of k may be turned by those of the other loops:
each operand is then its own first vector turned step by step, A_v[m, j] = A[m, m + j + v] and
B_v[m, j] = B[m + j + v, j] (Jiang et al., CCS 2018, for both; Rotom's rolls in general).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latticework.layout.derive import with_axis, without_dims
from latticework.layout.layout import Layout, num_bits
from latticework.plan.pack import REPEAT, PackDim


def boxes(result: Layout, summed: int, extent: int, slots_too: bool = True) -> Iterator[Layout]:
    """Boxes whose sum over axis `summed`, of this extent, lies as `result` does, rolled or not."""
    inside = 1
    if slots_too and result.outer_copies > 1:
        inside = min(result.outer_copies, 1 << num_bits(extent))
    for share in sorted({1, inside}):
        outer = -(-extent // share)
        dims = list(result.dims)
        if share > 1:
            dims[:1] = [PackDim(REPEAT, dims[0].extent // share), PackDim(summed, share, outer)]
        vectors = (PackDim(summed, outer), *result.vector_dims)
        first = len(vectors)
        rolls = tuple((i + _moved(i, result, share), j + _moved(j, result, share)) for i, j in result.rolls)
        turning = _turning(dims, first, outer)
        for chosen in _subsets(turning):
            yield Layout(tuple(dims), vectors, (*rolls, *((0, j) for j in chosen)))


def _moved(place: int, result: Layout, share: int) -> int:
    """How far a dim's number moves when k becomes the first one and, with a share in the slots, one more there."""
    return 1 + (1 if share > 1 and place >= len(result.vector_dims) else 0)


def _turning(dims: Sequence[PackDim], first: int, extent: int) -> list[int]:
    """Slot dims, one an axis and the fastest of each, that may turn a vector dim of this extent."""
    fastest: dict[int, int] = {}
    for i, dim in enumerate(dims):
        if dim.axis >= 0 and dim.stride == 1 and dim.extent > 1 and extent > 1:
            fastest[dim.axis] = first + i
    return [fastest[axis] for axis in sorted(fastest)][:2]


def _subsets(places: Sequence[int]) -> Iterator[tuple[int, ...]]:
    yield ()
    for place in places:
        yield (place,)
    if len(places) > 1:
        yield tuple(places)


def anchors(layout: Layout) -> Iterator[Layout]:
    """Layouts from which this one is reached by turning: without a vector dim that only turns others."""
    for i, dim in enumerate(layout.vector_dims):
        if dim.axis == REPEAT and any(j == i for _, j in layout.rolls):
            yield without_dims(layout, [i])


def joined_with(result: Layout, summed: int, extent: int) -> Layout | None:
    """The box with k in the slots where the result repeats, or None if it does not repeat enough."""
    return with_axis(result, summed, extent, vectors=False)
