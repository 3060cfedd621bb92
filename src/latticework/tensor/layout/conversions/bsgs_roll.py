"""bsgs-roll: one slot dimension rotated by the places along others, by baby steps and giant steps.

When:   what differs is how far one slot dimension is rotated, and that differs within a vector.
Price:  about two square roots of the places in rotations, twice the places in products, one level.
Example, a 4 x 4 tensor in one vector, from [0:4][1:4] to Roll(1,0)[0:4][1:4] (ij is the element of row i, column j):

            00 01 02 03 | 10 11 12 13 | 20 21 22 23 | 30 31 32 33
            00 01 02 03 | 11 12 13 10 | 22 23 20 21 | 33 30 31 32      to be brought here from so many slots ahead:
             0  0  0  0 |  1  1  1 -3 |  2  2 -2 -2 |  3 -1 -1 -1

        Seven diagonals, -3 to 3: 7 products, and as width 4 three babies and one giant, 4 key switches; `roll` takes as
        many products and 6 rotations.
Source: Rotom, section 2.3 of the paper; baby-step giant-step over the diagonals of the roll.
"""

from __future__ import annotations

from latticework.tensor.layout.conversions.base import Conversion
from latticework.tensor.layout.conversions.block import MovedBlocks, rotates_by_places
from latticework.tensor.layout.layout import Layout, Shape


def bsgs_roll(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The conversion, where it applies."""
    if not rotates_by_places(source, target):
        return ()
    return (Conversion("bsgs-roll", shape, source, target, (MovedBlocks.between(shape, source, target),)),)
