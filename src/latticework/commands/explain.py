"""`explain`: what is in a file."""

from __future__ import annotations

from pathlib import Path

from latticework.commands.command_files import prepare, source
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.errors import UserError
from latticework.plan.files.serialise import read_plan
from latticework.report import (
    build_report,
    explain_file,
    file_facts,
    memory_data,
    memory_text,
    report_ending,
    under_budget,
)


def explain(
    talk: CommandOutput,
    file: Path,
    report: Path | None,
    memory: str | None,
    runs: int,
    force: bool,
) -> Outcome:
    """Describe a file, and for a plan the whole report; see the table of commands."""
    if report is not None:
        report_ending(report, str(file))
        prepare(talk, report, force=force, inputs=[file])
    if memory is not None:
        return _explain_memory(file, memory, runs, report)
    if runs != 1:
        raise UserError("--runs says how many runs --memory has room for: give --memory, or leave it out")
    given = source(file)
    facts = {"file": str(file), **file_facts(given, with_report=talk.json)}
    text = "" if talk.json else explain_file(given)
    if report is None:
        return Outcome(facts, body=text)
    build_report(read_plan(given)).save(report)
    return Outcome({**facts, "written": str(report)}, (f"wrote {report}",), body=text)


def _explain_memory(file: Path, memory: str, runs: int, report: Path | None) -> Outcome:
    """Explain how a server shares out a budget of memory; the report, if there is to be one, says so among all else."""
    plan = read_plan(source(file))
    if report is None:
        found = under_budget(plan, memory, runs=runs)
        return Outcome({"file": str(file), "memory": memory_data(found)}, body=memory_text(found))
    made = build_report(plan, memory=memory, runs=runs)
    assert made.execution is not None and made.execution.under_budget is not None
    found = made.execution.under_budget
    made.save(report)
    facts = {"file": str(file), "memory": memory_data(found), "written": str(report)}
    return Outcome(facts, (f"wrote {report}",), body=memory_text(found))
