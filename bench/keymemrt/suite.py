"""`latticework bench keymemrt`: the same plan with all keys in memory, and with less and less memory for them."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console

import latticework as lw
from bench.keymemrt.models import MODELS, Deployed, deploy, error_of
from bench.keymemrt.others import Held, balanced, least_recent, low_memory, trace
from bench.keymemrt.published import published
from bench.keymemrt.shaped import SHAPED, shaped_rows
from bench.keymemrt.summary import (
    ANONYMOUS,
    IN_ALL,
    PEAK,
    PROCESS,
    RATIO,
    RESIDENT,
    against_others,
    all_models,
    by_the_system,
)
from bench.keymemrt.worker import serve
from bench.processes import parts_of
from bench.rows import Row, report, show
from latticework.compiler.keys import resident_bytes
from latticework.errors import UserError
from latticework.errors.shown import size
from latticework.plan.analysis.memory_plan import MachinePrices
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import read_plan
from latticework.plan.instructions.value_shapes import key_row_bytes
from latticework.plan.key_schedule.key_uses import key_order
from latticework.plan.key_schedule.schedule import schedule_of, smallest_budget
from latticework.plan.schema.amounts import parse_bytes
from latticework.plan.schema.schema import Plan

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
LIMIT_SECONDS = 1800.0
BESIDE_MB = 150.0  # of a process, for Python, the plan and the weights
BENCH_MB = 100.0  # and for the benchmark itself
LEAST = "least"
KEYS = ("powers-of-two", "iterated")  # `Techniques.rotation_keys` beside the usual; iterated: Min-KS
SHARES = ("1/4", "1/5", "1/10", "1/20", LEAST)
# KeyMemRT's small networks take 1/1.03 to 1/1.05 of the time with 1/2.6 to 1/1.9 of the memory.
PAPER = 1 / 1.03
A14_BUDGETS = {"1GB": 1.05, "256MB": 1.10, "1/4": None, "1/10": None, "1/20": None, LEAST: None}
# By model: budgets, and by how much longer than with all keys in memory a run may take under them.
BUDGETS: dict[str, dict[str, float | None]] = {
    "mlp": {"1/4": PAPER, "1/5": None, "1/10": None, "1/20": None, LEAST: None},
    "lola": {"1/4": PAPER, "1/5": None, "1/10": None, "1/20": None, LEAST: None},
    "lenet": {"1/4": PAPER, "1/5": 1.05, "1/10": 1.15, "1/20": None, LEAST: None},
    "bootstrap-a14": A14_BUDGETS,
    "bootstraps-a14": A14_BUDGETS,
    "residual-20": {"1GB": 1.05, "1/20": 1.05, LEAST: None},
}
# By model: all that a server may hold, if nothing is said.
MEMORY = {"mlp": ["100MB"], "lola": ["125MB"], "lenet": ["750MB"], "bootstrap-a14": ["2.5GB"],
          "bootstraps-a14": ["2.5GB"], "residual-20": ["5.4GB"]}  # fmt: skip
PLANNED_SECONDS = 1.0
READ_BYTES, READS = 1 << 26, 9  # by which plain reading of a file is measured


@dataclass(frozen=True)
class Conditions:
    """How a model is run.

    cold  without the system's cache of the key file
    """

    readers: int
    threads: int
    runs: int
    cold: bool

    def options(self, key_memory: int | None) -> dict[str, Any]:
        """Of `Server.load`; None: all keys in memory."""
        keys = {} if key_memory is None else {"key_memory": key_memory, "key_readers": self.readers}
        return {"threads": self.threads, **keys}


@app.command()
def main(
    models: Annotated[str, typer.Option(help=f"by comma, of {', '.join(MODELS)}; - for none")] = "bootstrap-t12",
    modelled: Annotated[str, typer.Option(help=f"by comma, of {', '.join(SHAPED)}: planned, not run")] = "",
    budgets: Annotated[str, typer.Option(help="by comma: amounts, fractions of unseeded bytes, or least")] = "",
    readers: Annotated[int, typer.Option(help="threads that read ahead")] = 1,
    threads: Annotated[int, typer.Option(help="that compute; 0: one per core")] = 1,
    runs: Annotated[int, typer.Option(help="of each, after one that is not timed")] = 3,
    memory: Annotated[str, typer.Option(help="by comma: also with these for all that a server holds")] = "",
    strategies: Annotated[str, typer.Option(help=f"by comma: also plans with the keys of {' or '.join(KEYS)}")] = "",
    limit: Annotated[str, typer.Option(help="also: what a process does that gets no more memory")] = "",
    cold: Annotated[bool, typer.Option(help="without the system's cache of the key file")] = False,
    data: Annotated[Path | None, typer.Option(help="digits for lenet, as for `bench lenet`")] = None,
    folder: Annotated[Path | None, typer.Option(help="where deployed programs stay; else they go")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time, reads and memory of each budget; runs alternate with those with all keys in memory."""
    how = Conditions(readers, threads, runs, cold)
    conditions: dict[str, Any] = {
        "compute threads": threads, "readers": readers, "cores": os.cpu_count(), "runs": runs,
        "page cache": "cold" if cold else "warm",
        "checked": "results are those of all keys in memory, to the bit, and these those in the clear",
        "others": "counted on the uses of the plan; times from a run with all keys in memory and plain reads",
    }  # fmt: skip
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as passing:
        for name in [word for word in models.split(",") if word != "-"]:
            with err.status(f"{name}: compiling, making keys"):
                place = (folder or Path(passing)) / name
                made = deploy(name, place, data)
            plan = read_plan(place / "model.lwplan")
            words = [word for word in budgets.split(",") if word] or list(BUDGETS.get(name, SHARES))
            totals = [word for word in memory.split(",") if word] or MEMORY.get(name, [])
            rows += compared(made, plan, place, words, totals, how)
            for keys in [word for word in strategies.split(",") if word]:
                with err.status(f"{name}, {keys}: compiling, making keys"):
                    other = deploy(name, place.with_name(f"{name}-{keys}"), data, lw.Techniques(rotation_keys=keys))
                rows += rows_of_strategy(other, place.with_name(f"{name}-{keys}"), keys, how)
            if limit:
                rows += rows_of_limit(made, place, parse_bytes(limit, "limit"), how)
            rows += [*by_the_system(rows, name), *against_others(rows, name)]
        byte_seconds = plain_read_seconds() if modelled else 0.0
        for network in [word for word in modelled.split(",") if word]:
            with err.status(f"{network}: compiling"):
                rows += shaped_rows(network, folder, readers, byte_seconds)
    rows += all_models(rows)
    show(report("keymemrt", rows, conditions, {}), json)


