"""`keygen`: the keys of a program."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latticework.commands.command_files import refuse_existing, require_folder
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.progress import ProgressBar
from latticework.runtime.client.client import Client
from latticework.runtime.events import Event, OnEvent
from latticework.runtime.keys.key_folder import is_begun
from latticework.runtime.keys.key_sets import EVALUATION_FILE, PUBLIC_FILE, SECRET_FILE, refuse_existing_key
from latticework.runtime.keys.more_keys import add_keys
from latticework.values.extension import _core

ADDED_FILE = "added.lwkeys"


def keygen(
    talk: CommandOutput,
    client: Path,
    output: Path,
    add: bool,
    force: bool,
    opening: Mapping[str, Any],
) -> Outcome:
    """Write keys for a client file; see the table of commands."""
    if output.exists() and not output.is_dir():
        raise NotADirectoryError(f"{output} is not a folder; keys are written into one, which is made if need be")
    if add:
        refuse_existing(output / ADDED_FILE, force=force)
        return _add_keys(talk, Client.load(client, **opening), output)
    require_folder(output if output.exists() else next(p for p in output.absolute().parents if p.exists()))
    begun = is_begun(output)
    if not begun:
        refuse_existing_key(output)
    for file in (EVALUATION_FILE,) if begun else (EVALUATION_FILE, PUBLIC_FILE):
        refuse_existing(output / file, force=force)
    owner = Client.load(client, **opening)
    found: list[Event] = []
    try:
        with ProgressBar("making keys") as bar:
            owner.keygen(output, on_event=_both(talk.listener(bar), found.append))
    except (KeyboardInterrupt, OSError) as error:
        if getattr(error, "errno", None) != errno.EBUSY and is_begun(output):
            talk.warn(f"the keys made so far are in {output}: the same command goes on with them")
        raise
    num_kept = sum(event.op == "kept" for event in found)
    lines = [f"wrote {output}/: secret.lwkey stays with you; give evaluation.lwkeys to the server"]
    if begun:
        lines.insert(0, f"went on with keys that were begun: {num_kept} of {len(found)} were there")
    return Outcome(
        {
            "folder": str(output),
            "secret_key": str(output / SECRET_FILE),
            "public_key": str(output / PUBLIC_FILE),
            "evaluation_keys": str(output / EVALUATION_FILE),
            "num_evaluation_keys": len(owner.spec.manifest.uses),
            "num_kept": num_kept,
        },
        tuple(lines),
    )


def _add_keys(talk: CommandOutput, owner: Client, folder: Path) -> Outcome:
    """Make what the keys of a folder lack, and add it to them; what is to be sent lies beside."""
    owner.load_keys(folder)
    with ProgressBar("making keys") as bar:
        more = owner.public_keys(beside=folder, on_event=talk.listener(bar))
    count, added = len(more.evaluation), folder / ADDED_FILE
    said = "the keys that are there do: nothing is made, and nothing to be sent"
    if count:
        assert isinstance(more.evaluation, _core.EvaluationKeys)
        _core.save_evaluation_keys(added, more.evaluation)
        add_keys(owner.spec, owner.context, folder, added)
        said = f"made {count} of {len(owner.spec.manifest.uses)} keys: give {added} to the server, for `addkeys`"
    return Outcome(
        {
            "folder": str(folder),
            "added_keys": str(added) if count else None,
            "num_evaluation_keys": len(owner.spec.manifest.uses),
            "num_added": count,
        },
        (said,),
    )


def _both(one: OnEvent, other: OnEvent) -> OnEvent:
    def listen(event: Event) -> None:
        one(event)
        other(event)

    return listen
