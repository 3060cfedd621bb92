"""rot-roll: vectors taken and turned whole; no mask and no level.

When:   what differs is at most how far, in each vector, one slot dimension is turned, and nothing but repetition lies
        outside that dimension: turning the vector turns it.
Price:  one rotation for each vector and amount.
Source: Rotom, section 2.3 of the paper (there for the leftmost slot dimension and one vector dimension).
"""

from __future__ import annotations

from dataclasses import dataclass

from latticework.ir.core import Value
from latticework.layout.conversions.base import Conversion
from latticework.layout.conversions.emitter import VectorEmitter
from latticework.layout.layout import Layout, Shape
from latticework.layout.turning import Turning, turning


@dataclass(frozen=True, slots=True)
class RotRoll:
    """Vectors taken and turned."""

    turn: Turning

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Rotations and takes."""
        turns = zip(self.turn.taken, self.turn.amounts, strict=True)
        return emit.turned(x, [(vector, amount * self.turn.step) for vector, amount in turns])


def rot_roll(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    turn = turning(source, target)
    if turn is None or not turn.cyclic:
        return ()
    return (Conversion("rot-roll", shape, source, target, (RotRoll(turn),)),)
