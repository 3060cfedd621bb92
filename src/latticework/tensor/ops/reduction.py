"""Sums over axes: by adding vectors, by rotating and adding where that needs no mask, else as a linear transform."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from latticework.ir.core import Value
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.sum_layouts import free_sums, full_shape
from latticework.tensor.ops.clearing import BoolArray, holds_zeros
from latticework.tensor.ops.lowering import Operand, Target, access, linear


def reduce_axes(target: Target, x: Operand, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Sum x over axes, by rotations if that takes no mask (`tensor/layout/sum_layouts.py`), else by a linear map."""
    assert x.vector is not None and x.layout is not None
    full = full_shape(x.layout, x.shape, axes)
    is_free = target.layout in free_sums(x.layout, x.shape, axes, keepdims, cleared=True)
    if is_free and (full == x.shape or holds_zeros(x.vector, _padding(x, full))):
        return _rotate_and_add(target, _add_vectors(target, x.vector, x.layout, axes), x.layout, axes)
    rank = len(x.shape)
    stay = [axis for axis in range(rank) if axis not in axes]
    loops = [None if axis in axes else axis for axis in range(rank)] if keepdims else stay
    return linear(target, x, x.shape, access(target.shape, loops, rank), access(x.shape, range(rank), rank))


def _padding(x: Operand, full: Shape) -> BoolArray:
    """Places where summed axes, as long as their dims are, hold no element: shape (count, slots)."""
    assert x.layout is not None
    held, wide = (x.layout.pack_map(shape).element_of_slot() >= 0 for shape in (x.shape, full))
    return (wide & ~held).reshape(x.layout.count, x.layout.slots)


def _add_vectors(target: Target, vectors: Value, layout: Layout, axes: Sequence[int]) -> Value:
    """Vectors along summed axes added up; those along others keep their order."""
    extents = [d.extent for d in layout.vector_dims]
    over = [i for i, d in enumerate(layout.vector_dims) if d.axis in axes and d.extent > 1]
    if not over:
        return vectors
    rest = [i for i in range(len(extents)) if i not in over]
    strides = [prod(extents[i + 1 :]) for i in range(len(extents))]

    def places(dims: Sequence[int]) -> list[int]:
        result = [0]
        for i in dims:
            result = [base + index * strides[i] for base in result for index in range(extents[i])]
        return result

    order = [group + member for group in places(rest) for member in places(over)]
    grouped = target.emit.take(vectors, order)
    return target.build("vec.sum", grouped, groups=prod(extents[i] for i in rest))


def _rotate_and_add(target: Target, total: Value, layout: Layout, axes: Sequence[int]) -> Value:
    """Slots along summed axes added up."""
    weight = 1
    for dim in reversed(layout.dims):
        if dim.axis in axes:
            total = target.emit.replicate(total, -weight, dim.extent)
        weight *= dim.extent
    return total
