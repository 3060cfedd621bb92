"""The command line; `main` is its entry point. Each command is a module of `commands/`, loaded when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

# Name -> settings. The function of that name, in the module of that name, is the command.
COMMANDS: dict[str, dict[str, Any]] = {
    "compile": {},
    "keygen": {},
    "encrypt": {},
    "run": {},
    "decrypt": {},
    "explain": {},
    "calibrate": {},
    "bench": {  # passes all its words on
        "context_settings": {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
        "add_help_option": False,
    },
    "version": {},
}


def load_command(name: str) -> Any:
    """A command, as typer runs it."""
    function = getattr(import_module(f"latticework.commands.{name}"), name)
    single = typer.Typer(add_completion=False)
    single.command(name, **COMMANDS[name])(function)
    return get_command(single)


class Commands(TyperGroup):
    """The commands by name, None until they are asked for: each loads what it needs and nothing else."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, None if there is none."""
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            self.commands[cmd_name] = load_command(cmd_name)
        return self.commands.get(cmd_name)


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


@app.callback()
def latticework() -> None:
    """Compile NumPy-like programs to run on encrypted data, and run them."""


def main() -> None:
    """Entry point."""
    app()
