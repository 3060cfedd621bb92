"""The command line; `main` is its entry point. Each command is a module of `commands/`, loaded when it is called."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from latticework import __version__
from latticework.commands.talk import DONE, EXIT_STATUS, INTERRUPTED, report_misuse

UsageError: Any = typer.BadParameter.__base__  # typer's own name for it is private

PROGRAM = "latticework"

# Name -> what it does, as its docstring says. The function of that name, in the module of that name, is the command.
COMMANDS = {
    "compile": "Compile a program or a circuit to the server's plan and, beside it, the client file (no weights).",
    "accuracy": "Say how accurate a program is on data, with polynomials, noise and encryption, and where it loses.",
    "inspect": "Say what a model consists of, where each operator runs, and what cannot be computed; without data.",
    "keygen": "Make a secret key and exactly the evaluation keys that the program needs.",
    "encrypt": "Encrypt the inputs of one run, with the secret key or, as anybody can, with the public key.",
    "run": "Evaluate a program on encrypted inputs. Needs no secret key, and refuses one.",
    "decrypt": "Decrypt the outputs of a run, for the key owner: the low bits of a result reveal the key if published.",
    "explain": "Say what a file is and what is in it; for a plan, the whole report.",
    "keys": "Place loads of rotation keys in a program of HEIR, for a budget of memory.",
    "measure": "Measure what operations cost on this machine, for `compile --cost-table`.",
    "bench": "Run a benchmark of the source tree: `bench SUITE`, `bench SUITE --help`; `bench` alone lists suites.",
    "version": "Print the version.",
    "completion": "Print what lets a shell complete commands and options; its first line says where to put it.",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "bench": {  # passes all its words on
        "context_settings": {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
        "add_help_option": False,
    },
}


def load_command(name: str) -> Any:
    """A command, as typer runs it."""
    function = getattr(import_module(f"latticework.commands.{name}"), name)
    single = typer.Typer(add_completion=False)
    single.command(name, **SETTINGS.get(name, {}))(function)
    return with_bare_flags(get_command(single))


def with_bare_flags(command: Any) -> Any:
    """A command whose help shows --json and not `--json <bool>`, which reads as if a word had to follow."""
    help_option = command.get_help_option(typer.Context(command))
    for option in [*command.params, *([help_option] if help_option is not None else [])]:
        if getattr(option, "is_flag", False):
            option.display_type_rich = lambda ctx: None
    return command


class Commands(TyperGroup):
    """The commands by name and what they do: the one that is called is loaded, and nothing else."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        with_bare_flags(self)
        self.commands: dict[str, Any] = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the first word names, loaded; a UsageError of typer's if there is none."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load_command(str(name)), rest

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        *settings: Any,
        **extra: Any,
    ) -> Any:
        """As typer's, but that a wrong command line is answered in JSON where it asks for that."""
        words = list(sys.argv[1:] if args is None else args)
        if not standalone_mode or "--json" not in words:
            return super().main(words, prog_name, complete_var, standalone_mode, *settings, **extra)
        try:
            status = super().main(words, prog_name, complete_var, False, *settings, **extra)
        except UsageError as error:
            status = report_misuse(error)
        return sys.exit(status or DONE)


ENDINGS = "Exit status: " + "; ".join(f"{status} {meaning}" for status, meaning in EXIT_STATUS.items()) + "."
app = typer.Typer(
    cls=Commands, epilog=ENDINGS, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
)


def _show_version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def latticework(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compile NumPy-like programs to run on encrypted data, and run them."""


def main() -> None:
    """Entry point. Ctrl-C ends the process by its signal, so that loops and scripts of a shell end with it."""
    if sys.stderr is None:  # closed; what is printed to None would go to standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if f"_{PROGRAM.upper()}_COMPLETE" in os.environ:
        completion_init()
    try:
        app(prog_name=PROGRAM)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        raise
