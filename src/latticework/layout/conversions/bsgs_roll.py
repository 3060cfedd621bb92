"""bsgs-roll: one slot dimension turned by the places along others, by baby steps and giant steps.

When:   what differs is how far one slot dimension is turned, and that differs within a vector.
Price:  about two square roots of the places in rotations, twice the places in products, one level.
Source: Rotom, section 2.3 of the paper; baby-step giant-step over the diagonals of the roll.
"""

from __future__ import annotations

from latticework.layout.conversions.base import Conversion
from latticework.layout.conversions.block import Moved, by_turns
from latticework.layout.layout import Layout, Shape


def bsgs_roll(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    if not by_turns(source, target):
        return ()
    return (Conversion("bsgs-roll", shape, source, target, (Moved.between(shape, source, target),)),)
