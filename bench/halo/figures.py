"""Rows of compiled and executed programs, beside the paper's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from bench.halo.cases import Case, Size
from bench.halo.encrypted import CompileFigures, RunFigures
from bench.halo.published import (
    code_target,
    compile_target,
    floor_of,
    published_bootstraps,
    published_code_bytes,
    published_seconds,
    rmse_of,
    shown_size,
)
from bench.halo.scores import SCORES, Quality
from bench.halo.stages import ON_DATA
from bench.rows import Row

# Of stages that do not run the program on data, where the paper states no time, and of those that do: HALO has none.
COMPILE_SECONDS, DATA_SECONDS = 10.0, 60.0
PLAN_BYTES = 128 * 1024  # where the paper states no size
NEAR = 1.25  # times, that what is measured may be off from what is predicted
SCORE_MARGIN = 0.01
COMPILED, PLAN = "compile, without stages on data", "plan"
FLAT = 1.1  # times, that compiling for one number of iterations may take of what it takes for another


def compile_rows(case: Case, found: CompileFigures, where: str) -> Iterator[Row]:
    """What compiling took, and how large the plan is.

    where  names the mode
    """
    shown, stages = f"{case}, {where}", {stage: round(seconds, 3) for stage, seconds in found.seconds.items()}
    for metric, limit, is_counted in (
        (COMPILED, COMPILE_SECONDS, lambda stage: stage not in ON_DATA),
        ("compile, stages on data", DATA_SECONDS, lambda stage: stage in ON_DATA),
    ):
        taken = {stage: seconds for stage, seconds in stages.items() if is_counted(stage)}
        published = published_seconds(case.name) if metric == COMPILED else None
        source = None if published is None else "HALO, table 6"
        target = limit if published is None else compile_target(case.name, limit)
        yield Row(shown, metric, "s", sum(taken.values()), published, source, target, checked=True, details=taken)
    published = published_code_bytes(case.name)
    yield Row(
        shown, PLAN, "bytes", found.plan_bytes, published, None if published is None else "HALO, table 7, bootstraps "
        "one instruction each", code_target(case.name, PLAN_BYTES), checked=True,
        details={"keys stored, bytes": found.key_bytes, "encoded constants, bytes": found.constant_bytes},
    )  # fmt: skip


def run_rows(case: Case, found: RunFigures, where: str) -> Iterator[Row]:
    """What an encrypted run took and found."""
    shown = f"{case}, {where}"
    yield bootstraps_row(shown, case, found.size, found.bootstraps, found.targets, found.why_fewer)
    run = "first run" if found.is_first else "later run"
    times: dict[str, Any] = {
        "wall, s": round(found.wall, 2), "first run, s": round(found.first[1], 2),
        "first run, predicted, s": round(found.first[0], 2),
        **{f"{what}, s": round(seconds, 2) for what, seconds in found.setup_seconds.items()},
    }  # fmt: skip
    yield Row(shown, f"{run}, predicted", "s", found.predicted)
    yield Row(shown, f"{run}, measured", "s", found.measured, checked=True, details=times, note=found.note)
    off = found.measured / found.predicted
    yield Row(
        shown, "measured by predicted, or predicted by measured", "x", max(off, 1 / off), target=NEAR, checked=True,
        details={"measured by predicted": round(off, 3)}, note=found.note,
    )  # fmt: skip
    yield Row(
        shown, "share of bootstraps", "", found.share, found.predicted_share, "predicted", better="higher",
        checked=True,
    )  # fmt: skip
    yield from quality_rows(shown, case.name, found.quality)
    yield Row(shown, "peak memory of the process", "bytes", found.peak_bytes)


def bootstraps_row(
    shown: str, case: Case, size: Size, bootstraps: int, targets: dict[int, int], why_fewer: str | None = None
) -> Row:
    """Bootstraps of a run, to which levels, beside HALO's: no more than those, nor where the number of iterations is
    known to the compiler than DaCapo's."""
    theirs = published_bootstraps(case.name, "halo", size)
    floor = theirs if case.run_time else floor_of(case.name, size)
    return Row(
        shown, "bootstraps", "", bootstraps, theirs, None if theirs is None else "HALO, tables 5, 8", floor,
        checked=True, note=why_fewer,
        details={"iterations": shown_size(size), "to level: runs": {str(k): v for k, v in targets.items()}},
    )  # fmt: skip


def quality_rows(shown: str, name: str, found: Quality) -> Iterator[Row]:
    """The error, which the stated bound has to hold; the RMSE, whose target is the paper's largest; the score."""
    is_bounded = isfinite(found.bound)
    yield Row(
        shown, "error", "", found.error, target=found.bound if is_bounded else None, checked=True, required=True,
        note=None if is_bounded else "no bound is stated",
    )  # fmt: skip
    largest, smallest = rmse_of(name)
    yield Row(
        shown, "RMSE", "", found.rmse, largest, "HALO, table 4, largest", largest, checked=True,
        details={"smallest of the paper": smallest},
    )  # fmt: skip
    if found.scores is not None:
        ours, clear = found.scores
        yield Row(shown, SCORES[name][0], "", ours, clear, "trained in the clear", clear - SCORE_MARGIN, "higher", True)


def flat_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """How far compiling and plans are from taking the same for all numbers of iterations that bootstrap."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    bootstrapped = {row.case for row in rows if row.metric == "bootstraps" and row.ours}
    for row in rows:
        if row.metric in (COMPILED, PLAN) and row.case in bootstrapped:
            found.setdefault((row.case.split(", ")[0], row.metric), {})[row.case] = row
    for (name, metric), by_case in found.items():
        figures = {case.split(", ")[-1]: row.ours for case, row in by_case.items() if row.ours}
        if len(figures) > 1:
            most, least = max(figures.values()), min(figures.values())
            yield Row(
                name, f"{metric}: largest by smallest", "x", most / least, target=FLAT, checked=True,
                details={"iterations": ", ".join(figures)},
            )  # fmt: skip


def failed_row(case: Case, where: str, reason: str) -> Row:
    """A row that could not be run."""
    return Row(f"{case}, {where}", "run", "s", None, note=reason, required=True)
