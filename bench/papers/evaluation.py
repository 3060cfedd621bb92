"""The rows of a paper's evaluation beside ours, and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

CLOSE = 1.005  # figures have three digits


class Verdict(Enum):
    """The outcome of one row."""

    WON = "won"
    EQUAL = "equal"
    LOST = "lost"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Cell:
    """One quantity of a row.

    published, ours  None: not stated, or not run
    higher           larger figures are better
    is_fact          a figure of the paper's set-up or of ours that decides nothing
    """

    published: float | None
    ours: float | None
    higher: bool = False
    is_fact: bool = False

    @property
    def verdict(self) -> Verdict | None:
        """The outcome, rounding of the figures aside; None where nothing is to be decided."""
        if self.is_fact or self.published is None:
            return None
        if self.ours is None:
            return Verdict.NOT_RUN
        better, worse = (self.ours, self.published) if self.higher else (self.published, self.ours)
        if better > CLOSE * worse:
            return Verdict.WON
        return Verdict.LOST if worse > CLOSE * better else Verdict.EQUAL

    def __str__(self) -> str:
        return f"{_shown(self.published)} / {_shown(self.ours)}"


@dataclass(frozen=True)
class Line:
    """One row of a table or figure.

    cells    in the order of the section's quantities;  None: this row has none there
    why      one line; needed where the row is not won or equal
    verdict  stated only where figures cannot be compared
    """

    name: str
    cells: tuple[Cell | None, ...]
    why: str = ""
    stated: Verdict | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst outcome of its quantities: a row is won where none is lost and one is won."""
        if self.stated is not None:
            return self.stated
        found = [cell.verdict for cell in self.cells if cell is not None]
        for worst in (Verdict.NOT_RUN, Verdict.LOST, Verdict.WON, Verdict.EQUAL):
            if worst in found:
                return worst
        raise ValueError(f"{self.name}: no quantity decides about this row; state a verdict")


@dataclass(frozen=True)
class Section:
    """One table or figure of a paper.

    quantities  headings;  source  where ours comes from: a stored file's machine and conditions in one line
    """

    title: str
    quantities: tuple[str, ...]
    lines: tuple[Line, ...]
    source: str
    note: str = ""


@dataclass(frozen=True)
class Paper:
    """One paper's evaluation."""

    name: str
    about: str
    sections: tuple[Section, ...]

    def counts(self) -> Counter[Verdict]:
        """How many rows had which outcome."""
        return Counter(line.verdict for section in self.sections for line in section.lines)


def check(papers: Sequence[Paper]) -> list[str]:
    """Say what is wrong with rows: a loss or a gap without a reason."""
    silent = (Verdict.WON, Verdict.EQUAL)
    return [
        f"{paper.name}, {section.title}, {line.name}: {line.verdict.value} without a reason"
        for paper in papers
        for section in paper.sections
        for line in section.lines
        if line.verdict not in silent and not line.why
    ]


def _shown(x: float | None) -> str:
    return "-" if x is None else f"{x:.3g}" if abs(x) < 1000 else f"{x:,.0f}"
