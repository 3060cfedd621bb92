"""Several inputs that go through a program together: who they are, how many at a time, what is reported of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from latticework.errors import UserError
from latticework.errors.whole_numbers import whole_number
from latticework.plan.analysis.memory import peak_value_bytes
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.schema.schema import ClientSpec, Plan
from latticework.runtime.events import Event
from latticework.runtime.exchange.encrypted import Encrypted
from latticework.runtime.server.run_progress import RunProgress
from latticework.values.inputs.machine_memory import free_bytes


def check_members(spec: ClientSpec, members: Any, at_once: int | None) -> None:
    """UserError for what is no list of members, or no number of them."""
    who = f"program {spec.name}, run_many"
    if isinstance(members, Encrypted | str | bytes) or not isinstance(members, Sequence):
        raise UserError(f"{who} takes a list of encrypted inputs, got {type(members).__name__}; give [inputs, ...]")
    if not members:
        raise UserError(f"{who} was given no inputs: give it a list of at least one")
    for number, parts in enumerate(members):
        if not isinstance(parts, Encrypted | list | tuple):
            raise UserError(
                f"{who}: member {number}, counted from 0, is {type(parts).__name__}; give encrypted inputs, or a list "
                "of their parts"
            )
    if at_once is not None and (whole_number(at_once) or 0) < 1:
        raise UserError(f"{who}: at_once={at_once!r} members; give a whole number of at least 1, or leave it out")


@contextmanager
def naming(member: int) -> Iterator[None]:
    """Errors that say whose they are."""
    try:
        yield
    except UserError as error:
        raise type(error)(f"run_many, member {member}, counted from 0: {error.message}", at=error.at) from None


def members_at_once(plan: Plan, free: int | None = None) -> int:
    """The number of members that memory suffices for: values of each at its worst moment, in half of what is free.

    free  bytes; None: of the machine
    """
    return max(1, (free_bytes() if free is None else free) // 2 // max(1, peak_value_bytes(plan, TripCounts(plan))))


class MembersProgress:
    """Progress of all runs together, whose instructions are done in any order."""

    def __init__(self, plan: Plan, runs: Sequence[Sequence[Any]]) -> None:
        integers = [[value if isinstance(value, int) else None for value in inputs] for inputs in runs]
        self._progress = [RunProgress(plan, known) for known in integers]
        self._total = sum(progress.total for progress in self._progress)
        self._done = [0] * len(runs)

    def event(self, run: int, op: str, block: int, instruction: int, level: int, *clock_ns: int) -> Event:
        """Make the event after an instruction of a run."""
        start, end = (t * 1e-9 for t in clock_ns)
        at = self._progress[run].note(block, instruction)
        self._done[run] = at.done
        place = at.iteration, at.trips, at.bootstraps
        return Event("evaluate", op, sum(self._done), self._total, level, start, end, *place)
