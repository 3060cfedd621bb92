"""rot-roll: vectors taken and rotated whole; no mask and no level.

When:   what differs is at most how far, in each vector, one slot dimension is rotated, and nothing but repetition lies
        outside that dimension: rotating the vector rotates it.
Price:  one rotation for each vector and amount.
Example, a 4 x 4 tensor (ij is the element of row i and column j), from [0:4];[1:4] to Roll(1,0)[0:4];[1:4]:

            00 01 02 03        00 01 02 03        as it is
            10 11 12 13   ->   11 12 13 10        rotated by 1
            20 21 22 23        22 23 20 21        rotated by 2
            30 31 32 33        33 30 31 32        rotated by 3        3 rotations, no product

Source: Rotom, section 2.3 of the paper (there for the leftmost slot dimension and one vector dimension).
"""

from __future__ import annotations

from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions.base import Conversion
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import DimRotation, find_rotation


@dataclass(frozen=True, slots=True)
class RotRoll:
    """Vectors taken and rotated."""

    rotation: DimRotation

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Rotations and takes."""
        rotations = zip(self.rotation.taken, self.rotation.amounts, strict=True)
        return emit.rotate_vectors(x, [(vector, amount * self.rotation.step) for vector, amount in rotations])


def rot_roll(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    rotation = find_rotation(source, target)
    if rotation is None or not rotation.cyclic:
        return ()
    return (Conversion("rot-roll", shape, source, target, (RotRoll(rotation),)),)