def compared(
    made: Deployed, plan: Plan, place: Path, words: list[str], totals: list[str], how: Conditions
) -> Iterator[Row]:
    """All keys in memory, each budget for keys and for everything, and what others come to."""
    resident = runs_of(place, how.options(None), how)
    digest = resident[0]["digest"]
    error, stated = error_of(place)
    yield from rows_of(made, RESIDENT, resident, resident, error <= stated, None)
    yield Row(f"{made.name}, {RESIDENT}", "error of the result", "", error, target=stated, checked=True)
    for word in words:
        amount = bytes_of(word, made, plan, how.readers)
        try:
            found = runs_of(place, how.options(amount), how)
        except UserError as error:
            yield Row(f"{made.name}, {word}", "run", "s", None, note=str(error))
            continue
        # What all keys in memory take at the same time as this: the machine is not always as fast.
        beside = runs_of(place, how.options(None), how) + resident
        right = all(run["digest"] == digest for run in found)
        label = size(amount) if word == size(amount) else f"{size(amount)} ({word})"
        yield from rows_of(made, label, found, beside, right, BUDGETS.get(made.name, {}).get(word))
        seconds = planning_seconds(plan, amount, how.readers)
        yield Row(f"{made.name}, {label}", "reads planned", "s", seconds, target=PLANNED_SECONDS, checked=True)
    for word in totals:
        found = runs_of(place, {"threads": how.threads, "memory": word, "key_readers": how.readers}, how)
        right = all(run["digest"] == digest for run in found)
        yield from rows_of(made, f"{word} {IN_ALL}", found, resident, right, None)
        peak, most = found[-1]["peak_bytes"] / 1e6, parse_bytes(word) / 1e6 + BESIDE_MB
        case = f"{made.name}, {word} {IN_ALL}"
        yield Row(case, "peak of the process, Python included", "MB", peak, target=most, checked=right)
    yield from rows_of_others(made, plan, place, words, middle(resident, "seconds"), how)


