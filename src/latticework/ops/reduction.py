"""Sums over axes: by adding vectors, by rotating and adding where that needs no mask, else as a linear transform."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from latticework.ir.core import Value
from latticework.layout.derive import summed
from latticework.layout.layout import Layout
from latticework.ops.lowering import Operand, Target, access, linear
from latticework.plan.pack import GAP, REPEAT


def summed_layout(layout: Layout, rank: int, axes: tuple[int, ...], keepdims: bool) -> Layout:
    """Where the sum over `axes` of a tensor of `rank` axes lies: the summed axes repeat."""
    return layout.renumbered(_kept(rank, axes, keepdims))


def summed_layouts(layout: Layout, rank: int, axes: tuple[int, ...], keepdims: bool) -> list[Layout]:
    """Where the sum may lie without a mask: at every index of the summed slot dims, or at the first."""
    kept = _kept(rank, axes, keepdims)
    names = {**kept, **{axis: rank + axis for axis in axes}}
    found = []
    for becomes in (REPEAT, GAP):
        lying = summed(layout.renumbered(names), [rank + axis for axis in axes], becomes)
        if lying is not None:
            found.append(lying)
    return list(dict.fromkeys(found))


def reduced(target: Target, x: Operand, axes: tuple[int, ...], keepdims: bool) -> Value:
    """The sum of x over axes.

    Vectors along summed axes are added up; along summed slot dims vectors are rotated and added, which costs log2 of
    the extents in rotations and no level. That is right at index 0 of those dims, where the result leaves a gap; and
    at every index where nothing but summed axes and repetition lies above them (a carry then never reaches another
    axis). The summed axes have to fill their dims (padding holds no zeros in general).
    """
    assert x.vector is not None and x.layout is not None
    for becomes, lying in zip((REPEAT, GAP), _forms(x.layout, len(x.shape), axes, keepdims), strict=True):
        if lying is None or lying != target.layout or not _fills(x.layout, x.shape, axes):
            continue
        if becomes == REPEAT and not _nothing_above(x.layout, axes):
            continue
        return _rotated(target, _added(target, x.vector, x.layout, axes), x.layout, axes)
    rank = len(x.shape)
    loops: list[int | None] = [None] * len(target.shape)
    for old, new in _kept(rank, axes, keepdims).items():
        loops[new] = old
    out = access(target.shape, loops, rank)
    return linear(target, x, x.shape, out, access(x.shape, range(rank), rank))


def _forms(layout: Layout, rank: int, axes: tuple[int, ...], keepdims: bool) -> list[Layout | None]:
    kept = _kept(rank, axes, keepdims)
    lying = layout.renumbered({**kept, **{axis: rank + axis for axis in axes}})
    return [summed(lying, [rank + axis for axis in axes], becomes) for becomes in (REPEAT, GAP)]


def _fills(layout: Layout, shape: tuple[int, ...], axes: Sequence[int]) -> bool:
    """Whether the summed axes are as long as their dims, and those of the slots powers of two."""
    first = len(layout.vector_dims)
    for axis in axes:
        dims = [d for d in layout.all_dims if d.axis == axis]
        if prod(d.extent for d in dims) != shape[axis]:
            return False
    slot_dims = [d for d in layout.all_dims[first:] if d.axis in axes]
    return all(d.extent & (d.extent - 1) == 0 for d in slot_dims)


def _nothing_above(layout: Layout, axes: Sequence[int]) -> bool:
    places = [i for i, d in enumerate(layout.dims) if d.axis in axes]
    above = layout.dims[: max(places, default=0)]
    return (
        all(d.axis == REPEAT or d.axis in axes for d in above) and prod(d.extent for d in layout.dims) == layout.slots
    )


def _added(target: Target, vectors: Value, layout: Layout, axes: Sequence[int]) -> Value:
    """Vectors along summed axes added up; those along others keep their order."""
    extents = [d.extent for d in layout.vector_dims]
    over = [i for i, d in enumerate(layout.vector_dims) if d.axis in axes and d.extent > 1]
    if not over:
        return vectors
    rest = [i for i in range(len(extents)) if i not in over]
    strides = [prod(extents[i + 1 :]) for i in range(len(extents))]

    def places(dims: Sequence[int]) -> list[int]:
        found = [0]
        for i in dims:
            found = [base + index * strides[i] for base in found for index in range(extents[i])]
        return found

    order = [group + member for group in places(rest) for member in places(over)]
    grouped = target.emit.take(vectors, order)
    return target.build("vec.sum", grouped, groups=prod(extents[i] for i in rest))


def _rotated(target: Target, total: Value, layout: Layout, axes: Sequence[int]) -> Value:
    """Slots along summed axes added up."""
    weight = 1
    for dim in reversed(layout.dims):
        if dim.axis in axes:
            total = target.emit.copied(total, -weight, dim.extent)
        weight *= dim.extent
    return total


def _kept(rank: int, axes: tuple[int, ...], keepdims: bool) -> dict[int, int]:
    """Axis of the operand -> axis of the sum."""
    stay = [axis for axis in range(rank) if axis not in axes]
    return {axis: axis if keepdims else place for place, axis in enumerate(stay)}
