"""`keygen`: the keys of a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.console import Insecure, Threads, reported, say, tidy
from latticework.progress import ProgressBar
from latticework.runtime import Client
from latticework.runtime.keys import refuse_existing_key


@reported
def keygen(
    client: Annotated[Path, typer.Argument(help="Client file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the keys.")] = Path("keys"),
    threads: Threads = 0,
    insecure: Insecure = False,
) -> None:
    """Make a secret key and exactly the evaluation keys that the program needs."""
    refuse_existing_key(output)
    tidy(output)
    owner = Client.load(client, threads=threads, allow_insecure=insecure)
    with ProgressBar("making keys") as bar:
        keys = owner.keygen(on_event=bar)
    keys.save(output)
    say(f"wrote {output}/: secret.lwkey stays with you; give evaluation.lwkeys to the server")
