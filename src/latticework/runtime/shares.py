"""What a server may hold of keys and of encoded constants, from one budget for all that it holds."""

from __future__ import annotations

from dataclasses import dataclass

from latticework.analysis.memory_plan import constants_beside_keys, plan_memory
from latticework.analysis.on_device import of_pieces, recorded_runs, resident_key_bytes
from latticework.cost import CostModel
from latticework.plan.amounts import parse_bytes
from latticework.plan.schedule import whole_key_bytes
from latticework.plan.schema import Plan

DEFAULT_CONSTANTS = 4 * 10**9  # bytes, where nothing is said


@dataclass(frozen=True, slots=True)
class Shares:
    """Bytes for encoded constants, and for rows of keys that stay in their file; keys None: all are in memory.

    runs        whose values there is room for at the same time; None: no budget for all was given
    recordings  bytes that the recording of a run may hold, and how many there may be; None: no bounds
    """

    constants: int
    keys: int | None
    runs: int | None
    recordings: tuple[int, int] | None = None


def shares_of_files(
    plan: Plan,
    memory: str | int | None,
    key_memory: str | int | None,
    readers: int,
    runs: int,
    *,
    on_device: bool = False,
    records: bool = False,
) -> Shares:
    """Of a server whose keys are in a file: all are read if that leaves enough, by predicted time, for the rest.

    memory      for all that the server holds; None: all keys, and DEFAULT_CONSTANTS
    key_memory  no more than this for keys; None: no such bound
    runs        for which there must be room at the same time
    on_device   memory and key_memory are those of a device;  records: where runs are recorded
    raises      BudgetError for budgets under which the program does not run
    """
    most = None if key_memory is None else parse_bytes(key_memory, "key_memory")
    if memory is None:
        return Shares(DEFAULT_CONSTANTS, most, None)
    budget = parse_bytes(memory)
    made = plan_memory(
        plan, budget, CostModel.load(), readers=readers, most_for_keys=most, runs=runs, on_device=on_device
    )
    whole, constants = whole_key_bytes(plan), made.constants_bytes
    if on_device:
        whole, constants = resident_key_bytes(plan, whole), of_pieces(constants)
    if most is None and made.keys.budget_bytes >= whole:
        room = made.runs_beside(whole)
        return _of_runs(plan, constants, runs, room, made.left_beside(whole), records=records)
    return Shares(constants, made.key_bytes, made.most_runs)


def shares_of_memory(
    plan: Plan,
    memory: str | int | None,
    key_bytes: int,
    runs: int,
    *,
    on_device: bool = False,
    records: bool = False,
) -> Shares:
    """Of a server whose keys are in memory already, and take so many bytes; a device has them as well."""
    if memory is None:
        return Shares(DEFAULT_CONSTANTS, None, None)
    key_bytes = resident_key_bytes(plan, key_bytes) if on_device else key_bytes
    constants, most, left = constants_beside_keys(
        plan, parse_bytes(memory), CostModel.load(), key_bytes, runs, on_device=on_device
    )
    constants = of_pieces(constants) if on_device else constants
    return _of_runs(plan, constants, runs, most, left, records=records)


def _of_runs(plan: Plan, constants: int, asked: int, most: int, left: int, *, records: bool) -> Shares:
    if not records:
        return Shares(constants, None, most)
    runs, each = recorded_runs(plan, asked, most, left)
    return Shares(constants, None, runs, (each, runs))
