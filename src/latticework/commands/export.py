"""`export`: a plan as a program for another library."""

from __future__ import annotations

from pathlib import Path

from latticework.commands.command_files import require_folder, source
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.plan.export import export_plan
from latticework.plan.files.serialise import read_plan


def export(talk: CommandOutput, plan: Path, to: str, folder: Path, force: bool) -> Outcome:
    """Write a plan's program for another library; see the table of commands."""
    del talk  # nothing is told on the way
    require_folder(folder.absolute().parent)
    read = read_plan(source(plan))
    written = export_plan(read, to, folder, force=force)
    facts = {"program": read.client.name, "to": to, "written": [str(path) for path in written]}
    lines = [f"wrote {path}" for path in written]
    if read.chain.insecure:
        lines.append("the plan's parameters are INSECURE, and so are those of what was written")
    return Outcome(facts, tuple(lines))
