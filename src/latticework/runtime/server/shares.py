"""Shares of keys and of encoded constants in the one budget of memory of a server.

Where none is given, and what it would take is more than the machine or the device has left, that is its budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol

from latticework.errors import BudgetError
from latticework.errors.shown import size
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.kept_constants import all_bytes, encodings, least_uses_kept, uses_of_constants
from latticework.plan.analysis.memory import peak_value_bytes
from latticework.plan.analysis.memory_plan import (
    ValueMemory,
    at_once_with,
    constants_beside_keys,
    lifts_late,
    plan_memory,
)
from latticework.plan.analysis.on_device import (
    CONVERSION_BYTES,
    in_pieces,
    of_pieces,
    queue_bytes,
    recorded_runs,
    resident_key_bytes,
)
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.instructions.value_shapes import row_bytes
from latticework.plan.key_schedule.schedule import whole_key_bytes
from latticework.plan.schema.amounts import parse_bytes
from latticework.plan.schema.schema import Plan
from latticework.values.inputs.machine_memory import free_bytes

DEFAULT_CONSTANTS = 4 * 10**9  # bytes, where nothing is said
QUEUES = 62  # of a device, at most: runs beyond these wait for each other
TAKEN = 9, 10  # of what the machine has left, at most, where nothing is said


class Left(Protocol):
    """Bytes that a device has left; is_trimmed: once it has taken back what is idle."""

    def __call__(self, *, is_trimmed: bool) -> int:
        """Return them."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Bytes for encoded constants, and for rows of keys that stay in their file; keys None: all are in memory.

    runs        whose values there is room for at the same time; None: no budget for all was given
    recordings  bytes that the recording of a run may hold, and how many there may be; None: no bounds
    lifts_late  whether sums of products transform coefficients as they go, for which `runs` is right
    uses        of each constant in a run, 0 where no room is left for it whole; (): nobody looked, as there is room
    """

    constants: int
    keys: int | None
    runs: int | None
    recordings: tuple[int, int] | None = None
    lifts_late: bool = True
    uses: tuple[float, ...] = ()

    def for_each_of(self, count: int) -> Shares:
        """The share of each of so many executors that have keys in a file, and encoded constants, of their own."""
        keys = None if self.keys is None else self.keys // count
        return replace(self, constants=self.constants // count, keys=keys)


def shares_of_files(
    plan: Plan,
    memory: str | int | None,
    key_memory: str | int | None,
    readers: int,
    runs: int,
    *,
    on_device: bool = False,
    left: Left | None = None,
    records: bool = False,
) -> Shares:
    """Share out memory of a server whose keys are in a file: all are read if that leaves enough for the rest.

    memory      for all that the server holds; None: all keys, and DEFAULT_CONSTANTS, as far as the machine has memory
    key_memory  no more than this for keys; None: no such bound
    runs        for which there must be room at the same time
    on_device   memory and key_memory are those of a device;  records: where runs are recorded
    left        what the device has left; None: nobody knows
    raises      BudgetError for budgets under which the program does not run
    """
    most, whole = None if key_memory is None else parse_bytes(key_memory, "key_memory"), whole_key_bytes(plan)
    budget = None if memory is None else parse_bytes(memory)
    if budget is None:
        asked = whole if most is None else min(most, whole)
        budget = _what_is_left_there(plan, asked, left) if on_device else _what_is_left(plan, asked)
    if budget is None:
        return Shares(DEFAULT_CONSTANTS, most, None, lifts_late=lifts_late(runs))
    with _telling(left if on_device else None, unasked=memory is None):
        made = plan_memory(
            plan, budget, CostModel.load(), readers=readers, most_for_keys=most, runs=runs, on_device=on_device
        )
    constants = made.constants_bytes
    if on_device:
        whole, constants = resident_key_bytes(plan, whole), of_pieces(constants)
    if most is None and made.keys.budget_bytes >= whole:
        room = made.runs_beside(whole)
        return _of_runs(plan, constants, runs, room, made.left_beside(whole), records=records)
    return Shares(constants, made.key_bytes, made.most_runs, lifts_late=lifts_late(runs), uses=_uses(plan, constants))


def shares_of_memory(
    plan: Plan,
    memory: str | int | None,
    key_bytes: int,
    runs: int,
    *,
    on_device: bool = False,
    left: Left | None = None,
    records: bool = False,
) -> Shares:
    """Share out memory of a server whose keys are in memory already, `key_bytes` of them; a device has them as well."""
    budget = None if memory is None else parse_bytes(memory)
    if budget is None:
        here = partial(_what_is_left, plan, key_bytes, resident=key_bytes)
        budget = _what_is_left_there(plan, key_bytes, left) if on_device else here()
    if budget is None:
        return Shares(DEFAULT_CONSTANTS, None, None, lifts_late=lifts_late(runs))
    key_bytes = resident_key_bytes(plan, key_bytes) if on_device else key_bytes
    with _telling(left if on_device else None, unasked=memory is None):
        constants, most, beside = constants_beside_keys(
            plan, budget, CostModel.load(), key_bytes, runs, on_device=on_device
        )
    constants = of_pieces(constants) if on_device else constants
    return _of_runs(plan, constants, runs, most, beside, records=records)


def _what_is_left(plan: Plan, key_bytes: int, *, resident: int = 0) -> int | None:
    """The budget of a server that was given none; None where it needs none, for the machine has memory enough.

    key_bytes  that it takes for keys, of which so many `resident` are in memory already
    """
    of, parts = TAKEN
    left, trips = free_bytes() // parts * of + resident, TripCounts(plan)
    at_once = at_once_with(DEFAULT_CONSTANTS, row_bytes(plan.chain))
    if key_bytes + DEFAULT_CONSTANTS + peak_value_bytes(plan, trips, at_once) <= left:
        return None  # whatever there is of constants, which takes longer to find
    known = encodings(plan, trips, CostModel.load())
    constants = min(DEFAULT_CONSTANTS, sum(all_bytes(known)))
    return left if key_bytes + constants + ValueMemory(plan, trips, known)(constants).bytes(1) > left else None


def _what_is_left_there(plan: Plan, key_bytes: int, left: Left | None) -> int | None:
    """The budget of a server on a device that was given none; None where as many runs as there are queues fit.

    A run may be recorded, which takes twice what its values do.
    """
    if left is None:
        return None
    of, parts = TAKEN
    trips = TripCounts(plan)
    known = encodings(plan, trips, CostModel.load())
    constants = min(DEFAULT_CONSTANTS, sum(all_bytes(known)))
    values = in_pieces(2 * ValueMemory(plan, trips, known)(constants).bytes(1)) + queue_bytes(plan.chain)
    needed = resident_key_bytes(plan, key_bytes) + in_pieces(constants) + CONVERSION_BYTES + QUEUES * values
    if needed <= left(is_trimmed=False) // parts * of:
        return None
    budget = left(is_trimmed=True) // parts * of
    return budget if needed > budget else None


@contextmanager
def _telling(there: Left | None, *, unasked: bool) -> Iterator[None]:
    """Say where a budget that is too small comes from, if nobody gave it; there: what a device has left."""
    try:
        yield
    except BudgetError as error:
        if not unasked:
            raise
        of, parts = TAKEN
        whose, left = ("this machine", free_bytes()) if there is None else ("the device", there(is_trimmed=False))
        raise BudgetError(
            f"{error.message}; no memory= was given, so it is {of}/{parts} of what {whose} has left, {size(left)}"
            f"{', with the keys that are there already' if there is None else ''}",
            at=error.at,
        ) from None


def _of_runs(plan: Plan, constants: int, asked: int, most: int, left: int, *, records: bool) -> Shares:
    if not records:
        return Shares(constants, None, most, lifts_late=lifts_late(asked), uses=_uses(plan, constants))
    runs, each = recorded_runs(plan, asked, most, left)
    return Shares(constants, None, runs, (each, runs), uses=_uses(plan, constants))


def _uses(plan: Plan, constants: int) -> tuple[float, ...]:
    known = encodings(plan, TripCounts(plan), CostModel.load())
    return tuple(uses_of_constants(plan, known, least_uses_kept(known, constants)))
