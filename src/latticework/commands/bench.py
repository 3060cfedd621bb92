"""`bench`: the benchmarks of the source tree."""

from __future__ import annotations

import typer

from latticework.commands.benchmarks import suites
from latticework.commands.talk import DONE, Outcome, Talk, attempt
from latticework.errors import UserError


def bench(context: typer.Context) -> None:
    """Run a benchmark of the source tree: `bench SUITE`, `bench SUITE --help`; `bench` alone lists suites."""
    status = attempt(Talk("bench"), lambda: run_suite(context.args))
    if status != DONE:
        raise typer.Exit(status)


def run_suite(words: list[str]) -> Outcome:
    """The suite that the first word names, with the others; the list of suites without one."""
    found = suites()
    listed = ", ".join(found.SUITES)
    if not words or words[0] == "--help":
        return Outcome({}, (f"latticework bench SUITE [options]; suites: {listed}",))
    if words[0] not in found.SUITES:
        raise UserError(f"bench: there is no suite {words[0]!r}; choose one of {listed}")
    found.suite(words[0])(words[1:], prog_name=f"latticework bench {words[0]}")
    return Outcome({})
