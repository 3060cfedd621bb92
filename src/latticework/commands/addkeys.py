"""`addkeys`: evaluation keys that are added to those of a server."""

from __future__ import annotations

from pathlib import Path

from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.key_files import key_file
from latticework.plan.files.serialise import read_client
from latticework.runtime.keys.key_sets import EVALUATION_FILE
from latticework.runtime.keys.more_keys import add_keys
from latticework.runtime.options import open_context


def addkeys(talk: CommandOutput, plan: Path, added: Path, keys: Path | None) -> Outcome:
    """Add evaluation keys to a file of them; see the table of commands."""
    file = key_file(keys, EVALUATION_FILE)
    with talk.step("add the keys"):
        spec = read_client(plan)
        number, count = add_keys(spec, open_context(spec.chain, "cpu", 0), file, added)
    said = f"added {number} to {file}, which holds {count}" if number else f"{file} holds all of {added} already"
    return Outcome({"evaluation_keys": str(file), "num_added": number, "num_evaluation_keys": count}, (said,))
