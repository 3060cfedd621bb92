"""tensor.take: elements chosen by public numbers, along one axis or along several at once."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import matmul, reshape, row_rules, transpose
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, normal_axis, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, linear
from latticework.tensor.ops.runs import RegularBlock, blocks_of
from latticework.values.packing.packed_constants import Access

Ints = tuple[int, ...]
MANY_BLOCKS = 12  # regular blocks of numbers; from here on a product with a 0/1 matrix is cheaper
MOST_BLOCKS = 512
LARGEST_MATRIX = 1 << 22  # elements


def shape(a: Shape, *, axes: Ints, indices: tuple[Ints, ...], at: int) -> Shape:
    """Shape of a[..., indices[0], ..., indices[1], ...]: `axes` make way for one axis, number `at` of the result.

    indices  for every one of `axes`, as many numbers as the new axis is long
    """
    if not axes or len({len(numbers) for numbers in indices}) != 1 or len(axes) != len(indices):
        raise ShapeError(f"take: {len(indices)} lists of numbers for axes {axes} of {a}; give one, as long, for each")
    for axis, numbers in zip(axes, indices, strict=True):
        for number in (min(numbers, default=0), max(numbers, default=0)):
            if not 0 <= number < a[axis]:
                raise ShapeError(f"take: {number} is outside axis {axis} of shape {a}, which is {a[axis]} long")
    rest = [n for axis, n in enumerate(a) if axis not in axes]
    return (*rest[:at], len(indices[0]), *rest[at:])


def take_along(tracer: Tracer, value: Value, axis: int, numbers: Any) -> Value:
    """The elements `numbers` (one axis, each in range) along an axis; the value itself where that is all, in order."""
    chosen = tuple(int(i) for i in numbers)
    if chosen == tuple(range(shape_of(value)[axis])):
        return value
    return emit_take(tracer, value, (axis,), (chosen,), axis)


def emit_take(tracer: Tracer, value: Value, axes: Ints, indices: tuple[Ints, ...], at: int) -> Value:
    """tensor.take, or a product with a 0/1 matrix where the numbers follow no rule."""
    blocks = len(blocks_of(indices))
    extents = tuple(shape_of(value)[axis] for axis in axes)
    if blocks <= MANY_BLOCKS:
        return tracer.emit(TAKE, value, axes=axes, indices=indices, at=at)
    if prod(extents) * len(indices[0]) > LARGEST_MATRIX:
        if blocks > MOST_BLOCKS:
            raise UnsupportedError(
                f"take: {len(indices[0])} of {prod(extents)} elements along axes {axes} of {shape_of(value)}, in "
                f"{blocks} regular blocks; at most {MOST_BLOCKS} are possible for so many: use slices, or reorder the "
                "data before they are encrypted"
            )
        return tracer.emit(TAKE, value, axes=axes, indices=indices, at=at)
    choice = np.zeros((prod(extents), len(indices[0])))
    choice[np.ravel_multi_index(indices, extents), np.arange(len(indices[0]))] = 1.0
    rank = len(shape_of(value))
    if rank > 1 and axes == (rank - 2,) and at == rank - 2:
        return matmul.trace(tracer, choice.T, value)
    rest = [axis for axis in range(rank) if axis not in axes]
    value = transpose.trace(tracer, value, (*rest, *axes))
    value = reshape.trace(tracer, value, (*shape_of(value)[: len(rest)], prod(extents)))
    return transpose.trace_moveaxis(tracer, matmul.trace(tracer, value, choice), -1, at)


def trace_diagonal(tracer: Tracer, a: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """np.diagonal(a, offset, axis1, axis2), as the last axis of the result."""
    value = tracer.lift(a)
    rank = len(shape_of(value))
    if rank < 2:
        raise ShapeError(f"diagonal: shape {shape_of(value)} has {rank} axes; a diagonal needs two")
    first, second = normal_axis("diagonal", axis1, rank), normal_axis("diagonal", axis2, rank)
    if first == second:
        raise ShapeError(f"diagonal: axis1 and axis2 both are axis {first} of {shape_of(value)}; name two axes")
    rows, columns = shape_of(value)[first], shape_of(value)[second]
    start, stop = max(0, -offset), min(rows, columns - offset)
    if start >= stop:
        raise ShapeError(f"diagonal: offset={offset} lies outside the {rows} x {columns} elements of {shape_of(value)}")
    numbers = tuple(range(start, stop))
    return emit_take(tracer, value, (first, second), (numbers, tuple(i + offset for i in numbers)), rank - 2)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Some elements along one axis, or a diagonal."""
    array = rng.normal(size=random_shape(rng, slots // 4, int(rng.integers(1, 4))))
    if array.ndim > 1 and rng.random() < 0.4:
        axis1, axis2 = (int(axis) for axis in rng.choice(array.ndim, 2, replace=False))
        numbers = tuple(range(min(array.shape[axis1], array.shape[axis2])))
        attrs = {"axes": (axis1, axis2), "indices": (numbers, numbers), "at": array.ndim - 2}
        return Case((array,), lambda a: np.diagonal(a, 0, axis1, axis2), attrs)
    axis = int(rng.integers(array.ndim))
    chosen = np.concatenate([rng.integers(0, array.shape[axis], 3), np.arange(array.shape[axis])])
    chosen = np.delete(chosen, 2) if len(chosen) == array.shape[axis] else chosen
    attrs = {"axes": (axis,), "indices": (tuple(int(i) for i in chosen),), "at": axis}
    return Case((array,), lambda a: np.take(a, chosen, axis), attrs)


def _take(a: FloatArray, axes: Ints, indices: tuple[Ints, ...], at: int) -> FloatArray:
    front = np.moveaxis(a, axes, range(len(axes)))
    return np.moveaxis(front[tuple(np.array(numbers, dtype=np.int64) for numbers in indices)], 0, at)


def lower(target: Target, a: Operand, axes: Ints, indices: tuple[Ints, ...], at: int) -> Value:
    """The sum of one linear transform for every regular block of numbers."""
    parts = [_block(target, a, axes, at, block) for block in blocks_of(indices)]
    total = parts[0]
    for part in parts[1:]:
        total = target.build("vec.add", total, part)
    return total


def _block(target: Target, a: Operand, axes: Ints, at: int, block: RegularBlock) -> Value:
    """out[..., place(u, t), ...] = in[..., number(u, t), ...]: loops over the other axes, runs u, and t in a run."""
    result_axis = _kept_axes(len(a.shape), axes, at)
    loops = len(target.shape) + 1
    rest = [n for axis, n in enumerate(target.shape) if axis != at]
    loop_of = {axis: loop for loop, axis in enumerate(axis for axis in range(len(target.shape)) if axis != at)}

    def row(loop: int | None, by_run: int = 0, by_step: int = 0) -> Ints:
        return (*(int(loop == j) for j in range(loops - 2)), by_run, by_step)

    new = row(None, block.offset_by_run, 1)
    out = [new if axis == at else row(loop_of[axis]) for axis in range(len(target.shape))]
    into, starts = [], []
    for axis in range(len(a.shape)):
        if axis in axes:
            along = axes.index(axis)
            into.append(row(None, block.by_run[along], block.by_step[along]))
            starts.append(block.start[along])
        else:
            into.append(row(loop_of[result_axis[axis]]))
            starts.append(0)
    out_start = tuple(block.offset if axis == at else 0 for axis in range(len(target.shape)))
    return linear(
        target, a, (*rest, block.runs, block.length),
        Access(target.shape, tuple(out), out_start), Access(a.shape, tuple(into), tuple(starts)),
    )  # fmt: skip


def _kept_axes(rank: int, axes: Ints, at: int) -> dict[int, int]:
    """Axis of the operand -> axis of the result, for those that stay."""
    stay = [axis for axis in range(rank) if axis not in axes]
    return {axis: place + int(place >= at) for place, axis in enumerate(stay)}


TAKE = tensor_op(
    "take",
    shape=shape,
    semantics=_take,
    attributes={"axes": tuple, "indices": tuple, "at": int},
    random_case=random_case,
    rows=row_rules.movement,
    lower=lower,
)
