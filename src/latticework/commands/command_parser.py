"""The parser of all command lines, made of the table of commands: all that knows which package it is built on.

`app` runs a command line; `load_command` is one command as that package has it. What `plain_words.py` reads never gets
here: this writes help, completes words, and says what is wrong with a line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from typer.completion import completion_init, get_completion_script  # type: ignore[attr-defined]
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from latticework import __version__
from latticework.commands.command_output import DONE, EXIT_STATUS, report_misuse
from latticework.commands.command_table import COMMANDS, Command, CommandOption
from latticework.commands.plain_words import COMPLETION, PROGRAM, run_command, run_plain_words

UsageError: Any = typer.BadParameter.__base__  # typer's own name for it is private

PASSED_ON: dict[str, Any] = {
    "context_settings": {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    "add_help_option": False,
}


def load_command(name: str) -> Any:
    """A command, as typer runs it."""
    single, command = typer.Typer(add_completion=False), COMMANDS[name]
    settings = PASSED_ON if command.passes_on else {}
    single.command(name, help=command.help, **settings)(_function_of(name, command))
    return with_bare_flags(get_command(single))


def _function_of(name: str, command: Command) -> Callable[..., None]:
    """A function of a command's words, with the signature that typer makes a parser of."""

    def run(**words: Any) -> None:
        given = {name: value.value if isinstance(value, Enum) else value for name, value in words.items()}
        status = run_command(name, {"words": words["context"].args} if command.passes_on else given)
        if status != DONE:
            raise typer.Exit(status)

    parameters = [_parameter(option) for option in command.all_options]
    if command.passes_on:
        parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameter(option: CommandOption) -> Parameter:
    """One word of a command, as typer reads it."""
    kind: Any = Enum(option.name.capitalize(), {c: c for c in option.choices}) if option.choices else option.type
    kind = list[kind] if option.is_several else kind
    facts: dict[str, Any] = {"help": option.help, "min": option.least}
    if option.read is not None:
        kind, facts = Any, {**facts, "parser": _read_by(option.read), "metavar": option.metavar}
    if option.is_argument:
        return Parameter(option.name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, typer.Argument(**facts)])
    bare = (option.flag,) if option.is_flag_only or option.is_several else ()
    annotation: Any = kind if option.default is not None or option.is_required else kind | None
    default = Parameter.empty if option.is_required else option.default
    shown = Annotated[annotation, typer.Option(*(option.flags or bare), **facts)]
    return Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=shown)


def _read_by(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse


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
        self.commands: dict[str, Any] = {n: TyperCommand(n, help=command.help) for n, command in COMMANDS.items()}

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
        """Run as typer does what is not plain, but answer a wrong command line in JSON where it asks for that."""
        words = list(sys.argv[1:] if args is None else args)
        status = run_plain_words(words) if standalone_mode else None
        if status is not None:
            return sys.exit(status)
        if not standalone_mode or "--json" not in words:
            return super().main(words, prog_name, complete_var, standalone_mode, *settings, **extra)
        try:
            status = super().main(words, prog_name, complete_var, False, *settings, **extra)
        except UsageError as error:
            context = error.ctx
            command = context.info_name if context is not None and context.parent is not None else ""
            status = report_misuse(command, error.format_message())
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


def run_command_line() -> None:
    """Run the command line of this process, or complete one for a shell; SystemExit with the exit status."""
    if COMPLETION in os.environ:
        completion_init()
    app(prog_name=PROGRAM)


def make_completion_script(shell: str) -> str:
    """The script that lets a shell complete commands and options."""
    return get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION, shell=shell)
