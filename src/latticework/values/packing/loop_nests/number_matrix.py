"""Block maps that multiply whole vectors with numbers: products with a public matrix, without rotations.

A map of vectors that hold one feature of many rows, `y[v] += weights[v, u] * x[u]` slot by slot, has one number in
every slot of each of its diagonals. As a matrix it takes as many numbers as there are weights, where its diagonals
would be as many vectors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import log2, prod

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.loop_nests.const_ref import is_everywhere
from latticework.values.packing.loop_nests.diagonal_values import Sources
from latticework.values.packing.loop_nests.linear_map import LinearMap, MapPart
from latticework.values.packing.loop_nests.nest import Access, LoopNest, walk
from latticework.values.packing.pack import REPEAT, PackMap

MAX_NUMBER = 2.0**53  # in magnitude, of what float64 has as integers

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NumberMatrix:
    """The matrix of a map: y[v] = sum over u of matrix[v, u] * x[u], for whole vectors x and y.

    map  of which `number_matrix` said that it is one
    """

    map: LinearMap

    @property
    def shape(self) -> tuple[int, int]:
        """(vectors that it makes, vectors that it reads)."""
        return self.map.count_out, self.map.count_in

    @property
    def sources(self) -> set[str]:
        """Hashes of the arrays that are read."""
        gathers = {part.gather.source for part in self.map.all_parts}
        return {s for s in gathers if s is not None}

    @property
    def is_complex(self) -> bool:
        """False: all numbers are real."""
        return False

    def evaluate(self, sources: Sources) -> FloatArray:
        """The numbers, (vectors that it makes, vectors that it reads)."""
        matrix = np.zeros(self.shape)
        for part in self.map.all_parts:
            assert isinstance(part.gather, LoopNest)
            (to, of), values = _entries(part.gather, sources)
            np.add.at(matrix, (part.out + to, part.in_ + of), values * part.factor)
        for diagonal in self.map.explicit:
            matrix[diagonal.out, diagonal.in_] += float(np.real(diagonal.values.factor))
        return matrix

    def integers(self, sources: Sources, scale: float) -> FloatArray:
        """The numbers times a scale, rounded.

        raises  RangeError for one that is too large
        """
        matrix = self.evaluate(sources)
        largest = float(np.max(np.abs(matrix), initial=0.0))
        if not largest * scale < MAX_NUMBER:
            raise RangeError(
                f"product with a public matrix: a number of magnitude {largest:.3g} at scale 2^{log2(scale):.1f} has "
                "more than 53 bits; scale the weights down, or lower precision_bits"
            )
        rounded: FloatArray = np.rint(matrix * scale)
        return rounded

    @property
    def products(self) -> int:
        """Products of a number and a vector, those with numbers that are structurally zero left out."""
        return _products(self.map)


@lru_cache(maxsize=1 << 12)
def number_matrix(linear_map: LinearMap) -> NumberMatrix | None:
    """The matrix of a map of several vectors; None where it moves slots, or does not do the same to all of them."""
    if (linear_map.count_in, linear_map.count_out) == (1, 1):
        return None
    parts = all(_is_matrix(part) for part in linear_map.all_parts)
    splats = all(
        is_everywhere(d.values) and d.values.plus is None and d.steps % linear_map.slots == 0
        and not d.conj and not d.values.is_complex and d.values.gather.source is None
        for d in linear_map.explicit
    )  # fmt: skip
    return NumberMatrix(linear_map) if parts and splats and (linear_map.all_parts or linear_map.explicit) else None


def _is_matrix(part: MapPart) -> bool:
    nest = part.gather
    return isinstance(nest, LoopNest) and not isinstance(part.factor, complex) and _slot_loops(nest) is not None


@lru_cache(maxsize=1 << 12)
def _slot_loops(nest: LoopNest) -> frozenset[int] | None:
    """The loops that go through the slots, alike in output and input; None where others do, or weights differ there.

    Slots are those of whole axes, one loop each, and all are in use: what lies in others has no meaning, and must not
    be multiplied.
    """
    out, in_, to, of = nest.out_pack, nest.in_pack, nest.out_access, nest.in_access
    if in_ is None or of is None or nest.spread != 1 or out.table or in_.table or out.rolls or in_.rolls:
        return None
    if to.view != out.shape or of.view != in_.shape or len(out.dims) != len(in_.dims):
        return None
    if any(prod(d.extent for d in pack.dims) != pack.slots for pack in (out, in_)):
        return None
    loops: dict[int, tuple[int, int]] = {}  # by axis of the output: (axis of the input, loop)
    for a, b in zip(out.dims, in_.dims, strict=True):
        if (a.extent, a.stride) != (b.extent, b.stride) or (a.axis < 0) != (b.axis < 0):
            return None
        if a.axis < 0:
            if a.extent > 1 and (a.axis, b.axis) != (REPEAT, REPEAT):
                return None
            continue
        loop = _only_loop(to, a.axis)
        if loop is None or loop != _only_loop(of, b.axis) or loops.setdefault(a.axis, (b.axis, loop)) != (b.axis, loop):
            return None
    for axis, (other, loop) in loops.items():
        extents = {out.shape[axis], in_.shape[other], nest.domain[loop], _extent(out, axis), _extent(in_, other)}
        if len(extents) > 1 or any(d.axis == axis for d in out.vector_dims):
            return None
        if any(d.axis == other for d in in_.vector_dims):
            return None
    chosen = frozenset(loop for _, loop in loops.values())
    rest = [row for a, row in enumerate(to.matrix) if a not in loops]
    rest += [row for b, row in enumerate(of.matrix) if b not in {other for other, _ in loops.values()}]
    rest += [] if nest.source_access is None else list(nest.source_access.matrix)
    return None if any(row[loop] for row in rest for loop in chosen) else chosen


def _only_loop(access: Access, axis: int) -> int | None:
    """The one loop whose counter is the index along an axis; None where it is not that simple."""
    used = [(loop, weight) for loop, weight in enumerate(access.matrix[axis]) if weight]
    return used[0][0] if len(used) == 1 and used[0][1] == 1 and access.offset[axis] == 0 else None


def _extent(pack: PackMap, axis: int) -> int:
    return prod(d.extent for d in pack.dims if d.axis == axis)


def _entries(nest: LoopNest, sources: Sources) -> tuple[tuple[npt.NDArray[np.int64], ...], FloatArray]:
    """((vectors of output, of input), number) of every term, one for each vector that holds the element."""
    loops = _slot_loops(nest)
    assert loops is not None and nest.in_pack is not None and nest.in_access is not None
    domain = tuple(1 if loop in loops else extent for loop, extent in enumerate(nest.domain))
    (out, to), (in_, of) = (
        _first_slot(pack, access) for pack, access in ((nest.out_pack, nest.out_access), (nest.in_pack, nest.in_access))
    )
    made, read = out.slots_of_element(), in_.slots_of_element().min(axis=1)
    weights = None if nest.source is None else np.asarray(sources[nest.source], dtype=np.float64).reshape(-1)
    rows, columns, numbers = [], [], []
    for counters in walk(domain):
        target, valid = to.flat(counters)
        element, inside = of.flat(counters)
        valid &= inside
        place = np.zeros(len(target), dtype=np.int64)
        if nest.source_access is not None:
            place, inside = nest.source_access.flat(counters)
            valid &= inside
        target, element, place = target[valid], element[valid], place[valid]
        rows.append(made[target].reshape(-1))
        columns.append(np.repeat(read[element], made.shape[1]))
        numbers.append(np.repeat(np.ones(len(place)) if weights is None else weights[place], made.shape[1]))
    return (np.concatenate(rows), np.concatenate(columns)), np.concatenate(numbers)


def _first_slot(pack: PackMap, access: Access) -> tuple[PackMap, Access]:
    """A packing and an access of what lies in the first slot of every vector."""
    inside = {d.axis for d in pack.dims if d.axis >= 0}
    shape = tuple(1 if axis in inside else extent for axis, extent in enumerate(pack.shape))
    return replace(pack, shape=shape, slots=1, dims=()), replace(access, view=shape)


@lru_cache(maxsize=1 << 10)
def _products(linear_map: LinearMap) -> int:
    """Places of the matrix that a term of the map fills."""
    matrix = np.zeros((linear_map.count_out, linear_map.count_in), dtype=bool)
    for part in linear_map.all_parts:
        nest = part.gather
        assert isinstance(nest, LoopNest)
        (to, of), _ = _entries(replace(nest, source=None), {})
        matrix[part.out + to, part.in_ + of] = True
    for diagonal in linear_map.explicit:
        matrix[diagonal.out, diagonal.in_] = True
    return int(matrix.sum())
