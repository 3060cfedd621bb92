"""`keygen`: the keys of a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.files import Force, Insecure, Threads, refuse_existing, require_folder, tidy
from latticework.commands.talk import Outcome, Talk, report_outcome
from latticework.progress import ProgressBar
from latticework.runtime import Client
from latticework.runtime.keys import EVALUATION_FILE, PUBLIC_FILE, SECRET_FILE, refuse_existing_key


@report_outcome
def keygen(
    talk: Talk,
    client: Annotated[Path, typer.Argument(help="Client file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the keys.")] = Path("keys"),
    force: Force = False,
    threads: Threads = 0,
    insecure: Insecure = False,
) -> Outcome:
    """Make a secret key and exactly the evaluation keys that the program needs."""
    refuse_existing_key(output)
    if output.exists() and not output.is_dir():
        raise NotADirectoryError(f"{output} is not a folder; keys are written into one, which is made if need be")
    require_folder(output if output.exists() else next(p for p in output.absolute().parents if p.exists()))
    for file in (EVALUATION_FILE, PUBLIC_FILE):
        refuse_existing(output / file, force=force)
    tidy(talk, output)
    owner = Client.load(client, threads=threads, allow_insecure=insecure)
    with ProgressBar("making keys") as bar:
        keys = owner.keygen(on_event=talk.listener(bar))
    with talk.step("write keys"):
        keys.save(output)
    return Outcome(
        {
            "folder": str(output),
            "secret_key": str(output / SECRET_FILE),
            "public_key": str(output / PUBLIC_FILE),
            "evaluation_keys": str(output / EVALUATION_FILE),
            "num_evaluation_keys": len(owner.spec.manifest.uses),
        },
        (f"wrote {output}/: secret.lwkey stays with you; give evaluation.lwkeys to the server",),
    )
