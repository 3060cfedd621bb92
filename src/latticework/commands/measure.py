"""`measure`: a cost table of this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from latticework.commands.command_files import prepare
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.machine import FULL, QUICK, default_place, measure_machine, write_table
from latticework.errors import UserError
from latticework.plan.parameters import BOOTSTRAP_SETS


def measure(
    talk: CommandOutput,
    output: Path | None,
    force: bool,
    quick: bool,
    backend: str | None,
    sets: str | None,
    threads: int | None,
) -> Outcome:
    """Measure this machine and write its cost table; see the table of commands."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    extent = QUICK if quick else FULL
    if sets is not None:
        extent = replace(extent, sets=read_sets(sets))
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

        command = "latticework measure" + " --quick" * quick + f" --sets {sets}" * (sets is not None)
        command += f" --threads {threads}" * (threads is not None)
        counts = () if threads is None else (threads,)
        table = measure_machine(extent, backend=backend, threads=counts, command=command, on_step=show)
    write_table(table, path)
    told = "reports predict times by it" if output is None else f"use it with: latticework compile --cost-table {path}"
    return Outcome({"output": str(path)}, (f"wrote {path}; {told}",))


def read_sets(text: str) -> tuple[str, ...]:
    """Names of bootstrapping sets.

    raises  UserError for one that there is not
    """
    names = tuple(name for name in text.replace(" ", "").split(",") if name)
    for name in names:
        if name not in BOOTSTRAP_SETS:
            raise UserError(f"there is no bootstrapping set {name!r}; there are {', '.join(BOOTSTRAP_SETS)}")
    return names
