"""`calibrate`: a cost table of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from latticework.calibrate import FULL, QUICK, default_place, write_table
from latticework.calibrate import calibrate as measure_costs
from latticework.commands.console import err, prepare, reported, say


@reported
def calibrate(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; in the user's cache folder if not given.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Seconds instead of minutes: fewer sizes, rougher.")] = False,
    backend: Annotated[str | None, typer.Option(help="Which kernels; the fastest if not given.")] = None,
) -> None:
    """Measure what operations cost on this machine, for `compile --cost-table`."""
    path = output or default_place()
    prepare(path)
    with Progress(
        TextColumn("calibrating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.description}"), console=err, transient=True,
        disable=not err.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=None)

        def show(done: int, steps: int, what: str) -> None:
            bar.update(task, description=what, completed=done, total=steps)

        command = "latticework calibrate" + " --quick" * quick
        table = measure_costs(QUICK if quick else FULL, backend=backend, command=command, on_step=show)
    write_table(table, path)
    say(f"wrote {path}; use it with: latticework compile --cost-table {path}")
