"""The rows of keys in memory during a run under a budget: the rule that the core follows, without the keys.

All rows are equally large, so each lies in one of a fixed number of slots. A window is claimed as a whole: its rows
that are absent take free slots, or those of rows whose next use is farthest away; rows of claimed windows stay. The
window that is computed with and the next one are claimed, if both fit; those after them, in order, as far as there are
free slots and rows without another use. Claims are made when a window is done with, so what is read does not depend on
timing; when it is read does, and is what the clock here is for.

Source: Belady, "A study of replacement algorithms for a virtual-storage computer" (1966). As all rows of a window are
next used at the same time, it makes no difference which of them go, so the least is read that any rule has to read
under which these windows are claimed: a test holds it against a linear program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise

from latticework.lazy_dataclass import dataclass
from latticework.plan.key_schedule.key_windows import Visit, Visits
from latticework.plan.key_schedule.keys_over_time import Stretch, Trace

FORETOLD_ROWS = 1 << 17  # uses that are further ahead are not known to the core
NEVER = 1 << 62

Clock = tuple[float, float, float, float]  # of a window: end of the one before, asked for, started, end


@dataclass(slots=True)
class RowTraffic:
    """Totals of the reading of one instruction, or of all of them.

    wanted  rows that are used;  loaded  of these, rows that had to be read
    stalls  waits of the computation for rows, and how long they take together
    """

    wanted: float = 0.0
    loaded: float = 0.0
    stalls: float = 0.0
    stall_seconds: float = 0.0

    def add(self, wanted: float, loaded: float, stall_seconds: float, weight: float) -> None:
        """Add one window, `weight` times."""
        self.wanted += weight * wanted
        self.loaded += weight * loaded
        if stall_seconds > 0:
            self.stalls += weight
            self.stall_seconds += weight * stall_seconds

    def include(self, other: RowTraffic, share: float) -> None:
        """Add the totals of another, or a share of them."""
        self.wanted += share * other.wanted
        self.loaded += share * other.loaded
        self.stalls += share * other.stalls
        self.stall_seconds += share * other.stall_seconds


@dataclass(frozen=True, slots=True)
class Residency:
    """A run under a budget.

    total     of all instructions;  by_line  of each location;  by_place  of each instruction, by (block, place)
    peak_rows rows in memory at most;  different_rows  rows that are read at all
    seconds   of the run, waits included
    is_foretold  no row is used again so late that the core does not know of it
    """

    total: RowTraffic
    by_line: dict[int, RowTraffic]
    by_place: dict[tuple[int, int], RowTraffic]
    peak_rows: int
    different_rows: int
    seconds: float
    is_foretold: bool

    @property
    def computing(self) -> float:
        """Seconds of the run if no row had to be read."""
        return self.seconds - self.total.stall_seconds


def follow(
    visits: Visits,
    capacity_rows: int,
    row_seconds: float,
    *,
    readers: int = 1,
    is_later: bool = False,
    trace: Trace | None = None,
) -> Residency:
    """Follow a run of which every window fits into the slots.

    row_seconds  to read a row;  readers  0: rows are read when they are needed, and the computation waits
    is_later     a run before has left rows in memory; which ones, of those that it did not use again, is about right
    trace        is told of every window
    """
    slots = _Slots(visits, capacity_rows)
    if is_later:
        slots.run(row_seconds, readers, None)
        slots.start_again()
    return slots.run(row_seconds, readers, trace)


class _Slots:
    """The slots, and the clock."""

    def __init__(self, visits: Visits, capacity_rows: int) -> None:
        self.run_of = visits
        self.visits = visits.visits
        self.sizes = visits.sizes
        self.capacity = capacity_rows
        self.nexts = _next_uses(self.visits)
        self.resident = [0] * len(self.sizes)  # rows of each class that are in memory
        self.pins = [0] * len(self.sizes)  # claimed windows that each class is in
        self.due = [NEVER] * len(self.sizes)  # the next use of those that are not pinned
        self.queue: list[tuple[int, int]] = []  # (-due, class) of what may go; what changed since is passed over
        self.occupied = 0
        self.pinned = 0  # rows of claimed windows
        self.peak = 0
        self.spent = 0  # rows in memory that are not used again
        self.absent = [0] * len(self.visits)  # rows that were read for each window
        self.ready = [0.0] * len(self.visits)
        self.claimed = 0  # windows so far
        self.reader_free = 0.0

    def run(self, row_seconds: float, readers: int, trace: Trace | None) -> Residency:
        """Follow the run window by window."""
        total, seconds, weighted = RowTraffic(), 0.0, 0.0
        by_line: dict[int, RowTraffic] = defaultdict(RowTraffic)
        by_place: dict[tuple[int, int], RowTraffic] = defaultdict(RowTraffic)
        self.claim_ahead(-1, 0.0, row_seconds)
        for number, visit in enumerate(self.visits):
            begin = seconds
            asked = seconds + visit.before
            if readers:
                started = max(asked, self.ready[number])
            else:
                started = asked + self.absent[number] * row_seconds
            seconds = started + visit.seconds
            if trace is not None:
                trace.add(visit, self.stretches(number, (begin, asked, started, seconds), row_seconds, readers))
            weighted += visit.weight * (seconds - begin)
            wanted = sum(self.sizes[label] for label in visit.window.classes)
            traffic = wanted, self.absent[number], started - asked, visit.weight
            total.add(*traffic)
            by_line[visit.line].add(*traffic)
            by_place[visit.site.block, visit.site.index].add(*traffic)
            self.release(number)
            self.claim_ahead(number, seconds, row_seconds)
        weighted += self.run_of.after
        if trace is not None:
            trace.end(self.run_of.after, self.occupied, self.spent, self.run_of.loops)
        return Residency(
            total, dict(by_line), dict(by_place), self.peak, self.run_of.rows, weighted, self.is_foretold()
        )

    def start_again(self) -> None:
        """Start another run: what is in memory stays, and is used again."""
        firsts: dict[int, int] = {}
        for number in range(len(self.visits)):
            for label in self.classes(number):
                firsts.setdefault(label, number)
        for label, number in firsts.items():
            self.due[label] = number
        self.queue = [(-number, label) for label, number in firsts.items()]
        heapify(self.queue)
        self.spent = self.claimed = 0
        self.reader_free = 0.0

    def stretches(self, number: int, clock: Clock, row_seconds: float, readers: int) -> Iterator[Stretch]:
        """Yield the stretches of time of a window."""
        visit, absent = self.visits[number], self.absent[number]
        ahead = 0 if readers else sum(self.absent[number : self.claimed])
        for place, (start, end) in enumerate(pairwise(clock)):
            seconds = end - start
            if readers:  # what is claimed now is read row by row until the reader is free
                left, later = (max(0.0, self.reader_free - moment) for moment in (start, end))
                unread = (left**2 - later**2) / (2 * row_seconds) if row_seconds else 0.0
            else:  # the rows of this window are read in the wait for it
                unread = (ahead - (0.0, absent / 2, absent)[place]) * seconds
            is_wait, is_use = place == 1, place == 2
            yield Stretch(
                visit.site, visit.line, visit.call, seconds, is_wait * seconds, is_use * absent,
                float(is_wait and seconds > 0), self.occupied, self.occupied * seconds, self.pinned * seconds, unread,
                self.spent * seconds,
            )  # fmt: skip

    def claim_ahead(self, done: int, now: float, row_seconds: float) -> None:
        """Claim after window `done` the two that have to be, and as many more as there are slots for."""
        while self.claimed < len(self.visits):
            number = self.claimed
            missing = self.missing(number)
            if number > done + 1:
                free_slots = self.capacity - (
                    self.pinned_with(number) if number == done + 2 else self.occupied - self.spent
                )
                if free_slots < (0 if number == done + 2 else missing):
                    return
            self.claim(number, missing)
            if missing:
                self.reader_free = max(self.reader_free, now) + missing * row_seconds
            self.ready[number] = self.reader_free
            self.claimed += 1

    def is_foretold(self) -> bool:
        """Whether the core knows of every next use in time."""
        read = list(accumulate((visit.window.rows for visit in self.visits), initial=0))
        return all(
            due == NEVER or read[due] - read[number] < FORETOLD_ROWS
            for number, dues in enumerate(self.nexts)
            for due in dues
        )

    def missing(self, number: int) -> int:
        """Rows of a window that are not in memory."""
        return sum(self.sizes[label] - self.resident[label] for label in self.classes(number))

    def pinned_with(self, number: int) -> int:
        """Rows of claimed windows and of this one."""
        return self.pinned + sum(self.sizes[label] for label in self.classes(number) if not self.pins[label])

    def classes(self, number: int) -> tuple[int, ...]:
        """Return the classes of the rows of a window."""
        return self.visits[number].window.classes

    def claim(self, number: int, missing: int) -> None:
        """Pin the rows of a window, absent ones in place of those that are wanted last."""
        classes = self.classes(number)
        for label in classes:
            self.pinned += 0 if self.pins[label] else self.sizes[label]
            self.pins[label] += 1
        self.make_room(missing - (self.capacity - self.occupied))
        for label in classes:
            self.resident[label] = self.sizes[label]
        self.occupied += missing
        self.peak = max(self.peak, self.occupied)
        self.absent[number] = missing

    def make_room(self, rows: int) -> None:
        """Let go of rows whose next use is farthest away."""
        while rows > 0:
            negated, label = self.queue[0]
            if self.pins[label] or self.due[label] != -negated or not self.resident[label]:
                heappop(self.queue)
                continue
            going = min(rows, self.resident[label])
            self.resident[label] -= going
            self.occupied -= going
            rows -= going
            if negated == -NEVER:
                self.spent -= going

    def release(self, number: int) -> None:
        """Release the rows of a window that is done with."""
        for label, due in zip(self.classes(number), self.nexts[number], strict=True):
            self.pins[label] -= 1
            if not self.pins[label]:
                self.pinned -= self.sizes[label]
                self.due[label] = due
                heappush(self.queue, (-due, label))
                if due == NEVER:
                    self.spent += self.resident[label]


def _next_uses(visits: tuple[Visit, ...]) -> list[tuple[int, ...]]:
    """Return for each class of each window the next window that it is in."""
    following: dict[int, int] = {}
    next_uses: list[tuple[int, ...]] = []
    for number in range(len(visits) - 1, -1, -1):
        classes = visits[number].window.classes
        next_uses.append(tuple([following.get(label, NEVER) for label in classes]))
        for label in classes:
            following[label] = number
    next_uses.reverse()
    return next_uses
