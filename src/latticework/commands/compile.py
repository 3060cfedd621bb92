"""`compile`: a plan and a client file from a program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latticework.commands.command_files import prepare
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.compiling import compile_with, list_files
from latticework.commands.programs import load_program
from latticework.report import report_ending
from latticework.values.inputs.reading_budget import limits_of


def compile(
    talk: CommandOutput,
    program: str,
    output: Path,
    force: bool,
    report: Path | None,
    loading: Mapping[str, Any],
    keywords: Mapping[str, Any],
) -> Outcome:
    """Write the plan of a program and, beside it, the client file; see the table of commands."""
    client_file = output.with_suffix(".lwclient")
    if report is not None:
        report_ending(report, program)
    outputs = [output, client_file, *([report] if report is not None else [])]
    prepare(talk, *outputs, force=force, inputs=list_files(program, keywords))
    with talk.step("load the program"):
        found = load_program(program, **loading)
    model = compile_with(talk, found, keywords, limits_of(loading["limits"] or []))
    with talk.step("write the files"):
        model.save(output)
        model.client().save(client_file)
        if report is not None:
            model.report().save(report)
    chain = model.plan.chain
    facts = {
        "plan": str(output),
        "client": str(client_file),
        "report": None if report is None else str(report),
        "program": model.plan.client.name,
        "scheme": chain.scheme,
        "ring_degree": chain.ring_degree,
        "num_evaluation_keys": len(model.plan.keys),
        "rows": model.plan.client.rows,
        "insecure": chain.insecure,
    }
    wrote = [f"wrote {output} (for the server) and {client_file} (for the client)"]
    return Outcome(facts, (str(model), *wrote, *([f"wrote {report}"] if report is not None else [])))
