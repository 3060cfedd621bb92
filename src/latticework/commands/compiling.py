"""The part that `compile` and `accuracy` share: a program by the name of its file, compiled as options say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latticework.commands.array_files import read_arrays, read_values
from latticework.commands.command_output import CommandOutput
from latticework.compiler.compile import compile as compile_program
from latticework.compiler.options.option import CommandForm
from latticework.compiler.options.option_records import OPTIONS
from latticework.frontend import Circuit, Program
from latticework.model import Model
from latticework.progress import ProgressBar
from latticework.values.inputs.reading_budget import ReadingLimits


def list_files(program: str, keywords: Mapping[str, Any], *others: Path | None) -> list[Path]:
    """The files that are read: the program's, those of options, and others."""
    given = [value for value in keywords.values() if isinstance(value, Path)]
    return [Path(program.partition(":")[0]), *given, *(file for file in others if file is not None)]


def compile_with(
    talk: CommandOutput,
    program: Program | Circuit,
    keywords: Mapping[str, Any],
    limits: ReadingLimits,
    *,
    keep_ir: bool = False,
) -> Model:
    """The model of a program.

    keywords  of `lw.compile`, as the command line has them;  limits  of what files may take
    keep_ir   as of `lw.compile`
    """
    with ProgressBar("compiling") as bar:
        return compile_program(
            program,
            on_event=talk.listener(bar),
            progress=False,  # the bar is shown from the start
            keep_ir=keep_ir,
            **{name: read_keyword(name, value, limits) for name, value in keywords.items() if value is not None},
        )


def read_keyword(name: str, given: Any, limits: ReadingLimits) -> Any:
    """The value of a keyword of `lw.compile` that is given so to a command; texts that are none stay so."""
    match OPTIONS[name].form:
        case CommandForm.ARRAYS:
            return read_arrays(given, limits)
        case CommandForm.VALUES:
            return read_values(given, limits)
        case CommandForm.WHOLE_OR_NAME:
            return int(given) if given.isdecimal() else given
        case CommandForm.NUMBER_OR_NAME:
            try:
                return float(given)
            except ValueError:
                return given
        case _:
            return given
