"""take: which vectors there are. Free: an array is made of others' vectors, once, several times, in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latticework.ir.core import Value
from latticework.layout.conversions.emitter import Emitter
from latticework.layout.forms import vector_order
from latticework.layout.layout import Layout
from latticework.plan.pack import REPEAT


@dataclass(frozen=True, slots=True)
class Take:
    """The vectors of these numbers."""

    vectors: tuple[int, ...]

    def run(self, emit: Emitter, x: Value) -> Value:
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


def distinct_vectors(layout: Layout) -> Distinct:
    """Vector dims that repeat and roll nothing number equal vectors; the others are put in order."""
    rolling = {j for _, j in layout.rolls}
    dims, first = layout.vector_dims, len(layout.vector_dims)
    order = [i for i in vector_order(layout) if dims[i].axis != REPEAT or i in rolling]
    moved = {old: new for new, old in enumerate([*order, *range(first, len(layout.all_dims))])}
    rolls = tuple((moved[i], moved[j]) for i, j in layout.rolls if i in moved)
    once = Layout(layout.dims, tuple(dims[i] for i in order), rolls)
    number = np.arange(once.count).reshape([dims[i].extent for i in order])
    number = number.transpose(np.argsort(order)) if order else number
    number = number.reshape([dims[i].extent if i in order else 1 for i in range(first)])
    number = np.broadcast_to(number, [d.extent for d in dims]).reshape(-1)
    return Distinct(once, tuple(np.unique(number, return_index=True)[1].tolist()), tuple(number.tolist()))
