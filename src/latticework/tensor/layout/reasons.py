"""Cost of every decision of a layout search, and the alternatives."""

from __future__ import annotations

from latticework.ir import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.layout import Layout


@dataclass(frozen=True, slots=True)
class Move:
    """An operand brought to where a placement wants it."""

    operand: Value
    old: Layout
    new: Layout
    seconds: float


@dataclass(frozen=True, slots=True)
class Taken:
    """Cost of one decision: an operation in its placement, or an input as the client sends it.

    seconds  of the operation, or of sending;  levels  spent by it
    total    seconds of the program up to here; in a loop, of one iteration of its body up to here
    """

    seconds: float
    levels: int
    moves: tuple[Move, ...]
    total: float


@dataclass(frozen=True, slots=True)
class Other:
    """The best other layout of a result.

    behind  seconds by which the program is behind the chosen one once the result lies so; negative if it is ahead,
            to lose more later
    """

    layout: Layout
    behind: float
