"""Records of the keys in memory in a run under a budget, for its section, its drawings and JSON."""

from __future__ import annotations

from typing import Annotated

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.memory_plan import BudgetPoint, MemoryPlan
from latticework.report.blocks import code, place
from latticework.report.figure_labels import Column, number
from latticework.report.quantities import count, duration


def about(number_of: float) -> str:
    """A number that is an average."""
    return count(round(number_of))


@dataclass(frozen=True, slots=True)
class KeyLine:
    """The key rows that a line reads in a run.

    where, text  of the line
    used, loads  rows that it computes with, and of them those that have to be read for it
    stalls       waits for rows, and stall_seconds of all of them
    """

    where: Annotated[str, Column("where", place)]
    text: Annotated[str, Column("line", code)]
    used: Annotated[float, number("rows used", about)]
    loads: Annotated[float, number("rows read", about)]
    stalls: Annotated[float, number("waits", about)]
    stall_seconds: Annotated[
        float, Column("waiting", row=lambda r: duration(r.stall_seconds) if r.stalls else "", number=True)
    ]


@dataclass(frozen=True, slots=True)
class KeyStretch:
    """The keys in memory for some time of a run, on average unless it says otherwise.

    start, seconds  of the run;  waiting  of these, for rows
    where, text, op of the line and the instruction that most of it goes to; "" where no key is read any more
    bootstrap       number of the one that this is in, of those that are told; None: in none
    most_bytes      the most;  held_bytes  rows that are there and rows that are being read
    being_read, kept, unneeded  bytes of these that are being read, are used again later, are not used again; the rest
                    is in use or next
    loads, stalls   rows that are read for it, and waits for them
    """

    start: float
    seconds: float
    waiting: float
    where: str
    text: str
    op: str
    bootstrap: int | None
    most_bytes: int
    held_bytes: float
    being_read: float
    kept: float
    unneeded: float
    loads: float
    stalls: float


@dataclass(frozen=True, slots=True)
class KeyLoop:
    """A loop over the time of a run, in seconds: the turns from alike_start to alike_end are told as one."""

    trips: int
    start: float
    alike_start: float
    alike_end: float
    end: float
    depth: int


@dataclass(frozen=True, slots=True)
class UnderBudget:
    """A server with a budget of memory, and others.

    chosen     this budget;  curve: budgets from the smallest to all that a run has a use for, in rising order
    least      (op, where) of the instruction that sets the smallest; None where no key is read
    lines      those that read keys, the most first
    over_time  in the order of the run, up to its end;  loops  in it
    """

    chosen: BudgetPoint
    curve: tuple[BudgetPoint, ...]
    least: tuple[str, str] | None
    lines: tuple[KeyLine, ...]
    over_time: tuple[KeyStretch, ...]
    loops: tuple[KeyLoop, ...]

    @property
    def shares(self) -> MemoryPlan:
        """The shares of the chosen budget."""
        return self.chosen.shares
