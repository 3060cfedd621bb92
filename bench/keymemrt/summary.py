"""Rows that follow from others: what the system counts of keys, the other ways beside ours, and all models together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean

from bench.rows import Row

RESIDENT, IN_ALL = "all in memory", "for everything"  # in cases
PROCESS, ANONYMOUS = "peak of the process", "anonymous memory of the process"  # metrics
PEAK, RATIO = "peak of keys", "run, of all in memory"
PUBLISHED, SAVED = 1.74, 2.6  # memory of a process against that with all keys: KeyMemRT's own, and what is wanted
WITHIN = 0.1  # of the bytes that the server counts


def by_the_system(rows: Sequence[Row], name: str) -> Iterator[Row]:
    """Bytes of keys as the system sees them: by how much the anonymous memory of processes grows with the budget."""
    system, counted = (_figures(rows, name, metric) for metric in (ANONYMOUS, PEAK))
    budgets = sorted((counted[case], case) for case in system if _is_budget(case))
    for peak, case in budgets[1:]:
        least, smallest = budgets[0]
        found = system[case] - system[smallest] + least
        note = f"the server counts {peak:.1f} MB; above the process with {least:.1f} MB"
        off = abs(found / peak - 1)
        yield Row(f"{name}, {case}", f"{PEAK}, by the system", "MB", found, note=note, checked=True)
        yield Row(f"{name}, {case}", f"{PEAK}, the system's count off by", "", off, target=WITHIN, checked=True)


def against_others(rows: Sequence[Row], name: str) -> Iterator[Row]:
    """Each of our budgets beside the quicker of KeyMemRT's modes and powers of two, whatever memory these take."""
    ratios = _figures(rows, name, RATIO)
    others = [(ratio, case) for case, ratio in ratios.items() if case.startswith(("KeyMemRT", "keys powers"))]
    if not others:
        return
    quickest, way = min(others)
    right = {row.case: row.checked for row in rows if row.metric == RATIO}
    for case, ratio in ratios.items():
        if _is_budget(case):
            metric, full = "run, of the quickest other way", f"{name}, {case}"
            yield Row(full, metric, "x", ratio / quickest, target=1.0, checked=right[full], note=f"which is {way}")


def all_models(rows: Sequence[Row]) -> Iterator[Row]:
    """What budgets for everything save of the memory of processes: of each model by the one that saves most."""
    peaks = {row.case: row for row in rows if row.metric == PROCESS and row.ours}
    saved: dict[str, float] = {}
    for case, row in peaks.items():
        name = case.partition(", ")[0]
        resident = peaks.get(f"{name}, {RESIDENT}")
        if case.endswith(IN_ALL) and row.checked and row.ours and resident is not None and resident.ours:
            saved[name] = max(saved.get(name, 0.0), resident.ours / row.ours)
    if saved:
        case, metric = f"geometric mean of {len(saved)} models", "memory of the process, all in memory over ours"
        source = "KeyMemRT, against all its keys in memory"
        found = geometric_mean(saved.values())
        yield Row(case, metric, "x", found, PUBLISHED, source, SAVED, "higher", checked=True)


def _figures(rows: Sequence[Row], name: str, metric: str) -> dict[str, float]:
    """Of a model, by case."""
    of, before = [row for row in rows if row.metric == metric and row.ours is not None], f"{name}, "
    return {
        row.case.removeprefix(before): row.ours for row in of if row.case.startswith(before) and row.ours is not None
    }


def _is_budget(case: str) -> bool:
    """Whether this is one for keys."""
    return case[:1].isdigit() and not case.endswith(IN_ALL)
