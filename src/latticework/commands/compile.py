"""`compile`: a plan and a client file from a program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latticework.commands.command_files import prepare, require_folder
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.compiling import compile_with, list_files
from latticework.commands.named_words import read_limits
from latticework.commands.programs import load_program
from latticework.commands.stage_files import compile_stage_file, list_stage_files, write_stage_files
from latticework.errors import UserError
from latticework.report import kept_data, kept_lines, plain_data, report_ending


def compile(
    talk: CommandOutput,
    program: str,
    output: Path,
    force: bool,
    report: Path | None,
    loading: Mapping[str, Any],
    keywords: Mapping[str, Any],
    stages: Mapping[str, Any],
) -> Outcome:
    """Write the plan of a program and, beside it, the client file; see the table of commands."""
    client_file = output.with_suffix(".lwclient")
    if report is not None:
        report_ending(report, program)
    outputs = [output, client_file, *([report] if report is not None else [])]
    edited, dump = stages["ir"], stages["dump"]
    if dump is not None:
        require_folder(dump.parent)
        dump.mkdir(exist_ok=True)
        outputs += list_stage_files(dump)
    if stages["changes_results"] and edited is None:
        raise UserError("--changes-results is of an edited text: give --ir FILE with it")
    prepare(talk, *outputs, force=force, inputs=list_files(program, keywords, edited))
    limits = read_limits(loading["limits"])
    with talk.step("load the program"):
        found = load_program(program, **loading)
    model = compile_with(talk, found, keywords, limits, keep_ir=dump is not None or edited is not None)
    if edited is not None:
        with talk.step("go on from the text"):
            model = compile_stage_file(model, edited, limits, changes_results=stages["changes_results"])
    with talk.step("write the files"):
        texts = [] if dump is None else write_stage_files(model, dump)
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
        "stages": [str(file) for file in texts],
        "changes": list(model.plan.changes),
        "kept": plain_data(kept_data(model.plan.kept)),
    }
    wrote = [f"wrote {output} (for the server) and {client_file} (for the client)"]
    wrote += [f"wrote {report}"] if report is not None else []
    wrote += [f"wrote {dump} (the program at {len(texts)} stages)"] if texts else []
    kept = () if model.plan.kept is None else kept_lines(model.plan.kept)
    return Outcome(facts, (str(model), *kept, *wrote))
