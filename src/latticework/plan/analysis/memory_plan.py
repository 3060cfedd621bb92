"""The split of a server's memory budget among values, tables, constants and keys, and the run that it predicts.

Values and tables are what they are. The rest is shared out between constants and keys so that a run is predicted to be
the quickest: a few amounts for constants are tried, and keys get what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from latticework.errors import BudgetError
from latticework.errors.shown import size
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.kept_constants import (
    Encoding,
    KeptConstants,
    all_bytes,
    encodings,
    keep_constants,
    often_used_bytes,
)
from latticework.plan.analysis.memory import peak_value_bytes
from latticework.plan.analysis.on_device import CONVERSION_BYTES, baby_rows, in_pieces, queue_bytes
from latticework.plan.analysis.step_prices import StepPrices
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.instructions.signatures import SIGNATURES
from latticework.plan.instructions.value_shapes import WORD_BYTES, row_bytes
from latticework.plan.instructions.walk import Site
from latticework.plan.key_schedule.key_uses import Node, key_order
from latticework.plan.key_schedule.keys_over_time import Trace
from latticework.plan.key_schedule.schedule import KeySchedule, Smallest, require_room, schedule_of, smallest_budget
from latticework.plan.schema.schema import Plan

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of all rounded coefficients, and then of all plaintexts, that are tried
ENOUGH = 1 << 62  # bytes: for all that a run has a use for
OTHER_TABLES = 4  # rows for transforms of slots and what else depends on the ring degree alone


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """A budget, shared out.

    runs       at the same time, that fit in any case
    of_runs    what any number holds: ciphertexts, plaintexts that are in use and not kept, and scratch
    tables     of the transforms
    constants  budget for those that are kept, and what it keeps;  all_constants  bytes of all of them
    keys       what a run reads of them with what is left
    smallest   of all budgets under which the plan runs;  least: the instruction that sets the part of it for keys
    resident_seconds  of a run with all keys and constants in memory
    """

    budget_bytes: int
    runs: int
    of_runs: RunValues
    tables: int
    constants_bytes: int
    kept: KeptConstants
    all_constants: int
    keys: KeySchedule
    smallest: int
    least: Smallest | None
    resident_seconds: float

    @property
    def values(self) -> int:
        """Bytes of values of the runs."""
        return self.of_runs.bytes(self.runs)

    @property
    def key_bytes(self) -> int:
        """Bytes for keys: no more than they can use."""
        return min(self.keys.budget_bytes, self.keys.all_bytes + self.keys.buffer_bytes)

    @property
    def most_runs(self) -> int:
        """Number of runs that fit at the same time in what keys leave over."""
        return self.runs_beside(self.key_bytes)

    def runs_beside(self, key_bytes: int) -> int:
        """Return how many runs fit at the same time with `key_bytes` for keys."""
        return self.of_runs.most(self.left_beside(key_bytes))

    def left_beside(self, key_bytes: int) -> int:
        """Bytes for the values of all runs, with so much for keys."""
        return self.budget_bytes - self.tables - self.constants_bytes - key_bytes

    @property
    def peak_bytes(self) -> int:
        """Bytes at the worst moment of a run."""
        return self.values + self.tables + self.kept.bytes + self.keys.peak_bytes

    @property
    def seconds(self) -> float:
        """Seconds of a run whose constants were seen before, and whose keys were not."""
        return self.keys.seconds + self.kept.seconds


@dataclass(frozen=True, slots=True)
class BudgetPoint:
    """A budget shared out; and the keys of a later run, which finds in memory what the one before left there."""

    shares: MemoryPlan
    later: KeySchedule

    @property
    def later_seconds(self) -> float:
        """Seconds of a later run."""
        return self.later.seconds + self.shares.kept.seconds


class MachinePrices:
    """Prices of instructions and key rows by a cost table, as `plan.key_schedule.schedule.ReadPrices` asks for them.

    Instructions are priced as estimates of runs do, bootstraps as a whole; encodings are left out.
    """

    def __init__(self, plan: Plan, model: CostModel, trip_counts: TripCounts) -> None:
        self.row_seconds = model.unit_seconds("key_row", plan.chain.ring_degree)
        steps = StepPrices(plan, trip_counts, model)
        steps.follow()
        self._seconds = {
            (step.block, step.index): step.seconds / step.trips
            for step in steps.steps
            if step.trips and not step.is_encoding
        }

    def seconds(self, site: Site) -> float:
        """Return the seconds of one run of an instruction; 0 for a branch that estimates do not follow."""
        return self._seconds.get((site.block, site.index), 0.0)


@dataclass(frozen=True, slots=True)
class RunValues:
    """Bytes of values of several runs at the worst moment of each.

    alone   ciphertexts and scratch of one run;  beside  plaintexts in use, of one run
    unkept  all plaintexts that are not kept: one is in memory once, whatever runs use it
    """

    alone: int
    beside: int
    unkept: int

    def bytes(self, runs: int) -> int:
        """Return the bytes of `runs` runs at the same time."""
        return runs * self.alone + min(runs * self.beside, self.unkept)

    def most(self, budget_bytes: int) -> int:
        """Return how many runs fit into `budget_bytes`."""
        return max(budget_bytes // max(1, self.alone + self.beside), (budget_bytes - self.unkept) // max(1, self.alone))


class ValueMemory:
    """Bytes of values at the worst moment, by what is for constants.

    Plaintexts in use are those that are kept, or others on top of them.
    """

    def __init__(
        self,
        plan: Plan,
        trip_counts: TripCounts,
        encodings: Sequence[Encoding],
        *,
        on_device: bool = False,
        lifts_late: bool = False,
    ) -> None:
        self.on_device, self.lifts_late = on_device, lifts_late
        self.plan = plan
        self.trips = trip_counts
        self.encodings = encodings
        self.whole = all_bytes(encodings)[1]
        self.alone = self.peak()
        self.has_maps = any(SIGNATURES[instruction.op].has_map for _, _, instruction in plan.walk())
        self._with_plaintexts: dict[int, int] = {}
        self._kept: dict[int, KeptConstants] = {}

    def __call__(self, constants: int) -> RunValues:
        """Return the values of runs that have `constants` bytes for constants."""
        beside = self.with_plaintexts(constants if self.has_maps else 0) - self.alone
        return RunValues(self.alone, beside, self.whole - self.keep_constants(constants).whole_bytes)

    def keep_constants(self, constants: int) -> KeptConstants:
        """The constants that a server keeps in `constants` bytes."""
        if constants not in self._kept:
            self._kept[constants] = keep_constants(self.encodings, constants)
        return self._kept[constants]

    def with_plaintexts(self, constants: int) -> int:
        """Those in use counted as if none was kept; how many of a block map are depends on what there is for them."""
        if constants not in self._with_plaintexts:
            at_once = at_once_with(constants, row_bytes(self.plan.chain))
            self._with_plaintexts[constants] = self.peak(at_once)
        return self._with_plaintexts[constants]

    def peak(self, at_once: Callable[[int], int] | None = None) -> int:
        """Return the peak bytes of one run, with plaintexts as `peak_value_bytes` takes them."""
        if not self.on_device:
            return peak_value_bytes(self.plan, self.trips, at_once, lifts_late=self.lifts_late)
        return in_pieces(peak_value_bytes(self.plan, self.trips, at_once, baby_rows)) + queue_bytes(self.plan.chain)


def plan_memory(
    plan: Plan,
    budget_bytes: int,
    model: CostModel,
    trips: Mapping[str, int] | None = None,
    *,
    readers: int = 1,
    most_for_keys: int | None = None,
    runs: int = 1,
    on_device: bool = False,
) -> MemoryPlan:
    """Share a budget out.

    trips    as of `analysis.estimate.estimate`;  readers  0: keys are read when they are needed
    most_for_keys  of the budget; None: what is left
    runs     at the same time, that have to fit
    on_device  the budget is for the memory of a device
    raises   BudgetError for one that is too small, with the smallest that is not
    """
    server = MemoryPlanner(plan, model, trips, readers=readers, runs=runs, on_device=on_device)
    return server.share(budget_bytes, most_for_keys)


def constants_beside_keys(
    plan: Plan, budget_bytes: int, model: CostModel, key_bytes: int, runs: int = 1, *, on_device: bool = False
) -> tuple[int, int, int]:
    """Return what a budget leaves where all keys are in memory: bytes for constants, how many runs fit at the same
    time, no fewer than `runs`, and bytes for the values of all of them.

    raises  BudgetError for a budget that is too small, with the smallest that is not
    """
    server = MemoryPlanner(plan, model, readers=0, runs=runs, on_device=on_device)
    amounts = [c for c in server.amounts() if server.beside_keys(c) + key_bytes <= budget_bytes]
    if not amounts:
        least = server.beside_keys(0) + key_bytes
        raise BudgetError(
            f"program {plan.client.name}: memory={size(budget_bytes)} is too little: it needs {size(server.values(0))} "
            f"for {server.whose}, {size(server.tables)} for {server.tabled}, {size(key_bytes)} for the keys, which are "
            f"all in memory; give at least {size(least)} ({least} bytes), or leave keys in their file with Server.load"
        )
    most = max(amounts)
    # What is kept, and what is not, depends on the amount; beyond the largest that was tried all of the rest is for it.
    spare = budget_bytes - key_bytes - server.beside_keys(most)
    constants = most + spare if server.values(most + spare) <= server.values(most) else most
    left = budget_bytes - server.tables - key_bytes - min(constants, server.all_constants)
    return constants, server.value_memory(constants).most(left), left


class MemoryPlanner:
    """Shares budgets out for one server; holds what does not depend on how.

    runs      at the same time, that have to fit
    on_device the memory is that of a device
    tables    bytes, of a device with what is on its way there
    least     the instruction that sets the smallest budget for keys
    all_constants  bytes;  resident_seconds  of a run with all of them and all keys in memory
    """

    def __init__(
        self,
        plan: Plan,
        model: CostModel,
        trips: Mapping[str, int] | None = None,
        *,
        readers: int = 1,
        runs: int = 1,
        on_device: bool = False,
    ) -> None:
        self.runs = runs
        self.whose = "values" if runs == 1 else f"values of {runs} runs"
        self.plan = plan
        self.trips = trips
        self.readers = readers
        self.prices = MachinePrices(plan, model, TripCounts(plan, trips))
        self.encodings: Sequence[Encoding] = encodings(plan, TripCounts(plan, trips), model, on_device=on_device)
        self.rounded, self.whole = all_bytes(self.encodings)
        self.all_constants = self.rounded + self.whole
        chain = plan.chain
        rows = chain.num_primes + OTHER_TABLES
        self.tables, self.tabled = rows * chain.ring_degree * WORD_BYTES, "tables"
        if on_device:  # inputs and keys come on another queue
            self.tables = 2 * self.tables + CONVERSION_BYTES + (1 + readers) * queue_bytes(chain)
            self.tabled = "tables and what is on its way"
        self.row = row_bytes(chain)
        self._orders: dict[int, Sequence[Node]] = {}
        self.least: Smallest | None = smallest_budget(self.order(0), plan, readers=readers)
        self.value_memory = ValueMemory(
            plan,
            TripCounts(plan, trips),
            self.encodings,
            on_device=on_device,
            lifts_late=lifts_late(runs, on_device=on_device),
        )
        self.resident_seconds = self.keys(ENOUGH, self.all_constants).residency.computing

    def share(self, budget_bytes: int, most_for_keys: int | None = None, most_windows: int | None = None) -> MemoryPlan:
        """Share a budget out by the quickest of the splits that are tried.

        most_for_keys  of the budget; None: what is left
        most_windows   as of `plan.schedule.schedule_of`
        raises         BudgetError for one that is too small, with the smallest that is not
        """
        if most_for_keys is not None:
            require_room(self.plan, most_for_keys, self.least)
        best: MemoryPlan | None = None
        for constants in sorted(self.amounts(), reverse=True):
            least_seconds = self.resident_seconds + self.value_memory.keep_constants(constants).seconds
            if best is not None and least_seconds > best.seconds * (1 + 1e-6):
                continue  # however little it waits for keys
            candidate = self.with_constants(budget_bytes, constants, most_for_keys, most_windows)
            if candidate is not None and (best is None or candidate.seconds <= best.seconds):
                best = candidate
        return self.refuse(budget_bytes) if best is None else best

    def curve(self, points: int, most_windows: int | None = None) -> tuple[BudgetPoint, ...]:
        """Share out `points` budgets, in equal ratios from the smallest to all that a run has a use for."""
        least, most = self.smallest(), self.share(ENOUGH, None, most_windows).peak_bytes
        ratios = [number / (points - 1) for number in range(points)]
        budgets = sorted({min(max(round(least * (most / least) ** ratio), least), most) for ratio in ratios})
        return tuple(self.point(self.share(budget, None, most_windows), most_windows) for budget in budgets)

    def point(self, split: MemoryPlan, most_windows: int | None = None) -> BudgetPoint:
        """Return a split of a budget together with what later runs read under it."""
        keys = split.keys.budget_bytes
        return BudgetPoint(split, self.keys(keys, split.constants_bytes, is_later=True, most_windows=most_windows))

    def trace(self, split: MemoryPlan) -> Trace:
        """Return which rows of keys are in memory over the time of a run."""
        trace = Trace()
        self.keys(split.keys.budget_bytes, split.constants_bytes, trace=trace)
        return trace

    def amounts(self) -> Iterator[int]:
        """Budgets for constants that are worth a try."""
        yield from sorted({int(share * self.rounded) for share in SHARES})
        often = {whole for _, whole in often_used_bytes(self.encodings, len(SHARES))}
        wholes = often | {int(share * self.whole) for share in SHARES[1:]}
        yield from sorted({self.rounded + whole for whole in wholes})

    def keys(
        self,
        budget_bytes: int,
        constants: int,
        *,
        is_later: bool = False,
        most_windows: int | None = None,
        trace: Trace | None = None,
    ) -> KeySchedule:
        """Schedule keys under their share of the budget."""
        return schedule_of(
            self.order(constants if self.value_memory.has_maps else 0), self.plan, budget_bytes, self.prices,
            readers=self.readers, is_later=is_later, most_windows=most_windows, trace=trace,
        )  # fmt: skip

    def order(self, constants: int) -> Sequence[Node]:
        """Return the uses of keys in the order of a run. Bytes for constants decide about the passes of block maps."""
        if constants not in self._orders:
            known, at_once = TripCounts(self.plan, self.trips), at_once_with(constants, self.row)
            self._orders[constants] = key_order(self.plan, self.plan.chain, known, at_once)
        return self._orders[constants]

    def values(self, constants: int) -> int:
        """Return the bytes of all runs, with `constants` bytes for constants."""
        return self.value_memory(constants).bytes(self.runs)

    def beside_keys(self, constants: int) -> int:
        """Return the bytes of all but keys, with `constants` bytes for constants."""
        return self.values(constants) + self.tables + constants

    def with_constants(
        self, budget_bytes: int, constants: int, most_for_keys: int | None, most_windows: int | None
    ) -> MemoryPlan | None:
        """Split a budget with `constants` bytes for constants; None where keys do not get enough."""
        in_memory = self.value_memory.keep_constants(constants)
        left = budget_bytes - self.beside_keys(constants)
        if left < 0:
            return None
        left = left if most_for_keys is None else min(left, most_for_keys)
        try:
            keys = self.keys(left, constants, most_windows=most_windows)
        except BudgetError:
            return None
        return MemoryPlan(
            budget_bytes, self.runs, self.value_memory(constants), self.tables, constants, in_memory,
            self.all_constants, keys, self.smallest(), self.least, self.resident_seconds,
        )  # fmt: skip

    def smallest(self) -> int:
        """Return the smallest budget."""
        least = 0 if self.least is None else self.least.bytes
        return self.values(0) + self.tables + least

    def refuse(self, budget_bytes: int) -> NoReturn:
        """Say what is needed at least."""
        values, least = self.values(0), self.least
        parts = f"{size(values)} for {self.whose}, {size(self.tables)} for {self.tabled}"
        at = None
        if least is not None:
            parts += f", {size(least.bytes)} for the keys that {least.op} reads at once"
            at = self.plan.locations[least.line]
        raise BudgetError(
            f"program {self.plan.client.name}: memory={size(budget_bytes)} is too little: it needs {parts}; give at "
            f"least {size(self.smallest())} ({self.smallest()} bytes)",
            at=at,
        )


def lifts_late(runs: int, *, on_device: bool = False) -> bool:
    """Whether sums of products transform coefficients that are not kept whole as they go.

    That spares whole plaintexts of all their terms. Several runs at the same time share those instead.
    """
    return runs == 1 and not on_device


def at_once_with(constants: int, row: int) -> Callable[[int], int]:
    """Rows of a plaintext -> how many of them a block map multiplies with at a time."""
    return lambda rows: max(1, constants // (rows * row))
