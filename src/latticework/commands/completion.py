"""`completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.command_parser import make_completion_script

# Where a shell looks by itself, or which line of its settings reads the script.
INSTALL = {
    "bash": "latticework completion bash > ~/.local/share/bash-completion/completions/latticework",
    "zsh": "latticework completion zsh > ~/.zfunc/_latticework   (with ~/.zfunc in fpath before compinit)",
    "fish": "latticework completion fish > ~/.config/fish/completions/latticework.fish",
}


def completion(talk: CommandOutput, shell: str) -> Outcome:
    """Tell the script of a shell; its first line says where to put it."""
    script = make_completion_script(shell)
    return Outcome({"shell": shell, "script": script}, body=f"# {INSTALL[shell]}\n{script}")
