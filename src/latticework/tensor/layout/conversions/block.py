"""block: any layout to any other, as one block linear map. The fallback, and what the others have to beat.

When:   always (where it is a bsgs-roll, by that name).
Price:  baby steps for every vector of the source, giant steps for every vector of the target, a product for each
        diagonal, one level; where every vector is another one rotated whole, rotations alone.
"""

from __future__ import annotations

from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions.base import Conversion, make_move
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import find_rotation
from latticework.values.packing.packed_constants import LoopNest


@dataclass(frozen=True, slots=True)
class MovedBlocks:
    """Every element moved by a linear map."""

    gather: LoopNest

    @staticmethod
    def between(shape: Shape, source: Layout, target: Layout) -> MovedBlocks:
        """Return the recipe from layout `source` to layout `target`."""
        return MovedBlocks(make_move(shape, source, target))

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """One linear transform."""
        return emit.transform(x, self.gather)


def rotates_by_places(source: Layout, target: Layout) -> bool:
    """Whether one slot dimension is rotated by the places along others."""
    rotation = find_rotation(source, target)
    return rotation is not None and bool(rotation.by)


def block(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The one conversion."""
    if rotates_by_places(source, target):
        return ()
    return (Conversion("block", shape, source, target, (MovedBlocks.between(shape, source, target),)),)
