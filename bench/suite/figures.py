"""Figures of runs as rows, beside targets and what others published."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import Any

from bench.rows import Row
from bench.suite.workload import COMPUTE, Size, Workload

# Of the suite's page of results, 2026-02-20, stages with process start: its reference implementations on OpenFHE.
_REFERENCE = "the suite's reference, 2026-02"
_LEADING = "leading entry, 2026, development run on a CPU"
# By workload and size: the figure, and who published it. Seconds are of the server's computation.
PUBLISHED: dict[tuple[str, str], dict[str, tuple[float, str]]] = {
    ("mnist", "single"): {"seconds": (7.63, _REFERENCE), "keys": (1.07e9, _REFERENCE), "input": (5.2e6, _REFERENCE)},
    ("mnist", "small"): {"seconds": (646.0, _REFERENCE), "keys": (1.07e9, _REFERENCE), "input": (525e6, _REFERENCE)},
    ("mnist", "medium"): {"seconds": (0.45, _LEADING), "input": (51e6, _LEADING), "accuracy": (98.9, _LEADING)},
    ("mnist", "large"): {"seconds": (1.0, _LEADING), "input": (242e6, _LEADING), "accuracy": (97.96, _LEADING)},
    ("similarity", "small"): {
        "seconds": (50.8, _REFERENCE), "keys": (2.8e9, _REFERENCE), "database": (6.0e9, _REFERENCE),
        "query": (25e6, _REFERENCE),
    },
}  # fmt: skip
_KEYLESS = {"keys": 0.0, "peak": 500e6}
TARGETS: dict[tuple[str, str], dict[str, float]] = {
    ("mnist", "single"): {"seconds": 0.35, "peak": 500e6},
    ("mnist", "small"): {"seconds": 0.35, **_KEYLESS},
    ("mnist", "medium"): {"seconds": 0.40, **_KEYLESS},
    ("mnist", "large"): {"seconds": 1.0, **_KEYLESS},
    ("similarity", "toy"): {"seconds": 0.6, "keys": 300e6, "query": 2e6, "peak": 4e9},
    ("similarity", "small"): {"seconds": 6.0, "keys": 300e6, "query": 2e6, "database": 1.2e9, "peak": 4e9},
}
MOST_LOST = 1.0  # points of accuracy, beside the network in the clear


def rows_of(workload: Workload, size: Size, runs: list[dict[str, Any]]) -> list[Row]:
    """The rows of a size: medians of its runs."""
    case = f"{workload.name}, {size.name} ({size.count:,})"
    is_right = all(run["quality"]["is_right"] for run in runs)
    targets = TARGETS.get((workload.name, size.name), {})
    published = PUBLISHED.get((workload.name, size.name), {})

    def row(metric: str, unit: str, key: str, values: list[float], per: float = 1.0, **more: Any) -> Row:
        reference, source = published.get(key, (None, None))
        target = targets.get(key)
        return Row(
            case, metric, unit, median(values) / per, None if reference is None else reference / per, source,
            None if target is None else target / per, checked=is_right, **more,
        )  # fmt: skip

    rows = []
    for stage in runs[0]["stages"]:
        used = [run["stages"][stage] for run in runs]
        is_compute = stage == COMPUTE
        rows.append(
            row(stage, "s", "seconds" if is_compute else "", [each["seconds"] for each in used],
                details={"processor_seconds": median(each["processor_seconds"] for each in used)})
        )  # fmt: skip
        if all(each["work_seconds"] is not None for each in used):
            rows.append(row(f"{stage}, without start", "s", "", [each["work_seconds"] for each in used]))
        if is_compute:
            rows.append(row(f"{stage}, processor time", "s", "", [each["processor_seconds"] for each in used]))
            rows.append(row(f"{stage}, peak memory", "MB", "peak", [each["peak_bytes"] for each in used], 1e6))
    for what in runs[0]["bytes"]:
        rows.append(row(what, "MB", what, [run["bytes"][what] for run in runs], 1e6))
    return [*rows, _quality(row, runs)]


def _quality(row: Any, runs: list[dict[str, Any]]) -> Row:
    """Accuracy in percent, or how many runs were exact."""
    found = [run["quality"] for run in runs]
    if "accuracy" not in found[0]:
        exact: Row = row("exact runs", "%", "exact", [100.0 * each["is_right"] for each in found], better="higher")
        return exact
    clear = median(100 * each["accuracy_in_the_clear"] for each in found)
    accuracy: Row = row("accuracy", "%", "accuracy", [100 * each["accuracy"] for each in found], better="higher",
                        details=found[0])  # fmt: skip
    return replace(accuracy, target=clear - MOST_LOST)
