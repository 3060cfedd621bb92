"""The reads of a run's keys over its time, under a budget of bytes: predicted from the plan alone.

The core carries no schedule out: it knows the order of uses as it runs, and follows a rule. The rule, in ten lines:

1.  A use is an instruction that reads keys; it makes its passes, and a pass goes through windows of limbs (`windows`).
2.  A row is one digit of one key at one limb, both halves; the budget is a number of slots, a row each, never more.
3.  A window is claimed as a whole: its absent rows get slots, and none of its rows leaves before it is released.
4.  Claimed are the window that is computed with and the one after it; where both do not fit, only the first.
5.  Windows after these are claimed in order, while their absent rows fit into free slots and rows without another use.
6.  The row that is evicted is one whose next use is farthest away in the true order: loops iterate as often as they
    do, the branch that is taken is known, calls are followed.
7.  Claims are made when a window is released, before anything else is, and a read starts only after its claim.
8.  Readers read rows in the order of claims; the computation waits for all rows of a window before it starts with it.
9.  So what is read depends on the plan, the trip counts and the budget alone, and the times on the machine besides.
10. A claim that cannot be met is not made, so nothing waits for slots, and nothing can lock up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from latticework.errors import BudgetError
from latticework.errors.shown import size
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.value_shapes import key_digits, key_limbs, key_row_bytes, packed_row_bytes
from latticework.plan.instructions.walk import Site
from latticework.plan.key_schedule.key_eviction import Residency, RowTraffic, follow
from latticework.plan.key_schedule.key_uses import Called, Either, KeyStep, KnownTripCounts, Loop, Node, key_order
from latticework.plan.key_schedule.key_windows import rows_of_limb, visits_of
from latticework.plan.key_schedule.keys_over_time import Trace
from latticework.plan.schema.schema import Plan

FIRST_PART = 16  # of all keys, that is tried first for a run that reads each once; then twice as much
READ_AGAIN = 1.05  # times all rows that are used: reading some again costs less than memory for them
WINDOWS_AT_ONCE = 2  # the one that is computed with, and the next


class ReadPrices(Protocol):
    """The prices of a machine."""

    row_seconds: float

    def seconds(self, site: Site) -> float:
        """Return the seconds of an instruction, once its keys are there."""


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest budget under which a plan runs, and the instruction that sets it.

    overlapped  the smallest under which one window is read while another is computed with
    line        location of the instruction, or of the call that it is run by
    """

    bytes: int
    overlapped: int
    op: str
    line: int


@dataclass(frozen=True)
class KeySchedule:
    """The keys of a run under a budget.

    budget_bytes  for keys;  row_bytes  of one row;  slots  rows that the budget is
    windows       of the run, of long loops those of the iterations that were followed
    buffer_bytes  of the budget, into which packed rows are read
    is_exact      every iteration was followed, no branch was guessed, and every next use is known in time: loads are
                  then those of a run of a server that has just started
    """

    budget_bytes: int
    row_bytes: int
    buffer_bytes: int
    slots: int
    smallest: Smallest | None
    residency: Residency
    windows: int
    is_exact: bool

    @property
    def loads(self) -> int:
        """Rows that are read."""
        return round(self.residency.total.loaded)

    @property
    def loaded_bytes(self) -> int:
        """Bytes in memory of the rows that are read, each time."""
        return self.loads * self.row_bytes

    @property
    def slots_used(self) -> int:
        """Rows that are in memory at the worst moment."""
        return self.residency.peak_rows

    @property
    def peak_bytes(self) -> int:
        """Bytes of the rows that are in memory at the worst moment, and of the buffers."""
        return self.slots_used * self.row_bytes + self.buffer_bytes

    @property
    def all_bytes(self) -> int:
        """Bytes of all different rows that are read: more than these are of no use."""
        return self.residency.different_rows * self.row_bytes

    @property
    def seconds(self) -> float:
        """Seconds of the run, waits for rows included."""
        return self.residency.seconds

    @property
    def total(self) -> RowTraffic:
        """Totals of the reading of all instructions."""
        return self.residency.total


def schedule(
    plan: Plan,
    budget_bytes: int,
    cost: ReadPrices,
    trip_counts: KnownTripCounts,
    *,
    readers: int = 1,
    at_once: Callable[[int], int] | None = None,
    trace: Trace | None = None,
) -> KeySchedule:
    """Predict what a run reads of its keys with `budget_bytes` for them.

    trip_counts  trip counts of loops;  readers  0: rows are read when they are needed
    at_once  rows of a plaintext -> how many of them a block map multiplies with in one pass; None: all of an input
    raises   BudgetError where one window does not fit
    """
    return schedule_of(
        key_order(plan, plan.chain, trip_counts, at_once), plan, budget_bytes, cost, readers=readers, trace=trace
    )


