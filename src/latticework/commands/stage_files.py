"""Texts of the stages of a program, in a folder: written by `compile --dump`, read by `compile --ir`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from latticework.commands.array_files import array_bytes, read_arrays
from latticework.compiler.compile_ir import compile_ir
from latticework.compiler.stage_table import NAMES
from latticework.errors import IrError
from latticework.model import Model
from latticework.values.extension import _core
from latticework.values.inputs.reading_budget import ReadingLimits, read_bytes

CONSTANTS = "constants.npz"


def list_stage_files(folder: Path) -> list[Path]:
    """Files that a dump may have: one for each stage, and the arrays that they name."""
    return [*(folder / _name_file(stage) for stage in NAMES), folder / CONSTANTS]


def write_stage_files(model: Model, folder: Path) -> Sequence[Path]:
    """Write the texts of all stages of a model, and their constants by hash; what an older dump has more goes away."""
    files = {stage: folder / _name_file(stage) for stage in NAMES}
    for stage, file in files.items():
        if stage in model.ir_stages:
            _core.write_file_atomic(str(file), model.ir(stage).encode(), 0o644)
        else:
            file.unlink(missing_ok=True)
    constants = array_bytes(model.ir_constants(), named=True)
    _core.write_file_atomic(str(folder / CONSTANTS), constants, 0o644)
    return [files[stage] for stage in model.ir_stages]


def compile_stage_file(model: Model, file: Path, limits: ReadingLimits, *, changes_results: bool) -> Model:
    """Go on from a text of a stage of a model, with the arrays of the file of constants beside it.

    raises  as `lw.compile_ir`; IrError for what is no text; FormatError for what are no arrays
    """
    found = read_bytes(file, "compile", "the text of a stage", limits, "the text")
    try:
        text = found.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise IrError(f"{file} is no text: {error.reason} at byte {error.start}") from None
    beside = file.parent / CONSTANTS
    constants = list(read_arrays(beside, limits).values()) if beside.exists() else []
    return compile_ir(text, model, constants=constants, changes_results=changes_results, name=file.name)


def _name_file(stage: str) -> str:
    return f"{NAMES.index(stage) + 1}-{stage}.ir"