def planning_seconds(plan: Plan, amount: int, readers: int) -> float:
    """To decide what is read when, as a server does when it is made."""
    started, trips = time.perf_counter(), TripCounts(plan, None)
    prices = MachinePrices(plan, CostModel.load(), trips)
    schedule_of(key_order(plan, plan.chain, trips), plan, amount, prices, readers=readers)
    return time.perf_counter() - started


def rows_of_strategy(made: Deployed, place: Path, keys: str, how: Conditions) -> Iterator[Row]:
    """A plan with other rotation keys, all in memory; its result is held to the program in the clear.

    The run that it is compared with is one of the usual plan, just after it.
    """
    found = runs_of(place, how.options(None), how)
    base = runs_of(place.with_name(made.name), how.options(None), how)
    error, stated = error_of(place)
    case = f"keys {keys}, {RESIDENT}"
    yield from rows_of(made, case, found, base, error <= stated, None)
    yield Row(f"{made.name}, {case}", "error of the result", "", error, target=stated, checked=True)


def rows_of_limit(made: Deployed, place: Path, limit: int, how: Conditions) -> Iterator[Row]:
    """Whether a server answers where the system gives it no more memory than this; one with all its keys should not."""
    digest = runs_of(place, how.options(None), how)[0]["digest"]
    amount = limit - int(1e6 * (BESIDE_MB + BENCH_MB))
    for label, target, changes in ((RESIDENT, None, {}), (f"{size(amount)} for everything", 1.0, {"memory": amount})):
        case = f"{made.name}, {label}, no more than {size(limit)}"
        options = how.options(None) | changes
        try:
            found = list(parts_of(serve, str(place), options, 1, how.cold, limit, limit_seconds=LIMIT_SECONDS))
        except (RuntimeError, ChildProcessError) as error:
            yield Row(case, "answers", "", 0.0, target=target, better="higher", note=str(error).splitlines()[-1])
            continue
        right = found[-1]["digest"] == digest
        yield Row(case, "answers", "", float(right), target=target, better="higher", checked=right)
        yield Row(case, "peak of the process", "MB", found[-1]["peak_bytes"] / 1e6, target=limit / 1e6, checked=right)


def bytes_of(word: str, made: Deployed, plan: Plan, readers: int) -> int:
    """Of a budget."""
    if word == LEAST:
        found = smallest_budget(key_order(plan, plan.chain, TripCounts(plan, None)), plan, readers=readers)
        return 0 if found is None else found.bytes
    if "/" in word:
        over, under = word.split("/")
        return int(made.unseeded * float(over) / float(under))
    return parse_bytes(word, "budgets")


def runs_of(place: Path, options: dict[str, Any], how: Conditions) -> list[dict[str, Any]]:
    """Those after the first, in a process of their own."""
    with err.status(f"{place.name}: {options}"):
        parts = list(parts_of(serve, str(place), options, how.runs + 1, how.cold, limit_seconds=LIMIT_SECONDS))
    return parts[2:]


