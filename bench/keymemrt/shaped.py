"""Networks too large to be run here: real plans and what a run reads of its keys, with computing time that is modelled.

No key is made and nothing is encrypted: counts are those of the plan's manifest and of the schedule of reads, which
runs of the core follow to the row; times are from the cost table.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import latticework as lw
from bench.keymemrt.others import Held, Trace, balanced, least_recent, low_memory, trace, unseeded_bytes
from bench.keymemrt.residual import alexnet, bottleneck_network, pictures, residual_network
from bench.keymemrt.summary import PEAK, RATIO
from bench.rows import Row
from latticework.compiler.keys import resident_bytes
from latticework.errors.shown import size
from latticework.plan.analysis.memory_plan import MachinePrices
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.instructions.value_shapes import key_row_bytes
from latticework.plan.key_schedule.key_uses import key_order
from latticework.plan.key_schedule.schedule import KeySchedule, schedule_of, smallest_budget
from latticework.plan.schema.schema import Plan

MODELLED = "modelled: no key is made, nothing is run"
PLANNED_SECONDS = 10.0
Program = Callable[..., Any]
# Layers, and the blocks of each stage; ResNet-1 is taken as the smallest, of one block.
RESIDUAL = {1: (1,), 8: (1,) * 3, 10: (1,) * 4, 18: (2,) * 4, 20: (3,) * 3, 32: (5,) * 3, 34: (3, 4, 6, 3),
            44: (7,) * 3, 56: (9,) * 3}  # fmt: skip
SHAPED: dict[str, tuple[Callable[[], Program], str]] = {
    **{
        f"resnet-{layers}": (
            partial(residual_network, blocks),
            f"stages of {', '.join(map(str, blocks))} blocks with 16 to {8 << len(blocks)} channels",
        )
        for layers, blocks in RESIDUAL.items()
    },
    "alexnet": (alexnet, "5 convolutions of 24 to 96 channels, 3 dense layers of 256"),
    "resnet-50": (
        lambda: bottleneck_network((3, 4, 6, 3), 8), "stages of 3, 4, 6 and 3 bottlenecks with 32 to 256 channels",
    ),
}  # fmt: skip


def planned(network: str, folder: Path) -> tuple[Plan, float | None]:
    """The plan of a network, and the seconds that compiling took; None where it was in the folder."""
    file = folder / f"{network}.lwplan"
    if file.exists():
        return read_plan(file), None
    inputs, program = pictures(16), SHAPED[network][0]()
    started = time.perf_counter()
    model = lw.compile(program, calibrate=inputs, precision_bits=1, bootstrap_set="A14")
    seconds = time.perf_counter() - started
    folder.mkdir(parents=True, exist_ok=True)
    write_plan(model.plan, file)
    return model.plan, seconds


def shaped_rows(network: str, folder: Path | None, readers: int, byte_seconds: float) -> Iterator[Row]:
    """What a plan needs of keys, what a run reads under some budgets, and what others come to on the same plan.

    byte_seconds  of a plain read
    """
    with tempfile.TemporaryDirectory() as passing:
        plan, compiling = planned(network, folder or Path(passing))
    manifest, unseeded = plan.client.manifest, unseeded_bytes(plan)
    case = f"{network}-shaped, {{}}, modelled"
    details = {"network": f"pictures of 32 x 32, {SHAPED[network][1]}", "bootstrap set": "A14"}

    def row(way: str, metric: str, unit: str, ours: float, target: float | None = None) -> Row:
        measured = target is not None
        return Row(case.format(way), metric, unit, ours, None, None, target, "lower", measured, MODELLED, details)

    if compiling is not None:
        yield row("plan", "compiled", "s", compiling)
    yield row("plan", "keys", "", len(plan.keys))
    yield row("plan", "keys stored", "MB", manifest.total_stored_bytes / 1e6)
    yield row("all in memory", PEAK, "MB", manifest.total_resident_bytes / 1e6)
    yield row("unseeded at the top", PEAK, "MB", unseeded / 1e6)

    prices = MachinePrices(plan, CostModel.load(), TripCounts(plan, None))
    run = trace(plan)
    yield row("all in memory", "run", "s", run.computing)
    least = _least(plan, readers)
    budgets = {f"1/{part}": unseeded // part for part in (10, 20) if unseeded // part > least} | {"least": least}
    for word, amount in budgets.items():
        started, trips = time.perf_counter(), TripCounts(plan, None)
        found = MachinePrices(plan, CostModel.load(), trips)
        made = schedule_of(key_order(plan, plan.chain, trips), plan, amount, found, readers=readers)
        seconds = time.perf_counter() - started
        yield from _budget_rows(row, f"{size(amount)} ({word})", made, run, seconds)
    for way, held in _others(plan, run, prices, budgets, unseeded, byte_seconds).items():
        yield row(way, RATIO, "x", held.seconds / run.computing)
        yield row(way, PEAK, "MB", held.peak_bytes / 1e6)
        yield row(way, "key bytes read a run", "MB", held.loaded_bytes / 1e6)


def _budget_rows(row: Callable[..., Row], way: str, made: KeySchedule, run: Trace, seconds: float) -> Iterator[Row]:
    yield row(way, "planned", "s", seconds, PLANNED_SECONDS)
    yield row(way, PEAK, "MB", made.peak_bytes / 1e6)
    yield row(way, "rows read a run", "", made.loads)
    yield row(way, "key bytes read a run", "MB", made.loaded_bytes / 1e6)
    yield row(way, "stalled", "s", made.total.stall_seconds)
    yield row(way, RATIO, "x", (run.computing + made.total.stall_seconds) / run.computing)


def _least(plan: Plan, readers: int) -> int:
    found = smallest_budget(key_order(plan, plan.chain, TripCounts(plan, None)), plan, readers=readers)
    return 0 if found is None else found.bytes


def _others(
    plan: Plan, run: Trace, prices: MachinePrices, budgets: dict[str, int], unseeded: int, byte_seconds: float
) -> dict[str, Held]:
    key_bytes = unseeded // len(plan.keys)
    sizes = [resident_bytes(spec, plan.chain) for spec in plan.keys]
    row_seconds = prices.row_seconds / key_row_bytes(plan.chain)
    ways = {"KeyMemRT low-memory": low_memory(run, key_bytes, key_bytes * byte_seconds)}
    for amount in budgets.values():
        ahead = balanced(run, key_bytes, key_bytes * byte_seconds, amount // key_bytes)
        if ahead not in ways.values():
            ways[f"KeyMemRT balanced, {size(max(amount, ahead.peak_bytes))}"] = ahead
        ways[f"least recently used, {size(amount)}"] = least_recent(run, sizes, amount, row_seconds)
    return ways
