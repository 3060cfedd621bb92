"""take: which vectors there are. Free: an array is made of others' vectors, once, several times, in any order."""

from __future__ import annotations

from functools import lru_cache
from math import lcm

import numpy as np

from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout
from latticework.tensor.layout.layout_candidates import vector_order
from latticework.values.packing.pack import REPEAT, PackDim


@dataclass(frozen=True, slots=True)
class Take:
    """The vectors of these numbers."""

    vectors: tuple[int, ...]

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """One take."""
        return emit.take(x, self.vectors)


@dataclass(frozen=True, slots=True)
class Distinct:
    """The vectors of a layout that differ, in one order.

    layout  the same with these alone
    first   for each of these, the first of the whole that is equal to it
    number  for each vector of the whole, which of these it is equal to
    """

    layout: Layout
    first: tuple[int, ...]
    number: tuple[int, ...]


@lru_cache(maxsize=4096)
def distinct_vectors(layout: Layout) -> Distinct:
    """Vector dims that repeat number equal vectors, but as far as they roll others; the rest is put in order."""
    dims = layout.vector_dims
    extents = [_different(layout, i) for i in range(len(dims))]
    order = [i for i in vector_order(layout) if extents[i] > 1 or dims[i].axis != REPEAT]
    moved = {old: new for new, old in enumerate([*order, *range(len(dims), len(layout.all_dims))])}
    rolls = tuple((moved[i], moved[j]) for i, j in layout.rolls if i in moved and j in moved)
    once = Layout(layout.dims, tuple(PackDim(dims[i].axis, extents[i], dims[i].stride) for i in order), rolls)
    number = np.zeros(layout.count, dtype=np.int64)
    index = np.unravel_index(np.arange(layout.count), [d.extent for d in dims] or [1])
    for i in order:
        number = number * extents[i] + index[i] % extents[i]
    return Distinct(once, tuple(np.unique(number, return_index=True)[1].tolist()), tuple(number.tolist()))


def _different(layout: Layout, i: int) -> int:
    """Count the different vectors along a vector dim: of a repetition as many as it rolls others by."""
    dim = layout.vector_dims[i]
    if dim.axis != REPEAT or any(rolled == i for rolled, _ in layout.rolls):
        return dim.extent
    period = lcm(*(layout.all_dims[rolled].extent for rolled, by in layout.rolls if by == i))
    return period if dim.extent % period == 0 else dim.extent
