"""block: any layout to any other, as one block linear map. The fallback, and what the others have to beat.

When:   always.
Price:  baby steps for every vector of the source, giant steps for every vector of the target, a product for each
        diagonal, one level; nothing where every element lies where it is to lie.
"""

from __future__ import annotations

from dataclasses import dataclass

from latticework.layout.conversions.base import Conversion, Machine, X, conversion, moved
from latticework.layout.layout import Layout, Shape
from latticework.plan.constants import Gather


@dataclass(frozen=True, slots=True)
class Moved:
    """Every element moved by a linear map."""

    gather: Gather

    def run(self, machine: Machine[X], x: X) -> X:
        """One linear transform."""
        return machine.transform(x, self.gather)


def block(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """The one conversion."""
    return (conversion("block", shape, source, target, Moved(moved(shape, source, target))),)
