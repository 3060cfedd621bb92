"""Diagonals of loop nests whose every counter is a sum of what the output slot says and what the input slot says.

Then all that has to be known at a slot is a sum, or a comparison, of two numbers looked up at its two ends, and a
diagonal takes a few passes over the slots. Products of matrices, moves and convolutions are of that kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from latticework.values.extension import _core
from latticework.values.packing.loop_nests.element_copies import service
from latticework.values.packing.loop_nests.index_equations import Equation, Side, joint, sides
from latticework.values.packing.loop_nests.nest import LoopNest
from latticework.values.packing.pack import IntArray

MOST = np.iinfo(np.int32).max

Numbers = npt.NDArray[np.int32]


Sum = tuple[Numbers, Numbers]
"""A number at each pair of ends: that at the output's slot plus that at the input's.

(count_out, slots), and (count_in, 2 slots): the slots twice, so that any rotation of them is a slice.
"""


class _Affine:
    """A sum being put together from whole sides."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], constant: int = 0) -> None:
        self.parts = [np.full(shapes[0], constant, dtype=np.int64), np.zeros(shapes[1], dtype=np.int64)]

    def add(self, other: _Affine, weight: int = 1) -> None:
        for own, more in zip(self.parts, other.parts, strict=True):
            own += weight * more

    def sum(self) -> Sum:
        out, in_ = (part.astype(np.int32) for part in self.parts)
        return out, np.concatenate([in_, in_], axis=1)


@lru_cache(maxsize=32)
def separable(nest: LoopNest) -> _core.maps.SeparableNest | None:
    """The nest in separable form; None if it has none.

    A diagonal has a term where both ends hold elements and agree on the counters that both determine (`difference` 0),
    the input is the nearest copy (`serves`; if outputs share sums that is asked elsewhere), and all numbers that have a
    limit are within it (`bounded`). Its weight is that at the `flat` index of the source.
    """
    assert nest.in_pack is not None
    to, of = sides(nest)
    equations, walked = joint(nest)
    shared = prod(nest.domain[j] for j in set(to.counters) & set(of.counters))
    read = prod(nest.source_access.view) if nest.source_access else 1
    if walked or max(4 * shared, read) > MOST:
        return None
    shapes = (to.valid.shape, of.valid.shape)
    counters = {j: _one_side(shapes, 1, c) for j, c in of.counters.items()}
    counters |= {j: _one_side(shapes, 0, c) for j, c in to.counters.items()}
    bounded: list[tuple[Sum, int]] = []
    for number, equation in equations:
        unknown = equation.unknowns(set(counters))
        if len(unknown) > 1 or any(abs(equation.row[j]) != 1 for j in unknown):
            return None
        rest = _rest(shapes, number, (to, of)[number], equation, counters)
        if not unknown:
            bounded.append((rest.sum(), 1))
            continue
        (j,) = unknown
        counters[j] = _Affine(shapes)
        counters[j].add(rest, equation.row[j])
        bounded.append((counters[j].sum(), nest.domain[j]))
    flat = _Affine(shapes)
    access = nest.source_access
    for a, extent in enumerate(access.view if access else ()):
        assert access is not None
        index = _Affine(shapes, access.offset[a])
        for j, weight in enumerate(access.matrix[a]):
            if weight:
                index.add(counters[j], weight)
        low, high = access.reach(a, nest.domain)
        if low < 0 or high >= extent:
            bounded.append((index.sum(), extent))
        total = _Affine(shapes)
        total.add(flat, extent)
        total.add(index)
        flat = total
    reach = service(nest.in_pack).astype(np.int32) if nest.spread == 1 else None
    return _core.maps.SeparableNest(
        _difference(nest, to, of).sum(),
        None if reach is None else np.concatenate([reach, reach], axis=1),
        bounded,
        None if nest.source is None else flat.sum(),
    )


def _one_side(shapes: Sequence[tuple[int, ...]], number: int, values: IntArray) -> _Affine:
    result = _Affine(shapes)
    result.parts[number] = values
    return result


def _rest(
    shapes: Sequence[tuple[int, ...]], number: int, side: Side, equation: Equation, counters: dict[int, _Affine]
) -> _Affine:
    """Solve an equation for its unknown: the index less all that is known."""
    rest = _Affine(shapes, -equation.offset)
    rest.parts[number] = rest.parts[number] + side.index[equation.axis]
    for j, weight in enumerate(equation.row):
        if weight and j in counters:
            rest.add(counters[j], -weight)
    return rest


def _difference(nest: LoopNest, to: Side, of: Side) -> _Affine:
    """A code of the counters that both sides determine, of one less that of the other; odd where one has no element."""
    codes = [np.zeros(side.valid.shape, dtype=np.int64) for side in (to, of)]
    for j in sorted(set(to.counters) & set(of.counters)):
        for code, side in zip(codes, (to, of), strict=True):
            code *= nest.domain[j]
            code += side.counters[j]
    result = _Affine((to.valid.shape, of.valid.shape))
    result.parts = [np.where(to.valid, 4 * codes[0], 1), np.where(of.valid, -4 * codes[1], 2)]
    return result
