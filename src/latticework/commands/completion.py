"""`completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from latticework.commands.talk import Outcome, Talk, report_outcome


class Shell(StrEnum):
    """The shells that there are scripts for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


# Where a shell looks by itself, or which line of its settings reads the script.
INSTALL = {
    Shell.BASH: "latticework completion bash > ~/.local/share/bash-completion/completions/latticework",
    Shell.ZSH: "latticework completion zsh > ~/.zfunc/_latticework   (with ~/.zfunc in fpath before compinit)",
    Shell.FISH: "latticework completion fish > ~/.config/fish/completions/latticework.fish",
}


@report_outcome
def completion(talk: Talk, shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> Outcome:
    """Print what lets a shell complete commands and options; its first line says where to put it."""
    script = get_completion_script(prog_name="latticework", complete_var="_LATTICEWORK_COMPLETE", shell=shell.value)
    return Outcome({"shell": shell.value, "script": script}, body=f"# {INSTALL[shell]}\n{script}")
