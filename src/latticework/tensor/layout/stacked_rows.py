"""Layouts whose leading axis lies along vectors: every index of it has vectors of its own, one part after the other."""

from __future__ import annotations

from dataclasses import replace

from latticework.tensor.layout.layout import Layout
from latticework.values.packing.pack import PackDim


def stack_layout(part: Layout, length: int) -> Layout:
    """Stack `length` tensors in the layout of one, along a new leading axis."""

    def shift_axes(dims: tuple[PackDim, ...]) -> tuple[PackDim, ...]:
        return tuple(replace(dim, axis=dim.axis + 1) if dim.axis >= 0 else dim for dim in dims)

    rolls = tuple((i + 1, j + 1) for i, j in part.rolls) if length > 1 else part.rolls
    leading = (PackDim(0, length),) if length > 1 else ()
    return Layout(shift_axes(part.dims), (*leading, *shift_axes(part.vector_dims)), rolls)


def part_of(layout: Layout) -> Layout | None:
    """The layout of every part along the leading axis; None unless that lies along vectors, slowest of all."""
    if any(dim.axis == 0 for dim in layout.dims):
        return None
    first, rest = layout.vector_dims[:1], layout.vector_dims[1:]
    if not first or first[0].axis != 0:
        leads = all(dim.axis != 0 for dim in layout.vector_dims)  # an axis 1 long
        first, rest = (), layout.vector_dims
        if not leads:
            return None
    if any(dim.axis == 0 for dim in rest) or (first and any(0 in roll for roll in layout.rolls)):
        return None

    def shift_axes(dims: tuple[PackDim, ...]) -> tuple[PackDim, ...]:
        return tuple(replace(dim, axis=dim.axis - 1) if dim.axis >= 0 else dim for dim in dims)

    rolls = tuple((i - len(first), j - len(first)) for i, j in layout.rolls)
    return Layout(shift_axes(layout.dims), shift_axes(rest), rolls)
