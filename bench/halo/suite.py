"""`latticework bench halo`: loops with bootstraps, by our compiler and by those of HALO, DaCapo and their parts.

Planned and counted; or by our compiler, run encrypted or simulated with noise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.halo.cases import Case, Size
from bench.halo.counted import case_rows, means
from bench.halo.encrypted import CompileFigures, Conditions, RunFigures, run_encrypted
from bench.halo.figures import compile_rows, failed_row, flat_rows, run_rows
from bench.halo.planning import COMPILERS
from bench.halo.programs import PROGRAMS
from bench.halo.published import PCA_SIZES
from bench.halo.simulated import run_simulated, simulation_rows
from bench.halo.synthetic import synthetic_rows
from bench.placement.published import TABLES
from bench.processes import parts_of
from bench.rows import Row, report, show
from latticework.errors import UserError
from latticework.plan.parameters import BOOTSTRAP_SETS

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
SIMULATED_SET = "H17"  # 16 levels, N = 2^17: nearest to the paper's that our primes allow
SIMULATION_LIMIT_SECONDS = 1800.0


@dataclass(frozen=True)
class Scale:
    """What is run encrypted if nothing else is said.

    run_time  numbers of iterations are given to the server, so that a row may take fewer than were asked for
    """

    chosen: str
    programs: tuple[str, ...]
    pca: tuple[Size, ...]
    run_time: bool


SCALES = {
    "small": Scale("T12L16", tuple(PROGRAMS), PCA_SIZES, run_time=False),
    "128": Scale("A14", tuple(PROGRAMS), PCA_SIZES, run_time=True),
}


@app.command()
def halo(
    iterations: Annotated[
        str, typer.Option(help="Of every loop but those of PCA; several by comma where nothing is encrypted.")
    ] = "40",
    trips: Annotated[
        str | None, typer.Option(help="static: known to the compiler; run-time: one plan for all, as with 128.")
    ] = None,
    compiler: Annotated[list[str] | None, typer.Option(help="One of them; all if not given.")] = None,
    programs: Annotated[str, typer.Option(help="Programs by comma; all of the mode if not given.")] = "",
    pca: Annotated[str, typer.Option(help="Sizes of PCA by comma, such as 4x2; all of the mode if not given.")] = "",
    encrypt: Annotated[
        str | None, typer.Option(help="small: all on T12L16, insecure; 128: on A14, half an hour, 14 GB.")
    ] = None,
    simulate: Annotated[bool, typer.Option("--simulate", help="With noise, at N = 2^17.")] = False,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Loops beside HALO's closed forms.")] = False,
    chosen: Annotated[str, typer.Option("--set", help="The bootstrapping set; that of the mode if not given.")] = "",
    precision_bits: Annotated[float, typer.Option(help="Asked of the compiler.")] = 12.0,
    threads: Annotated[int, typer.Option(min=1, help="1: times are those of the processor.")] = 1,
    cost_table: Annotated[Path | None, typer.Option(help="Of `latticework measure`, to predict by.")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds that an encrypted row may take.")] = 900.0,
    output: Annotated[Path | None, typer.Option(help="A JSON file, written anew after every row.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Plan the seven programs and count the bootstraps of a run; with --encrypt and --simulate, run ours."""
    if trips not in (None, "static", "run-time"):
        raise typer.BadParameter("give static or run-time", param_hint="--trips")
    if encrypt not in (None, *SCALES):
        raise typer.BadParameter("give small or 128", param_hint="--encrypt")
    if (encrypt is not None) + simulate + synthetic > 1:
        raise typer.BadParameter("give one of --encrypt, --simulate and --synthetic", param_hint="--encrypt")
    if chosen and chosen not in BOOTSTRAP_SETS:
        raise typer.BadParameter(f"give one of {', '.join(BOOTSTRAP_SETS)}", param_hint="--set")
    scale = SCALES[encrypt] if encrypt else None
    compilers = chosen_of(compiler or list(COMPILERS), COMPILERS, "--compiler")
    names = chosen_of(listed(programs) or list(scale.programs if scale else PROGRAMS), tuple(PROGRAMS), "--programs")
    sizes = pca_sizes(pca) or (scale.pca if scale else PCA_SIZES)
    counts = [whole(n, "--iterations") for n in listed(iterations)]
    run_time = trips == "run-time" or (trips is None and scale is not None and scale.run_time)
    collected = Collected(output, {"iterations": iterations, "trip counts": "run-time" if run_time else "static"})
    all_sizes = [(name, size) for name in names for size in (sizes if name == "pca" else [(n,) for n in counts])]
    with err.status("planning") as status:
        if synthetic:
            collected.conditions = {"levels after a bootstrap": TABLES["residual"], "checked": "levels of every value"}
            collected.add(synthetic_rows())
        elif scale is None and not simulate:
            collected.conditions |= {
                "levels after a bootstrap": TABLES["residual"],
                "prices": TABLES["source"],
                "checked": "levels of every value; meanings of plans are checked by the tests",
            }
            for name, size in all_sizes:
                status.update(f"{name} {size}")
                collected.add(case_rows(name, size, compilers, run_time=run_time))
            collected.add(iter(means(collected.rows)))
        else:
            set_name = chosen or (scale.chosen if scale else SIMULATED_SET)
            conditions = Conditions(threads, cost_table, limit if scale else SIMULATION_LIMIT_SECONDS)
            collected.conditions |= run_conditions(set_name, precision_bits, conditions)
            for name, size in all_sizes:
                case = Case(name, size, set_name, precision_bits, run_time)
                status.update(f"{case} on {set_name}")
                collected.add(rows_of(case, conditions, run_encrypted if scale else run_simulated))
            collected.add(flat_rows(collected.rows))
    show(collected.report(), json)


