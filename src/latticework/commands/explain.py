"""`explain`: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.console import prepare, reported, say
from latticework.plan.serialise import read_plan
from latticework.report import build_report, explain_file


@reported
def explain(
    file: Annotated[Path, typer.Argument(help="Any file of latticework.")],
    html: Annotated[Path | None, typer.Option(help="Write a plan's report as HTML.")] = None,
) -> None:
    """Say what a file is and what is in it; for a plan, the whole report."""
    if html is not None:
        prepare(html)
    print(explain_file(file))
    if html is not None:
        build_report(read_plan(file)).save(html)
        say(f"wrote {html}")
