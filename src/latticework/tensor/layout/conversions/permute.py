"""permute: elements moved to where one of their copies is to lie, then copied.

When:   the target repeats along slot dimensions.
How:    one linear map brings every element to the first place along those dimensions, or along the outermost one to the
        nearest, all other places being cleared by its masks; each rotation and addition then doubles the copies.
Price:  the linear map, and log2 of the copies in rotations and additions for each vector of the target, one level.
Source: Rotom, section 2.3 of the paper (mask, move, replicate).
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions.base import Conversion, make_move
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.conversions.replicate import Copied, copy_slots, free_copies
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import forms_of, with_gaps
from latticework.values.packing.packed_constants import LoopNest

NEAREST = "permute-nearest"


@dataclass(frozen=True, slots=True)
class Permute:
    """Moved, then copied."""

    gather: LoopNest
    copies: Copied

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """A linear transform and rotations."""
        return self.copies.run(emit, emit.transform(x, self.gather, clear=True))


def permute(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversions that copy along all dimensions that can be, along each by itself, and from the nearest."""
    conversions: list[Conversion] = []
    copies = target.outer_copies
    if copies & (copies - 1) == 0 and prod(d.extent for d in target.dims) == target.slots and copies > 1:
        nearest = replace(make_move(shape, source, target), spread=copies)
        recipe = Permute(nearest, Copied(((target.slots // copies, copies),)))
        conversions.append(Conversion(NEAREST, shape, source, target, (recipe,)))
    for form in forms_of(target)[:1]:
        free = free_copies(form)
        candidates = {tuple(free): "permute"} | (
            {(place,): f"permute-{place}" for place in free} if len(free) > 1 else {}
        )
        for places, name in candidates.items():
            if places:
                recipe = Permute(make_move(shape, source, with_gaps(form, places)), copy_slots(form, places))
                conversions.append(Conversion(name, shape, source, target, (recipe,)))
    return tuple(conversions)
