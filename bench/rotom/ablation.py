"""What each technique gives: every workload compiled without one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp, log
from typing import Any

from rich.table import Table

from bench.rotom.measuring import Limits, Measured, measure
from bench.rotom.workloads import Workload
from bench.rows import Row
from latticework.compiler.options.techniques import ALL, Techniques

NAMES = Techniques.names()
MEAN = "geometric mean"
COUNTS = ("rotations", "hoists", "relinearizations", "ciphertext_products", "plaintext_products")


def ablation(
    chosen: Sequence[Workload], slots: int, runs: int, limits: Limits, on_case: Callable[[str], None]
) -> Iterator[Row]:
    """Rows: predicted seconds without a technique by those with it; measured ones too, if it is to be run.

    runs  0: nothing is run
    """
    ratios: dict[str, list[float]] = {}
    for workload in chosen:
        on_case(workload.name)
        full = measure(workload, slots, ALL, runs, limits)
        if isinstance(full, str):
            yield Row(workload.name, "all techniques", "x", None, note=full)
            continue
        yield Row(workload.name, "all techniques", "s", full.cost.warm_seconds, details=_counts(full))
        for name in NAMES:
            on_case(f"{workload.name} without {name}")
            without = measure(workload, slots, Techniques(**{name: False}), 0, limits)
            metric = f"without {name}"
            if isinstance(without, str):
                yield Row(workload.name, metric, "x", None, note=without)
                continue
            ratio = without.cost.warm_seconds / full.cost.warm_seconds
            ratios.setdefault(name, []).append(ratio)
            yield Row(workload.name, metric, "x", ratio, details=_counts(without))
            if runs:
                yield _measured(workload, slots, name, runs, limits, full, without)
    for name, found in ratios.items():
        mean = exp(sum(map(log, found)) / len(found))
        yield Row(MEAN, f"without {name}", "x", mean, details={"workloads": len(found)})


def _measured(
    workload: Workload, slots: int, name: str, runs: int, limits: Limits, full: Measured, without: Measured
) -> Row:
    """The ratio of runs; 1 where nothing differs."""
    metric = f"without {name}, measured"
    if _same(full, without):
        return Row(workload.name, metric, "x", 1.0, checked=full.is_right, note="the same program")
    found = measure(workload, slots, Techniques(**{name: False}), runs, limits)
    assert isinstance(found, Measured), found
    times = found.processor_seconds, full.processor_seconds
    if times[0] is None or times[1] is None:
        return Row(workload.name, metric, "x", None, note=found.note or full.note)
    return Row(workload.name, metric, "x", times[0] / times[1], checked=full.is_right and found.is_right)


def _same(a: Measured, b: Measured) -> bool:
    plans = (a.plan, b.plan)
    return plans[0].blocks == plans[1].blocks and plans[0].constants == plans[1].constants


def _counts(found: Measured) -> dict[str, Any]:
    levels = {"levels": found.plan.chain.main.top}
    return {name: getattr(found.cost.counts, name) for name in COUNTS} | levels


def pivot(rows: Sequence[dict[str, Any]]) -> Table:
    """Workloads by techniques: times slower without, as predicted, and as measured in parentheses."""
    cells: dict[tuple[str, str], str] = {}
    cases: dict[str, None] = {}
    for row in rows:
        name = row["metric"].removeprefix("without ")
        if name == "all techniques":
            continue
        cases.setdefault(row["case"])
        measured = name.endswith(", measured")
        key = row["case"], name.removesuffix(", measured")
        shown = "-" if row["ours"] is None else f"{row['ours']:.2f}"
        cells[key] = f"{cells[key]} ({shown})" if measured else shown
    table = Table(title="times slower without one technique")
    table.add_column("without")
    for case in cases:
        table.add_column(case, justify="right")
    for name in NAMES:
        table.add_row(name, *(cells.get((case, name), "") for case in cases))
    return table
