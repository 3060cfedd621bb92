"""`explain`: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.files import Force, prepare, source
from latticework.commands.talk import Outcome, Talk, reported
from latticework.plan.serialise import read_plan
from latticework.report import build_report, explain_file, file_facts


@reported
def explain(
    talk: Talk,
    file: Annotated[Path, typer.Argument(help="Any file of latticework; - for standard input.")],
    html: Annotated[Path | None, typer.Option(help="Write a plan's report as HTML.")] = None,
    force: Force = False,
) -> Outcome:
    """Say what a file is and what is in it; for a plan, the whole report."""
    if html is not None:
        prepare(talk, html, force=force, inputs=[file])
    given = source(file)
    facts = {"file": str(file), **file_facts(given)}
    text = "" if talk.json else explain_file(given)
    if html is None:
        return Outcome(facts, body=text)
    build_report(read_plan(given)).save(html)
    return Outcome({**facts, "html": str(html)}, (f"wrote {html}",), body=text)
