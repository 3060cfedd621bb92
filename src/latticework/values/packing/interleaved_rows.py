"""Rows side by side: several inputs of one program interleaved in the slots of its vectors.

With B rows, slot i B + b holds what slot i of row b held. So a rotation by k is one by k B, wrap-around included, a
public vector repeats each of its slots B times, and what acts slot by slot is as it was: B rows take the instructions
of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.values.packing.loop_nests.linear_map import Diagonal, MapPart
from latticework.values.packing.loop_nests.nest import Access
from latticework.values.packing.pack import REPEAT, FloatArray, PackDim, PackMap
from latticework.values.packing.packed_constants import ConstRef, LinearMap, LoopNest, is_everywhere, splat

Array = npt.NDArray[Any]


def interleave_rows(pack: PackMap, rows: int) -> PackMap:
    """The layout of tensors (rows, *shape), each of which lies by itself as `pack` says."""
    shape = (rows, *pack.shape)
    if pack.table:
        table = ((p * rows + b, b * pack.size + e) for p, e in pack.table for b in range(rows))
        return PackMap(shape, pack.slots * rows, (), pack.vector_dims, (), tuple(table))
    dims, vectors = (tuple(map(_behind_rows, ds)) for ds in (pack.dims, pack.vector_dims))
    return PackMap(shape, pack.slots * rows, (*dims, PackDim(0, rows)), vectors, pack.rolls)


def _behind_rows(dim: PackDim) -> PackDim:
    return dim if dim.axis < 0 else replace(dim, axis=dim.axis + 1)


def repeat_rows(pack: PackMap, rows: int) -> PackMap:
    """The layout of a tensor that all rows have in common."""
    if pack.table:
        table = tuple((p * rows + b, e) for p, e in pack.table for b in range(rows))
        return PackMap(pack.shape, pack.slots * rows, (), pack.vector_dims, (), table)
    return PackMap(pack.shape, pack.slots * rows, (*pack.dims, PackDim(REPEAT, rows)), pack.vector_dims, pack.rolls)


def nest_of_rows(nest: LoopNest, rows: int) -> LoopNest:
    """A linear map that acts on every row, by one more loop; or a public tensor that all rows read."""
    if nest.in_pack is None or nest.in_access is None:
        return replace(nest, out_pack=repeat_rows(nest.out_pack, rows))
    source = nest.source_access
    return replace(
        nest,
        domain=(*nest.domain, rows),
        out_pack=interleave_rows(nest.out_pack, rows),
        out_access=_of_row(nest.out_access, len(nest.domain), rows),
        source_access=None if source is None else replace(source, matrix=tuple((*row, 0) for row in source.matrix)),
        in_pack=interleave_rows(nest.in_pack, rows),
        in_access=_of_row(nest.in_access, len(nest.domain), rows),
    )


def _of_row(access: Access, loops: int, rows: int) -> Access:
    """The same element, of the row that a last loop counts."""
    matrix = ((*(0,) * loops, 1), *((*row, 0) for row in access.matrix))
    return Access((rows, *access.view), matrix, (0, *access.offset))


def constant_of_rows(constant: ConstRef, rows: int) -> ConstRef:
    """A public vector, the same for all rows."""
    plus = None if constant.plus is None else constant_of_rows(constant.plus, rows)
    gather = constant.gather
    assert isinstance(gather, LoopNest), "stages of the special FFT are those of bootstraps, which take whole vectors"
    if is_everywhere(constant):
        everywhere = splat(1.0, constant.slots * rows).gather
        assert isinstance(everywhere, LoopNest)
        return replace(constant, gather=replace(gather, out_pack=everywhere.out_pack), plus=plus)
    steps = None if constant.steps is None else constant.steps * rows
    return replace(constant, gather=nest_of_rows(gather, rows), steps=steps, rotate=constant.rotate * rows, plus=plus)


def map_of_rows(linear_map: LinearMap, rows: int) -> LinearMap:
    """A linear map that acts on every row."""
    gather = linear_map.gather
    return replace(
        linear_map,
        slots=linear_map.slots * rows,
        gather=_nest(gather, rows) if gather is not None else None,
        explicit=tuple(_diagonal(d, rows) for d in linear_map.explicit),
        parts=tuple(_part(part, rows) for part in linear_map.parts),
    )


def _nest(gather: Any, rows: int) -> LoopNest:
    assert isinstance(gather, LoopNest), "stages of the special FFT are those of bootstraps, which take whole vectors"
    return nest_of_rows(gather, rows)


def _diagonal(diagonal: Diagonal, rows: int) -> Diagonal:
    return replace(diagonal, steps=diagonal.steps * rows, values=constant_of_rows(diagonal.values, rows))


def _part(part: MapPart, rows: int) -> MapPart:
    return replace(part, gather=_nest(part.gather, rows))


def groups_of(pack: PackMap, shape: tuple[int, ...], tensors: npt.ArrayLike) -> Iterator[FloatArray]:
    """Tensors (items, *shape), or one of this shape, as `pack.pack` takes them, one after the other.

    pack  of one tensor of the shape, or of rows of them: then rows go together, and the last tensor is repeated to fill
          the last group, since what is computed of it has to lie in range too. One tensor is that of every row
    """
    array = np.asarray(tensors, dtype=np.float64)
    items = array.reshape(-1, *shape)
    if pack.shape == shape:
        yield from items
        return
    rows = pack.shape[0]
    for first in range(0, len(items), rows):
        yield items[np.minimum(np.arange(first, first + rows), len(items) - 1)]


def pack_rows(pack: PackMap, shape: tuple[int, ...], tensors: npt.ArrayLike) -> FloatArray:
    """The vectors of `groups_of`: (groups, ...) of several tensors, those of one group of one."""
    packed = [pack.pack(group) for group in groups_of(pack, shape, tensors)]
    return packed[0] if np.shape(tensors) == shape else np.stack(packed)


def unpack_rows(pack: PackMap, shape: tuple[int, ...], vectors: Array, items: int | None) -> FloatArray:
    """Read tensors back from what `pack_rows` gives: (items, *shape), or for None one of the shape, from the first row.

    Vectors without an axis of groups that are to hold more are those of every group.
    """
    result = pack.unpack(vectors)
    if pack.shape == shape:
        return result
    if items is None:
        first: FloatArray = result[0]
        return first
    tensors: FloatArray = result.reshape(-1, *shape)
    return tensors[np.arange(items) % len(tensors)] if len(tensors) < items else tensors[:items]
