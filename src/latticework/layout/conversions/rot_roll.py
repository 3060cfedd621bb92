"""rot-roll: vectors taken and turned whole; no mask and no level.

When:   what differs is at most how far, in each vector, one slot dimension is turned, and nothing but repetition lies
        outside that dimension: turning the vector turns it.
Price:  one rotation for each vector and amount.
Source: Rotom, section 2.3 of the paper (there for the leftmost slot dimension and one vector dimension).
"""

from __future__ import annotations

from dataclasses import dataclass

from latticework.layout.conversions.base import Conversion, Machine, X, conversion
from latticework.layout.layout import Layout, Shape
from latticework.layout.turning import Turning, turning


@dataclass(frozen=True, slots=True)
class RotRoll:
    """Vectors taken and turned."""

    turn: Turning

    def run(self, machine: Machine[X], x: X) -> X:
        """Those that turn alike together."""
        pairs = list(zip(self.turn.amounts, self.turn.taken, strict=True))
        wanted = sorted(set(pairs))
        parts = []
        for amount in sorted({amount for amount, _ in wanted}):
            taken = machine.take(x, [vector for a, vector in wanted if a == amount])
            parts.append(machine.rotate(taken, amount * self.turn.step))
        return machine.take(machine.concat(parts), [wanted.index(pair) for pair in pairs])


def rot_roll(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    turn = turning(source, target)
    if turn is None or not turn.cyclic:
        return ()
    return (conversion("rot-roll", shape, source, target, RotRoll(turn)),)
