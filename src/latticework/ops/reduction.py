"""Sums over axes: by rotating and adding where that needs no mask, else as a linear transform."""

from __future__ import annotations

from latticework.ir.core import Value
from latticework.layout.layout import REPEATED, Layout
from latticework.ops.lowering import Operand, Target, access, linear


def summed_layout(layout: Layout, rank: int, axes: tuple[int, ...], keepdims: bool) -> Layout:
    """Where the sum over `axes` of a tensor of `rank` axes lies: the summed axes repeat."""
    return layout.renumbered(_kept(rank, axes, keepdims))


def reduced(target: Target, x: Operand, axes: tuple[int, ...], keepdims: bool) -> Value:
    """The sum of x over axes.

    Rotate-and-add costs log2 of the extents in rotations and no level. It is
    right where nothing but summed axes and repetition lies above the lowest
    summed address bit (a carry then never reaches another axis) and where the
    summed axes fill their power of two (padding holds no zeros in general).
    """
    assert x.vector is not None and x.layout is not None
    places = x.layout.places(axes)
    above = x.layout.bits[min(places, default=0) :]
    exact = all(x.shape[axis] & (x.shape[axis] - 1) == 0 for axis in axes)
    if exact and all(bit == REPEATED or bit[0] in axes for bit in above):
        total = x.vector
        for place in places:
            total = target.build("vec.add", total, target.build("vec.rotate", total, steps=1 << place))
        return total
    rank = len(x.shape)
    loops: list[int | None] = [None] * len(target.shape)
    for old, new in _kept(rank, axes, keepdims).items():
        loops[new] = old
    out = access(target.shape, loops, rank)
    return linear(target, x, x.shape, out, access(x.shape, range(rank), rank))


def _kept(rank: int, axes: tuple[int, ...], keepdims: bool) -> dict[int, int]:
    """Axis of the operand -> axis of the sum."""
    stay = [axis for axis in range(rank) if axis not in axes]
    return {axis: axis if keepdims else place for place, axis in enumerate(stay)}
