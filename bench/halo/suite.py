"""`latticework bench halo`: loops with bootstraps, by our compiler and by those of HALO, DaCapo and their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.halo.planning import COMPILERS, Planned, laid, planned
from bench.halo.programs import PROGRAMS
from bench.halo.published import PCA_SIZES, floor_of, goal_of, published_bootstraps
from bench.placement.published import TABLES
from bench.rows import Row, report, show
from latticework.errors import LevelError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
BETTER_BY = 0.75  # of the time of the better of dacapo and halo, in the geometric mean
PLACED_SECONDS = 0.1


@app.command()
def halo(
    iterations: Annotated[int, typer.Option(min=1, help="Of every loop but those of PCA, which has a table.")] = 40,
    trips: Annotated[str, typer.Option(help="static: known to the compiler; run-time: one plan for all.")] = "static",
    compiler: Annotated[list[str] | None, typer.Option(help="One of them; all if not given.")] = None,
    program: Annotated[list[str] | None, typer.Option(help="One of them; all if not given.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Plan the seven programs, and count the bootstraps that a run takes."""
    if trips not in ("static", "run-time"):
        raise typer.BadParameter("give static or run-time", param_hint="--trips")
    compilers, programs = list(compiler or COMPILERS), list(program or PROGRAMS)
    for given, known, hint in ((compilers, COMPILERS, "--compiler"), (programs, list(PROGRAMS), "--program")):
        for name in given:
            if name not in known:
                raise typer.BadParameter(f"{name}: give one of {', '.join(known)}", param_hint=hint)
    run_time = trips == "run-time"
    conditions = {
        "levels after a bootstrap": TABLES["residual"],
        "prices": TABLES["source"],
        "iterations": iterations,
        "trip counts": trips,
        "checked": "levels of every value; meanings of plans are checked by the tests",
    }
    rows: list[Row] = []
    with err.status("planning") as status:
        for name in programs:
            for size in PCA_SIZES if name == "pca" else [(iterations,)]:
                status.update(f"{name} {size}")
                rows += case_rows(name, size, compilers, run_time=run_time)
    show(report("halo", [*rows, *means(rows)], conditions), json)


def case_rows(name: str, size: tuple[int, ...], compilers: Sequence[str], *, run_time: bool) -> Iterator[Row]:
    """One program by every compiler."""
    shown = f"{name} {'x'.join(map(str, size))}" if len(size) > 1 else name
    made = laid(name, size, run_time=run_time)
    facts = {"levels of an iteration": made.depths, "vectors carried": made.carried, "slots": made.vectors.slots}
    yield Row(shown, "laid out", "s", made.seconds["lay out"], details=facts, target=10.0, checked=True)
    trips = dict(zip(PROGRAMS[name].trips, size, strict=True)) if run_time else {}
    for compiler in compilers:
        if compiler == "dacapo" and run_time:
            continue
        try:
            found = planned(made, compiler, trips)
        except LevelError as error:  # a compiler of the paper may not be able to
            yield Row(shown, f"{compiler}: bootstraps", "", None, note=f"{error}", required=compiler == "ours")
            continue
        yield from compiler_rows(shown, name, compiler, found, size)


def compiler_rows(shown: str, name: str, compiler: str, found: Planned, size: tuple[int, ...]) -> Iterator[Row]:
    """Bootstraps, predicted time and the time of placing."""
    theirs, is_ours = published_bootstraps(name, compiler, size), compiler == "ours"
    details: dict[str, Any] = {"to level: runs": {str(k): v for k, v in sorted(found.targets.items())}}
    if is_ours:
        theirs = floor_of(name, size)
        details["goal"] = goal_of(name, size)
    yield Row(
        shown, f"{compiler}: bootstraps", "", found.bootstraps, theirs, None if theirs is None else "HALO, tables 5, 8",
        theirs if is_ours else None, checked=True, details=details,
    )  # fmt: skip
    share = {"share of bootstraps": round(found.share, 3)}
    yield Row(shown, f"{compiler}: predicted", "s", found.seconds, details=share)
    yield Row(
        shown, f"{compiler}: placed", "s", found.planning, target=PLACED_SECONDS if is_ours else None, checked=True
    )


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
