"""`bench`: the benchmarks of the source tree."""

from __future__ import annotations

import typer

from latticework.bench import suites
from latticework.commands.console import reported, say
from latticework.errors import UserError


@reported
def bench(context: typer.Context) -> None:
    """Run a benchmark from the source tree: `bench SUITE`, `bench SUITE --help`; `bench` alone lists the suites."""
    found = suites()
    name = context.args[0] if context.args else ""
    if name in ("", "--help"):
        say(f"latticework bench SUITE [options]; suites: {', '.join(found.SUITES)}")
        return
    if name not in found.SUITES:
        raise UserError(f"bench: there is no suite {name!r}; choose one of {', '.join(found.SUITES)}")
    found.suite(name)(context.args[1:], prog_name=f"latticework bench {name}")
