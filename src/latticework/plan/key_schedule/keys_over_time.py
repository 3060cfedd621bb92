"""The rows of keys in memory over the time of a run, in stretches of time.

Each window has three: computing without keys before it, waiting for its rows, and computing with them. Iterations of a
loop between the first and the last are told as one (`plan.windows`), which is as long as they are together. So
stretches add up to the run: seconds, rows that are read, waits; and the most rows of one are the most of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.walk import Site
from latticework.plan.key_schedule.key_windows import LoopStretches, Visit
from latticework.values.sums import add_up

OF_A_WINDOW = 3  # stretches


@dataclass(slots=True)
class Stretch:
    """Some time of a run, row-seconds being sums of rows over time.

    site, line, call  of the window that follows, or is computed with; None where no key is read any more
    seconds    how long it is;  waiting  of these, for rows
    loaded     rows that are read for the window;  stalls  waits
    most_rows  in memory or being read
    held       row-seconds of these;  claimed  of them, of windows that are next;  unread  of these, not there yet
    spent      of the held ones, of rows that are not used again
    """

    site: Site | None
    line: int | None
    call: tuple[int, int] | None
    seconds: float
    waiting: float = 0.0
    loaded: float = 0.0
    stalls: float = 0.0
    most_rows: int = 0
    held: float = 0.0
    claimed: float = 0.0
    unread: float = 0.0
    spent: float = 0.0

    def include(self, other: Stretch, times: float) -> None:
        """Add another stretch, `times` times."""
        self.seconds += times * other.seconds
        self.waiting += times * other.waiting
        self.loaded += times * other.loaded
        self.stalls += times * other.stalls
        self.most_rows = max(self.most_rows, other.most_rows)
        self.held += times * other.held
        self.claimed += times * other.claimed
        self.unread += times * other.unread
        self.spent += times * other.spent


class Trace:
    """Stretches in the order of the run, and the loops in it by their numbers."""

    def __init__(self) -> None:
        self.stretches: list[Stretch] = []
        self.loops: tuple[LoopStretches, ...] = ()

    def add(self, visit: Visit, stretches: Iterable[Stretch]) -> None:
        """Add the stretches of the next window."""
        for number, stretch in enumerate(stretches, OF_A_WINDOW * visit.stretch):
            if number == len(self.stretches):
                self.stretches.append(Stretch(stretch.site, stretch.line, stretch.call, 0.0))
            self.stretches[number].include(stretch, visit.weight)

    def end(self, seconds: float, rows: int, spent: int, loops: tuple[LoopStretches, ...]) -> None:
        """Note the time after the last window."""
        self.loops = tuple(
            replace(
                loop, first=OF_A_WINDOW * loop.first, end=OF_A_WINDOW * loop.end,
                middle=(OF_A_WINDOW * loop.middle[0], OF_A_WINDOW * loop.middle[1]),
            )
            for loop in loops
        )  # fmt: skip
        self.stretches.append(
            Stretch(None, None, None, seconds, most_rows=rows, held=seconds * rows, spent=seconds * spent)
        )


def merge_stretches(stretches: Sequence[Stretch], most: int) -> list[Stretch]:
    """Join neighbouring stretches until about `most` are left; each is named after the longest in it."""
    shortest = add_up(one.seconds for one in stretches) / most
    result: list[Stretch] = []
    longest = 0.0
    for one in stretches:
        if not result or result[-1].seconds >= shortest:
            result.append(replace(one))
            longest = one.seconds
            continue
        last = result[-1]
        last.include(one, 1.0)
        if one.seconds > longest:
            longest, last.site, last.line, last.call = one.seconds, one.site, one.line, one.call
    return result
