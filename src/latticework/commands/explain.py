"""`explain`: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.files import Force, prepare, source
from latticework.commands.talk import Outcome, Talk, report_outcome
from latticework.plan.serialise import read_plan
from latticework.report import build_report, explain_file, file_facts, report_ending


@report_outcome
def explain(
    talk: Talk,
    file: Annotated[Path, typer.Argument(help="Any file of latticework; - for standard input.")],
    report: Annotated[
        Path | None, typer.Option("--report", "--html", help="Write a plan's report: .html, .txt or .json.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Say what a file is and what is in it; for a plan, the whole report."""
    if report is not None:
        report_ending(report, str(file))
        prepare(talk, report, force=force, inputs=[file])
    given = source(file)
    facts = {"file": str(file), **file_facts(given, with_report=talk.json)}
    text = "" if talk.json else explain_file(given)
    if report is None:
        return Outcome(facts, body=text)
    build_report(read_plan(given)).save(report)
    return Outcome({**facts, "written": str(report)}, (f"wrote {report}",), body=text)
