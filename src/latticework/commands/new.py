"""`new`: a small project that runs, to begin one's own with."""

from __future__ import annotations

import shlex
from importlib.resources import files
from pathlib import Path

from latticework.commands.command_output import CommandOutput, Outcome

COMMON = "any"
FOLDERS = ("client", "server")
ENDING = ".txt"  # of the files that are copied, which are no part of this package


def new(talk: CommandOutput, kind: str, folder: Path) -> Outcome:
    """Write a project into a new folder; see the table of commands.

    raises  FileExistsError if the folder is there and holds something; OSError as writing does
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} is there already, and not empty: give a new folder; nothing was written")
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    written = []
    for part in (kind, COMMON):
        for template in files("latticework.commands").joinpath("templates", part).iterdir():
            path = folder / template.name.removesuffix(ENDING)
            path.write_text(template.read_text("utf-8"), "utf-8")
            written.append(str(path))
    lines = (
        f"wrote {', '.join(sorted(written))}",
        f"cd {shlex.quote(str(folder))}",
        *(f"python {each}" for each in ("model.py", "client.py encrypt", "server.py", "client.py decrypt")),
    )
    return Outcome({"folder": str(folder), "written": sorted(written)}, lines)
