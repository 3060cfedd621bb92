"""take: which vectors there are. Free: an array is made of others' vectors, once, several times, in any order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latticework.layout.conversions.base import Machine, X
from latticework.layout.layout import Layout
from latticework.plan.pack import REPEAT


@dataclass(frozen=True, slots=True)
class Take:
    """The vectors of these numbers."""

    vectors: tuple[int, ...]

    def run(self, machine: Machine[X], x: X) -> X:
        """One take."""
        return machine.take(x, self.vectors)


@dataclass(frozen=True, slots=True)
class EqualVectors:
    """Which vectors of a layout are equal whatever the tensor.

    layout  the same with one of each
    first   for each of these, the first that is equal to it
    number  for each vector of the whole, which of these it is equal to
    """

    layout: Layout
    first: tuple[int, ...]
    number: tuple[int, ...]


def equal_vectors(layout: Layout) -> EqualVectors:
    """Vector dims that repeat and roll nothing number equal vectors."""
    rolling = {j for _, j in layout.rolls}
    vector_dims = layout.vector_dims
    equal = [i for i, d in enumerate(vector_dims) if d.axis == REPEAT and i not in rolling]
    kept = [i for i in range(len(layout.all_dims)) if i not in equal]
    moved = {old: new for new, old in enumerate(kept)}
    rolls = tuple((moved[i], moved[j]) for i, j in layout.rolls if i in moved)
    once = Layout(layout.dims, tuple(d for i, d in enumerate(vector_dims) if i not in equal), rolls)
    number = np.arange(once.count).reshape([1 if i in equal else d.extent for i, d in enumerate(vector_dims)])
    number = np.broadcast_to(number, [d.extent for d in vector_dims]).reshape(-1)
    first = np.unique(number, return_index=True)[1]
    return EqualVectors(once, tuple(first.tolist()), tuple(number.tolist()))