def run_conditions(set_name: str, precision_bits: float, conditions: Conditions) -> dict[str, Any]:
    """What is said of runs."""
    chosen = BOOTSTRAP_SETS[set_name]
    return {
        "set": set_name, "N": 1 << chosen.log2_degree, "insecure": chosen.insecure,
        "levels after a bootstrap": chosen.residual, "precision bits": precision_bits, "threads": conditions.threads,
        "times": "processor" if conditions.threads == 1 else "wall", "cost table": conditions.costs.table.command,
        "cost table, machine": conditions.costs.table.machine, "limit of a row, s": conditions.limit_seconds,
    }  # fmt: skip


def rows_of(case: Case, conditions: Conditions, work: Callable[..., Iterator[Any]]) -> Iterator[Row]:
    """One program in a process of its own: as many rows as it comes to, and why there are no more."""
    where = f"{case.chosen}, {case.size[0]} iterations" if len(case.size) == 1 else case.chosen
    run: RunFigures | None = None
    try:
        for found in parts_of(work, case, conditions, limit_seconds=1.1 * conditions.limit_seconds):
            if isinstance(found, CompileFigures):
                yield from compile_rows(case, found, where)
            elif isinstance(found, RunFigures):
                run = found
            else:
                yield from simulation_rows(case, found, where)
    except (UserError, RuntimeError, TimeoutError, ChildProcessError) as error:
        if run is None:
            yield failed_row(case, where, f"{error}")
        else:
            run = replace(run, why_fewer=f"the next run did not end: {error}")
    if run is not None:
        yield from run_rows(case, run, where)


class Collected:
    """Rows, kept in a file as they come."""

    def __init__(self, file: Path | None, conditions: dict[str, Any]) -> None:
        self.rows: list[Row] = []
        self.conditions = conditions
        self._file = file

    def add(self, rows: Iterator[Row]) -> None:
        """Rows one by one."""
        for row in rows:
            self.rows.append(row)
            self._keep()

    def report(self) -> dict[str, Any]:
        """All of them, as they are printed."""
        return report("halo", self.rows, self.conditions)

    def _keep(self) -> None:
        """The file anew, whole at any time."""
        if self._file is not None:
            unfinished = self._file.with_name(f".{self._file.name}.unfinished")
            unfinished.write_text(json.dumps(self.report(), indent=1) + "\n")
            os.replace(unfinished, self._file)


def listed(text: str) -> list[str]:
    """Words by comma."""
    return [word.strip() for word in text.split(",") if word.strip()]


def chosen_of(given: list[str], known: tuple[str, ...], hint: str) -> list[str]:
    """Names that are known; BadParameter for others."""
    for name in given:
        if name not in known:
            raise typer.BadParameter(f"{name}: give one of {', '.join(known)}", param_hint=hint)
    return given


def whole(word: str, hint: str) -> int:
    """A number from 1; BadParameter for anything else."""
    if not word.isdigit() or int(word) < 1:
        raise typer.BadParameter(f"{word}: give whole numbers from 1, by comma", param_hint=hint)
    return int(word)


def pca_sizes(text: str) -> tuple[Size, ...]:
    """Sizes such as 4x2; BadParameter for what is none."""
    sizes = tuple(tuple(whole(part, "--pca") for part in word.split("x")) for word in listed(text))
    if any(len(size) != 2 for size in sizes):
        raise typer.BadParameter(f"{text}: give outer and inner iterations, such as 4x2", param_hint="--pca")
    return sizes


if __name__ == "__main__":
    app()