def schedule_of(
    order: Sequence[Node],
    plan: Plan,
    budget_bytes: int,
    cost: ReadPrices,
    *,
    readers: int = 1,
    is_later: bool = False,
    most_windows: int | None = None,
    trace: Trace | None = None,
) -> KeySchedule:
    """The same of a run that does things in this order.

    is_later      a run has been before; what it has left in memory is about right
    most_windows  of long loops, that are followed one by one; as many as usual if None
    trace         is told what is in memory over the time of the run
    """
    least, row_bytes = smallest_budget(order, plan, readers=readers), key_row_bytes(plan.chain)
    require_room(plan, budget_bytes, least)
    buffers = 0 if least is None else buffer_bytes(plan, readers)
    slots = (budget_bytes - buffers) // row_bytes
    visits = visits_of(order, plan.chain, slots, cost.seconds, most_windows)
    residency = follow(visits, slots, cost.row_seconds, readers=readers, is_later=is_later, trace=trace)
    is_exact = visits.is_exact and residency.is_foretold and not is_later
    return KeySchedule(budget_bytes, row_bytes, buffers, slots, least, residency, len(visits.visits), is_exact)


def buffer_bytes(plan: Plan, readers: int) -> int:
    """Bytes into which rows are read as they are stored: one row for each reader, and for the run itself."""
    limbs = {limb for key in plan.keys for limb in key_limbs(plan.chain, key)}
    return (readers + 1) * max(packed_row_bytes(plan.chain, limb) for limb in limbs)


def whole_key_bytes(plan: Plan) -> int:
    """Bytes of all keys of a plan in memory."""
    rows = sum(len(key_digits(plan.chain, key)) * len(key_limbs(plan.chain, key)) for key in plan.keys)
    return rows * key_row_bytes(plan.chain)


def smallest_budget(order: Sequence[Node], plan: Plan, *, readers: int = 1) -> Smallest | None:
    """Return what a run needs at least: a window of one limb of the largest pass; None where it reads no key."""
    passes = ((rows_of_limb(one), step, line) for step, line in _steps(order, None) for one in step.passes)
    rows, step, line = max(passes, key=lambda item: item[0], default=(0, None, None))
    if step is None:
        return None
    buffers, size_bytes = buffer_bytes(plan, readers), rows * key_row_bytes(plan.chain)
    at = step.site.instruction.location if line is None else line
    return Smallest(size_bytes + buffers, WINDOWS_AT_ONCE * size_bytes + buffers, step.site.record.name, at)


def require_room(plan: Plan, budget_bytes: int, least: Smallest | None) -> None:
    """Raise BudgetError unless the largest window fits."""
    if budget_bytes < (0 if least is None else least.bytes):
        assert least is not None, "a budget is at least 0"
        raise BudgetError(
            f"program {plan.client.name}: {size(budget_bytes)} for evaluation keys are too little: {least.op} needs "
            f"{size(least.bytes)} at once ({least.bytes} bytes), and {size(least.overlapped)} to read while it "
            f"computes; give at least that much",
            at=plan.locations[least.line],
        )


class _Free:
    """Prices of nothing: what is read when needed is the same whatever it costs."""

    row_seconds = 0.0

    def seconds(self, site: Site) -> float:
        """Return none."""
        return 0.0


def budget_to_read_once(plan: Plan, trip_counts: KnownTripCounts) -> int | None:
    """Bytes for keys with which a run reads about every row once, which is what a process of one run needs: it then
    spends nothing on rows that it uses late, nor on memory that the system has to clear.

    returns  None where all keys take no more, or there are none
    """
    whole, order = whole_key_bytes(plan), key_order(plan, plan.chain, trip_counts)
    if not whole:
        return None
    least = schedule_of(order, plan, 2 * whole, _Free(), readers=1).loaded_bytes
    budget = whole // FIRST_PART
    while budget <= whole // 2:
        try:
            if schedule_of(order, plan, budget, _Free(), readers=1).loaded_bytes <= READ_AGAIN * least:
                return budget
        except BudgetError:  # one instruction needs more at once
            pass
        budget *= 2
    return None


def _steps(order: Sequence[Node], line: int | None) -> Iterator[tuple[KeyStep, int | None]]:
    """Every instruction that reads keys once, with the location of the call that it is in."""
    seen: set[int] = set()

    def inside(nodes: Sequence[Node], line: int | None) -> Iterator[tuple[KeyStep, int | None]]:
        if id(nodes) in seen:
            return
        seen.add(id(nodes))
        for node in nodes:
            if isinstance(node, KeyStep):
                yield node, line
            elif isinstance(node, Loop):
                yield from inside(node.body, line)
            elif isinstance(node, Called):
                yield from inside(node.body, node.location if line is None else line)
            elif isinstance(node, Either):
                for branch in node.branches:
                    yield from inside(branch, line)

    return inside(order, line)
