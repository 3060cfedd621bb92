"""The command line; `main` is its entry point. Each command is a module of `commands/`, loaded when it is called."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from latticework.commands.command_output import INTERRUPTED
from latticework.commands.command_table import COMMANDS
from latticework.commands.plain_words import run_plain_words

if TYPE_CHECKING:
    from latticework.commands.command_parser import app, load_command

__all__ = ["COMMANDS", "app", "load_command", "main"]


def main() -> None:
    """Entry point. Ctrl-C ends the process by its signal, so that loops and scripts of a shell end with it."""
    if sys.stderr is None:  # closed; what is printed to None would go to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        status = run_plain_words(sys.argv[1:])
        if status is not None:
            sys.exit(status)
        _load_parser().run_command_line()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        raise


def _load_parser() -> Any:
    """The parser of all command lines, which takes long to load; most need it not."""
    return import_module("latticework.commands.command_parser")


def __getattr__(name: str) -> Any:
    if name in ("app", "load_command"):
        return getattr(_load_parser(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
