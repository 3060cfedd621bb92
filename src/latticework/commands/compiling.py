"""The part that `compile` and `accuracy` share: a program by the name of its file, compiled as options say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latticework.commands.array_files import read_arrays, read_values
from latticework.commands.command_output import CommandOutput
from latticework.commands.table_files import is_table, type_cells
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
            **{
                name: type_rows(program, read_keyword(name, value, limits))
                for name, value in keywords.items()
                if value is not None
            },
        )


def type_rows(program: Program | Circuit, read: Any) -> Any:
    """Turn cells of a table into what a program's only input takes; other values stay as they are."""
    stages = program.owner if isinstance(program, Program) else None
    names = [each.name for each in program.inputs]
    names = names if stages is None else stages.given_for(names)
    given = () if stages is None else stages.given
    columns = next((each.columns for each in given if names and each.name == names[0]), ())
    return type_cells(read, stages, names[0] if names else "", columns)


def read_keyword(name: str, given: Any, limits: ReadingLimits) -> Any:
    """The value of a keyword of `lw.compile` that is given so to a command; texts that are none stay so."""
    match OPTIONS[name].form:
        case CommandForm.ARRAYS:
            return read_values(given, limits) if is_table(given) else read_arrays(given, limits)
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