def rows_of(
    made: Deployed,
    budget: str,
    found: list[dict[str, Any]],
    base: list[dict[str, Any]],
    right: bool,
    target: float | None,
) -> Iterator[Row]:
    """base: runs with all keys in memory."""
    case, last = f"{made.name}, {budget}", found[-1]
    traffic = last["traffic"]
    peak = made.resident if traffic is None else traffic["peak_bytes"]
    seconds, processor = middle(found, "seconds"), middle(found, "processor_s")
    figures: list[tuple[str, str, float, float | None]] = [
        ("run", "s", seconds, None),
        (RATIO, "x", seconds / middle(base, "seconds"), target),
        ("processor time", "s", processor, None),
        ("processor time, of all in memory", "x", processor / middle(base, "processor_s"), None),
        (PROCESS, "MB", last["peak_bytes"] / 1e6, None),
        (ANONYMOUS, "MB", last["anonymous_bytes"] / 1e6, None),
        ("keys", "", made.keys, None),
        ("keys stored", "MB", made.stored / 1e6, None),
        (PEAK, "MB", peak / 1e6, None if traffic is None else traffic["budget_bytes"] / 1e6),
        ("of unseeded keys at the top", "x", peak / made.unseeded, None),
    ]
    if traffic is not None:
        figures += [
            ("rows read a run", "", last["loads"], None),
            ("key bytes read a run", "MB", last["loads"] * traffic["row_bytes"] / 1e6, None),
            ("stalled", "s", middle(found, "stall_s"), None),
        ]
    for metric, unit, value, wanted in figures:
        theirs, source = published(made.name, budget, metric)
        yield Row(case, metric, unit, float(value), theirs, source, wanted, checked=right)


def middle(runs: list[dict[str, Any]], figure: str) -> float:
    """The median of a figure."""
    return median(run[figure] for run in runs)


def rows_of_others(
    made: Deployed, plan: Plan, place: Path, words: list[str], base: float, how: Conditions
) -> Iterator[Row]:
    """Whole keys at the top level as KeyMemRT reads them, and a cache of whole keys at their levels."""
    run = trace(plan).scaled(base)
    key_bytes = made.unseeded // made.keys
    key_seconds = key_bytes * plain_read_seconds()
    prices = MachinePrices(plan, CostModel.load(), TripCounts(plan, None))
    byte_seconds = prices.row_seconds / key_row_bytes(plan.chain)
    sizes = [resident_bytes(spec, plan.chain) for spec in plan.keys]
    ways: dict[str, Held] = {"KeyMemRT low-memory": low_memory(run, key_bytes, key_seconds)}
    for word in words:
        amount = bytes_of(word, made, plan, how.readers)
        ahead = balanced(run, key_bytes, key_seconds, amount // key_bytes)
        if ahead not in ways.values():  # below what low-memory mode holds there is nothing to choose
            ways[f"KeyMemRT balanced, {size(max(amount, ahead.peak_bytes))}"] = ahead
        ways[f"least recently used, {size(amount)}"] = least_recent(run, sizes, amount, byte_seconds)
    for label, held in ways.items():
        case = f"{made.name}, {label}"
        yield Row(case, RATIO, "x", held.seconds / base)
        yield Row(case, PEAK, "MB", held.peak_bytes / 1e6)
        yield Row(case, "keys read a run", "", held.loads)
        yield Row(case, "key bytes read a run", "MB", held.loaded_bytes / 1e6)


def plain_read_seconds() -> float:
    """Seconds to read a byte from the system's cache into memory, and nothing else: less than any library takes."""
    buffer, found = bytearray(READ_BYTES), []
    with tempfile.TemporaryFile(buffering=0) as stream:
        stream.write(buffer)
        for _ in range(READS):
            stream.seek(0)
            start = time.thread_time()
            stream.readinto(buffer)
            found.append(time.thread_time() - start)
    return min(found) / len(buffer)  # processor time, and the least: others may use the machine
