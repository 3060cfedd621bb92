"""rot-roll: vectors taken and turned whole; no mask and no level.

When:   what differs is at most how far, in each vector, one slot dimension is turned, and nothing but repetition lies
        outside that dimension: turning the vector turns it.
Price:  one rotation for each vector and amount.
Example, a 4 x 4 tensor (ij is the element of row i and column j), from [0:4];[1:4] to Roll(1,0)[0:4];[1:4]:

            00 01 02 03        00 01 02 03        as it is
            10 11 12 13   ->   11 12 13 10        turned by 1
            20 21 22 23        22 23 20 21        turned by 2
            30 31 32 33        33 30 31 32        turned by 3        3 rotations, no product

Source: Rotom, section 2.3 of the paper (there for the leftmost slot dimension and one vector dimension).
"""

from __future__ import annotations

from dataclasses import dataclass

from latticework.ir.core import Value
from latticework.tensor.layout.conversions.base import Conversion
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import Turning, turning


@dataclass(frozen=True, slots=True)
class RotRoll:
    """Vectors taken and turned."""

    turn: Turning

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Rotations and takes."""
        turns = zip(self.turn.taken, self.turn.amounts, strict=True)
        return emit.rotate_vectors(x, [(vector, amount * self.turn.step) for vector, amount in turns])


def rot_roll(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    turn = turning(source, target)
    if turn is None or not turn.cyclic:
        return ()
    return (Conversion("rot-roll", shape, source, target, (RotRoll(turn),)),)
