"""`prepare`: constants that are encoded ahead of runs."""

from __future__ import annotations

import time
from pathlib import Path

from latticework.commands import command_files
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.errors.shown import size
from latticework.plan.files.serialise import read_plan
from latticework.runtime.server.prepared import prepare_constants


def prepare(talk: CommandOutput, plan: Path, output: Path, force: bool, threads: int) -> Outcome:
    """Write the encoded constants of a plan to a file; see the table of commands."""
    command_files.prepare(talk, output, force=force, inputs=[plan])
    started = time.perf_counter()
    with talk.step("encode the constants"):
        written = prepare_constants(read_plan(plan), output, threads=threads)
    seconds = time.perf_counter() - started
    return Outcome(
        {"prepared": str(output), "bytes": written, "seconds": seconds},
        (f"wrote {output} ({size(written)}), for servers on machines like this one",),
    )
