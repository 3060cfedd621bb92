"""`measure`: a cost table of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from latticework.commands.files import Force, prepare
from latticework.commands.talk import Outcome, Talk, report_outcome
from latticework.machine import FULL, QUICK, default_place, measure_machine, write_table


@report_outcome
def measure(
    talk: Talk,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; in the user's cache folder if not given.")
    ] = None,
    force: Force = False,
    quick: Annotated[bool, typer.Option("--quick", help="Seconds instead of minutes: fewer sizes, rougher.")] = False,
    backend: Annotated[str | None, typer.Option(help="Which kernels; the fastest if not given.")] = None,
) -> Outcome:
    """Measure what operations cost on this machine, for `compile --cost-table`."""
    path = output or default_place()
    if output is not None or path.exists():
        prepare(talk, path, force=force)
    err = Console(stderr=True)
    with Progress(
        TextColumn("measuring"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.description}"), console=err, transient=True,
        disable=not err.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=None)

        def show(done: int, steps: int, what: str) -> None:
            bar.update(task, description=what, completed=done, total=steps)

        command = "latticework measure" + " --quick" * quick
        table = measure_machine(QUICK if quick else FULL, backend=backend, command=command, on_step=show)
    write_table(table, path)
    return Outcome({"output": str(path)}, (f"wrote {path}; use it with: latticework compile --cost-table {path}",))
