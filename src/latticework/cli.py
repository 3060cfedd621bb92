"""The command line; `main` is its entry point. Each command is a module of `commands/`, loaded when it is called."""

from __future__ import annotations

import os
import signal
import sys

from latticework.commands.command_output import INTERRUPTED
from latticework.commands.command_parser import app, load_command, run_command_line
from latticework.commands.command_table import COMMANDS

__all__ = ["COMMANDS", "app", "load_command", "main"]


def main() -> None:
    """Entry point. Ctrl-C ends the process by its signal, so that loops and scripts of a shell end with it."""
    if sys.stderr is None:  # closed; what is printed to None would go to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        run_command_line()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        raise
