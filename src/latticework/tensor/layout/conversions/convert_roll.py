"""roll: one slot dimension rotated by masks and rotations.

When:   what differs is how far one slot dimension is rotated: by an amount for each vector, or by the places along one
        other slot dimension.
How:    the part that comes round the end is cut out by a mask; the rest is what remains when it is subtracted; each
        part is rotated by one rotation, and the two are added. Where the amount differs within a vector, the places
        that rotate alike are cut out together, both parts of them by masks.
Price:  one product, two rotations and two additions for each vector that is rotated, and one level.
Example, row 1 of a 4 x 4 tensor rotated by 1 among other slots, which a rotation of the whole vector would bring in:

            10 11 12 13   *  1 . . .   =   10  .  .  .   rotated by -3:    .  .  . 10
                     less what was cut:     . 11 12 13   rotated by  1:   11 12 13  .        the sum: 11 12 13 10

        From [0:4][1:4] to Roll(1,0)[0:4][1:4], all rows in one vector, each row has its own amount: 7 products and 6
        rotations, 2 of each for amounts 1, 2 and 3 and a product for row 0.
Source: Rotom, section 2.3 of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions.base import Conversion, box_mask
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import DimRotation, find_rotation
from latticework.values.packing.packed_constants import LoopNest


@dataclass(frozen=True, slots=True)
class Roll:
    """Vectors taken, one of their slot dimensions rotated."""

    rotation: DimRotation
    slots: int

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Those that rotate alike together."""
        pairs = list(zip(self.rotation.amounts, self.rotation.taken, strict=True))
        wanted = sorted(set(pairs))
        parts = []
        for amount in sorted({amount for amount, _ in wanted}):
            taken = emit.take(x, [vector for a, vector in wanted if a == amount])
            parts.append(self._by_places(emit, taken, amount) if self.rotation.by else self._by(emit, taken, amount))
        return emit.take(emit.concat(parts), [wanted.index(pair) for pair in pairs])

    def _by(self, emit: VectorEmitter, x: Value, amount: int) -> Value:
        """All rotated by one amount."""
        if amount == 0:
            return x
        extent = self.rotation.extent
        around = emit.apply_mask(x, self._mask(range(amount)))
        if prod(d.extent for d in self.rotation.dims) == self.slots:
            ahead = emit.sub(x, around)
        else:  # what lies beyond the last dimension must not come in
            ahead = emit.apply_mask(x, self._mask(range(amount, extent)))
        return emit.add(self._rotate(emit, ahead, amount), self._rotate(emit, around, amount - extent))

    def _by_places(self, emit: VectorEmitter, x: Value, amount: int) -> Value:
        """Rotated by an amount that differs from place to place along another slot dimension."""
        extent = self.rotation.extent
        ((by, times),) = self.rotation.by
        parts = []
        for far, places in _alike(amount, times, extent, self.rotation.dims[by].extent):
            ahead = emit.apply_mask(x, self._mask(range(far, extent), {by: places}))
            parts.append(self._rotate(emit, ahead, far))
            if far:
                around = emit.apply_mask(x, self._mask(range(far), {by: places}))
                parts.append(self._rotate(emit, around, far - extent))
        return _total(emit, parts)

    def _mask(self, held: range, others: dict[int, range] | None = None) -> LoopNest:
        """The slots at these places along the rotated dimension."""
        assert self.rotation.place is not None
        return box_mask(self.rotation.dims, self.slots, {self.rotation.place: held, **(others or {})})

    def _rotate(self, emit: VectorEmitter, x: Value, amount: int) -> Value:
        return emit.rotate(x, amount * self.rotation.step)


def _alike(start: int, times: int, extent: int, length: int) -> list[tuple[int, range]]:
    """The amounts (start + times * place) mod extent, and the places along a dimension of `length` that have each."""
    period = extent // gcd(extent, times)
    return sorted(
        ((start + times * first) % extent, range(first, length, period)) for first in range(min(period, length))
    )


def _total(emit: VectorEmitter, parts: Sequence[Value]) -> Value:
    total = parts[0]
    for part in parts[1:]:
        total = emit.add(total, part)
    return total


def roll(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    rotation = find_rotation(source, target)
    if (
        rotation is None
        or rotation.place is None
        or len(rotation.by) > 1
        or (rotation.by and len(set(rotation.amounts)) > 1)
    ):
        return ()
    return (Conversion("roll", shape, source, target, (Roll(rotation, target.slots),)),)
