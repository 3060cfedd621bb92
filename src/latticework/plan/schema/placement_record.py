"""The reasons for the layouts of a program's tensors: what a search for layouts decided, as a plan keeps it for
reports."""

from __future__ import annotations

from collections.abc import Iterable

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.pack import PackMap

INPUT = "input"  # the operation that makes what the client sends


@dataclass(frozen=True, slots=True)
class ProgramLayout:
    """One strategy to lay out a whole program.

    seconds      predicted, sending included
    ciphertexts  that the client sends and receives
    """

    seconds: float
    levels: int
    ciphertexts: int
    chosen: bool = False

    def beats(self, other: ProgramLayout) -> bool:
        """Whether this is nowhere worse."""
        return self.seconds <= other.seconds and self.levels <= other.levels and self.ciphertexts <= other.ciphertexts


def pareto_front(endings: Iterable[ProgramLayout]) -> tuple[ProgramLayout, ...]:
    """Those that no other beats, the fastest first; of equal ones the chosen."""
    front: list[ProgramLayout] = []
    for ending in sorted(endings, key=lambda e: (e.seconds, e.levels, e.ciphertexts, not e.chosen)):
        if not any(better.beats(ending) for better in front):
            front.append(ending)
    return tuple(front)


@dataclass(frozen=True, slots=True)
class ConversionRecord:
    """An operand brought to where an operation wants it.

    way      layouts from the one it has to the one it gets
    recipes  how each of them is made of the one before
    """

    operand: str
    way: tuple[str, ...]
    recipes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """The layout of one tensor: an encrypted input, or the result of an operation.

    operation  what makes it; INPUT for one that is sent
    location   index into the plan's locations
    box        of a product of two secrets: the layout in which all of its loops meet; "" else
    seconds    of the operation, or of sending, as predicted when it was chosen;  levels  spent by it
    other      the best other layout of this tensor, "" if there was none
    behind     seconds by which the program was behind with that one, up to here; negative where it was ahead, to
               lose more later
    """

    name: str
    operation: str
    location: int
    pack: PackMap
    box: str
    seconds: float
    levels: int
    conversions: tuple[ConversionRecord, ...]
    other: str
    behind: float


@dataclass(frozen=True, slots=True)
class LayoutRecord:
    """One search for layouts.

    explored       placements that were priced
    bits_a_second  of the network between client and server
    endings        strategies to lay out the program of which none is better in time, levels and ciphertexts at once
    """

    explored: int
    bits_a_second: float
    steps: tuple[TensorLayout, ...]
    endings: tuple[ProgramLayout, ...]
