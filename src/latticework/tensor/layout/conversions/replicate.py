"""replicate: gaps filled with copies, by rotating and adding.

When:   the target repeats where the source has gaps, and otherwise has the source's vectors as they are.
How:    a mask clears the gaps; each rotation and addition then doubles the copies.
Price:  one product and log2 of the copies in rotations and additions for each vector of the source, one level.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.canonical import CanonicalForm
from latticework.tensor.layout.conversions.base import Conversion, box_mask
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import DimRotation, cut_dims_alike, find_rotation, forms_of, with_gaps
from latticework.values.packing.pack import GAP, REPEAT
from latticework.values.packing.packed_constants import LoopNest


@dataclass(frozen=True, slots=True)
class Copied:
    """Copies along dimensions at whose first place alone there is something: (slots of a step, copies) of each."""

    along: tuple[tuple[int, int], ...]

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Replicate along one dimension after the other."""
        for step, copies in self.along:
            x = emit.replicate(x, step, copies)
        return x


@dataclass(frozen=True, slots=True)
class Replicate:
    """Gaps cleared and filled, then vectors taken."""

    mask: LoopNest
    copies: Copied
    rotation: DimRotation

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Each vector of the source once."""
        wanted = sorted(set(self.rotation.taken))
        x = self.copies.run(emit, emit.apply_mask(emit.take(x, wanted), self.mask))
        return emit.take(x, [wanted.index(vector) for vector in self.rotation.taken])


def replicate(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    for b in forms_of(target):
        cut = cut_dims_alike(forms_of(source)[0], b) if forms_of(source) else None
        if cut is None:
            continue
        a, b = cut
        filled = [place for place in free_copies(b) if a.slot_dims[place].axis == GAP]
        rotation = find_rotation(source, with_gaps(b, filled)) if filled else None
        if rotation is not None and rotation.place is None:
            mask = box_mask(a.slot_dims, source.slots, {place: range(1) for place in filled})
            recipe = Replicate(mask, copy_slots(b, filled), rotation)
            return (Conversion("replicate", shape, source, target, (recipe,)),)
    return ()


def free_copies(form: CanonicalForm) -> list[int]:
    """Slot dimensions that repeat a power of two times, and by which nothing is rotated."""
    return [
        place
        for place, dim in enumerate(form.slot_dims)
        if dim.axis == REPEAT and dim.extent & (dim.extent - 1) == 0 and form.vectors + place not in form.read
    ]


def copy_slots(form: CanonicalForm, places: Sequence[int]) -> Copied:
    """Copies along slot dimensions."""
    dims = form.slot_dims
    return Copied(tuple((prod(d.extent for d in dims[place + 1 :]), dims[place].extent) for place in places))
