"""Commands, their arguments and options, and what the command line ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from enum import Enum
from io import StringIO
from pathlib import Path
from typing import Any, get_args

from lists import Entries
from typer.main import get_command

from latticework import cli, errors
from latticework.commands.command_output import CommandOutput, Outcome, attempt

TYPES = {str: "a word", Path: "a file", int: "a whole number", float: "a number", bool: "true or false"}


def collect() -> Entries:
    """`compile --degree  a word, default none`; `exit status of a UserError  1`."""
    entries: Entries = {}
    for name, command in (("latticework", None), *((name, cli.load_command(name)) for name in cli.COMMANDS)):
        title = name if command is None else f"latticework {name}"
        entries[title] = "command"
        for parameter in (get_command(cli.app) if command is None else command).params:
            for word, what in _words(parameter):
                entries[f"{title} {word}"] = what
    return entries | _exit_statuses()


def _words(parameter: Any) -> Iterator[tuple[str, str]]:
    """An argument, or every name of an option."""
    kind = _kind(parameter)
    if parameter.param_type_name == "argument":
        yield parameter.name.upper(), f"argument, {kind}" + ("" if parameter.required else ", may be left out")
        return
    given = parameter.default
    default = "none" if given in (None, ()) else f"{given:g}" if isinstance(given, int | float) else str(given)
    what = kind if parameter.is_flag else f"{kind}, default {default}"
    for name in parameter.opts:
        yield name, what + (", needed" if parameter.required else "")
    for name in parameter.secondary_opts:
        yield name, "the flag's opposite"


def _kind(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return "flag"
    annotation = parameter.type_descriptor.annotation
    annotation = (get_args(annotation) or (annotation,))[0]  # of one of many
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        kind = f"one of {', '.join(str(choice.value) for choice in annotation)}"
    else:
        kind = parameter.metavar or TYPES[annotation]
    several = parameter.nargs != 1 or getattr(parameter, "multiple", False)
    ends = ("" if end is None else f" {word} {end}" for word, end in (("from", parameter.min), ("to", parameter.max)))
    return f"{kind}{', any number of times' if several else ''}{''.join(ends)}"


def _exit_statuses() -> Entries:
    faults = (errors.UserError, errors.FormatError, FileNotFoundError, OSError, MemoryError, RuntimeError)
    others = (KeyboardInterrupt, BrokenPipeError)
    found = {f"exit status of {kind.__name__}": str(_status(_raises(kind))) for kind in (*faults, *others)}
    found["exit status of success"] = str(_status(lambda: Outcome({})))
    with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
        try:
            cli.app(["version", "--there-is-no-such-option"])
        except SystemExit as end:
            found["exit status of a wrong command line"] = str(end.code)
    return found


def _raises(kind: type[BaseException]) -> Callable[[], Outcome]:
    def work() -> Outcome:
        raise kind("asked for")

    return work


def _status(work: Callable[[], Outcome]) -> int:
    with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
        return attempt(CommandOutput("version", json=True), work)
