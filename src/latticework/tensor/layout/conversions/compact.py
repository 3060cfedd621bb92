"""compact: several vectors into one, those after the first rotated into gaps of it.

When:   the target walks, within a vector, what numbers the vectors of the source, where those have gaps.
How:    a mask clears the gaps; each vector is rotated to its place along them; the results are added.
Price:  a product for each vector of the source, a rotation and an addition for each but those that stay; one level.
Source: Rotom, section 2.3 of the paper.
"""

from __future__ import annotations

from itertools import product
from math import prod

from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.canonical import CanonicalForm
from latticework.tensor.layout.conversions.base import Conversion, box_mask
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import cut_dims_alike, forms_of, vector_parts
from latticework.values.packing.pack import GAP
from latticework.values.packing.packed_constants import LoopNest


@dataclass(frozen=True, slots=True)
class Compact:
    """Vectors cleared by a mask, then added, each rotated right by so many slots.

    parts  (slots, for each vector of the target the vector of the source)
    """

    mask: LoopNest
    parts: tuple[tuple[int, tuple[int, ...]], ...]

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Vectors that rotate alike together."""
        wanted = sorted({vector for _, taken in self.parts for vector in taken})
        cleared = emit.apply_mask(emit.take(x, wanted), self.mask)
        total: Value | None = None
        for steps, taken in self.parts:
            part = emit.rotate(emit.take(cleared, [wanted.index(vector) for vector in taken]), -steps)
            total = part if total is None else emit.add(total, part)
        assert total is not None
        return total


def compact(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    if source.rolls or target.rolls or source.slots != target.slots:
        return ()
    cut = cut_dims_alike(forms_of(source)[0], forms_of(target)[0])
    if cut is None:
        return ()
    a, b = cut
    pairs = list(zip(a.slot_dims, b.slot_dims, strict=True))
    filled = [place for place, (x, y) in enumerate(pairs) if y.axis >= 0 and x.axis < 0]
    if not filled or any(x != y and y.axis != GAP for k, (x, y) in enumerate(pairs) if k not in filled):
        return ()
    parts = _parts(a, b, filled)
    if parts is None:
        return ()
    mask = box_mask(a.slot_dims, source.slots, {place: range(1) for place in filled})
    return (Conversion("compact", shape, source, target, (Compact(mask, parts),)),)


def _parts(a: CanonicalForm, b: CanonicalForm, filled: list[int]) -> tuple[tuple[int, tuple[int, ...]], ...] | None:
    """Return (steps, source vectors) of each part; None if no vector of the source holds some of it."""
    numbers: dict[tuple[tuple[int, int], ...], int] = {}
    for number, part in enumerate(vector_parts(a)):
        if part is not None:
            numbers.setdefault(part, number)
    wanted = vector_parts(b)
    parts = []
    for places in product(*(range(b.slot_dims[k].extent) for k in filled)):
        steps = sum(n * prod(d.extent for d in b.slot_dims[k + 1 :]) for n, k in zip(places, filled, strict=True))
        taken = []
        for part in wanted:
            index = dict(part or ())
            for n, k in zip(places, filled, strict=True):
                dim = b.slot_dims[k]
                index[dim.axis] = index.get(dim.axis, 0) + n * dim.stride
            key = tuple(sorted((axis, at) for axis, at in index.items() if at))
            if key not in numbers:
                return None
            taken.append(numbers[key])
        parts.append((steps, tuple(taken)))
    return tuple(parts)
