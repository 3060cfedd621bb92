"""The programs planned by every compiler: bootstraps, predicted times, the time of placing. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Any

from bench.halo.cases import Size
from bench.halo.planning import Planned, laid, planned
from bench.halo.programs import PROGRAMS
from bench.halo.published import compile_target, floor_of, goal_of, published_bootstraps, shown_size
from bench.rows import Row
from latticework.errors import LevelError

BETTER_BY = 0.75  # of the time of the better of dacapo and halo, in the geometric mean
LAID_OUT_SECONDS, PLACED_SECONDS = 10.0, 0.1  # and no more than all of HALO's compiling, where that is stated


def case_rows(name: str, size: Size, compilers: Sequence[str], *, run_time: bool) -> Iterator[Row]:
    """One program by every compiler."""
    shown = f"{name} {shown_size(size)}" if len(size) > 1 else name
    made = laid(name, size, run_time=run_time)
    facts = {"levels of an iteration": made.depths, "vectors carried": made.carried, "slots": made.vectors.slots}
    limit = compile_target(name, LAID_OUT_SECONDS)
    yield Row(shown, "laid out", "s", made.seconds["lay out"], details=facts, target=limit, checked=True)
    trips = dict(zip(PROGRAMS[name].trips, size, strict=True)) if run_time else {}
    for compiler in compilers:
        if compiler == "dacapo" and run_time:
            continue
        try:
            found = planned(made, compiler, trips)
        except LevelError as error:  # a compiler of the paper may not be able to
            yield Row(shown, f"{compiler}: bootstraps", "", None, note=f"{error}", required=compiler == "ours")
            continue
        yield from compiler_rows(shown, name, compiler, found, size, run_time=run_time)


def compiler_rows(shown: str, name: str, compiler: str, found: Planned, size: Size, *, run_time: bool) -> Iterator[Row]:
    """Bootstraps, predicted time and the time of placing. DaCapo takes no number that is known at run time only."""
    theirs, is_ours = published_bootstraps(name, compiler, size), compiler == "ours"
    details: dict[str, Any] = {"to level: runs": {str(k): v for k, v in sorted(found.targets.items())}}
    if is_ours:
        theirs = published_bootstraps(name, "halo", size) if run_time else floor_of(name, size)
        details["goal"] = goal_of(name, size)
    yield Row(
        shown, f"{compiler}: bootstraps", "", found.bootstraps, theirs, None if theirs is None else "HALO, tables 5, 8",
        theirs if is_ours else None, checked=True, details=details,
    )  # fmt: skip
    share = {"share of bootstraps": round(found.share, 3)}
    yield Row(shown, f"{compiler}: predicted", "s", found.seconds, details=share)
    yield Row(
        shown, f"{compiler}: placed", "s", found.planning,
        target=compile_target(name, PLACED_SECONDS) if is_ours else None, checked=True,
    )  # fmt: skip


def means(rows: Sequence[Row]) -> list[Row]:
    """How much quicker ours is than the better of dacapo and halo."""
    predicted = {(row.case, row.metric): row.ours for row in rows if row.metric.endswith(": predicted") and row.ours}
    ratios = []
    for case in dict.fromkeys(case for case, _ in predicted):
        ours = predicted.get((case, "ours: predicted"))
        others = [predicted[key] for c in ("dacapo", "halo") if (key := (case, f"{c}: predicted")) in predicted]
        if ours and others:
            ratios.append(ours / min(o for o in others if o))
    if not ratios:
        return []
    mean = exp(sum(map(log, ratios)) / len(ratios))
    name = "ours over the better of dacapo and halo"
    source = "published tables"
    return [
        Row("all", f"{name}, geometric mean", "x", mean, 1.0, source, BETTER_BY, checked=True),
        Row("all", f"{name}, largest", "x", max(ratios), 1.0, source, 1.0, checked=True),
    ]
