"""Programs by the names of their files: Python, HEIR's text, and trained models."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from latticework.commands.command_output import UsageError
from latticework.commands.named_words import read_limits, read_shapes
from latticework.errors import TraceError, UserError
from latticework.frontend import Circuit, Program
from latticework.frontend.heir import from_heir
from latticework.models.average_pooling import Pools, check_pools
from latticework.models.onnx import from_onnx
from latticework.models.onnx.input_shapes import UnknownNameError
from latticework.models.pytorch.exported_files import load_exported
from latticework.models.pytorch.import_pytorch import from_torch
from latticework.models.sklearn import from_sklearn
from latticework.models.sklearn.skops_files import load_skops
from latticework.values.inputs.importable_models import find_importer
from latticework.values.inputs.keras_models import find_keras_way
from latticework.values.inputs.reading_budget import ReadingLimits


def load_program(
    argument: str,
    *,
    trust: bool = False,
    shapes: list[str] | None = None,
    limits: list[str] | None = None,
    pools: str = "keep",
) -> Program | Circuit:
    """The program or circuit of FILE.py[:NAME], the program of FILE.mlir[:NAME], or that of a trained model.

    trust   whether files of models may execute code
    shapes  of inputs and free dimensions of an ONNX model
    limits  of what a file of HEIR or of a model may have us do, such as work=N
    pools   "average": the mean in the place of the largest element of pools of a model
    raises  UsageError for a name in shapes or limits that there is not; TraceError if there is none of that name, or
            several and no name, or if the file cannot be executed; SecurityError for models that are not trusted; as
            from_onnx, from_torch and from_sklearn
    """
    file, _, name = argument.partition(":")
    path, allowed, extents = Path(file), read_limits(limits), read_shapes(shapes)
    if way := find_keras_way(path):
        raise UserError(way)
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    if path.suffix == ".ir":
        raise UserError(
            f"{path} is the text of a stage; name its program, and the text after --ir: PROGRAM --ir {path}"
        )
    wanted: Pools = "average" if check_pools("load_program", pools) else "keep"
    if pools != "keep" and path.suffix not in (".onnx", ".pt2"):
        raise UserError(f"--pools {pools} is for models of ONNX and PyTorch; {path.name} is none: leave it out")
    if extents and path.suffix != ".onnx":
        raise UserError(f"--shape is for models of ONNX; {path.name} is none: leave it out")
    if path.suffix == ".mlir":
        return from_heir(path, name or None, limits=allowed)
    if path.suffix == ".onnx":
        try:
            return from_onnx(path, extents, limits=allowed, pools=wanted)
        except UnknownNameError as error:
            raise UsageError(error.message) from None
    if path.suffix == ".pt2":
        return from_torch(_load_exported(path, trust=trust, limits=allowed), limits=allowed, pools=wanted)
    if path.suffix == ".skops":
        return from_sklearn(load_skops(path, limits=allowed), name or None, limits=allowed)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TraceError(f"{path} is not a Python file; name it something.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except UserError as error:
        raise type(error)(error.message, at=error.at or _place(str(spec.origin), error)) from None
    except (Exception, SystemExit) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise TraceError(
            f"executing the file raised {type(error).__name__}: {what}; mend it until `python {path}` runs",
            at=_place(str(spec.origin), error),
        ) from None
    finally:
        sys.path.pop(0)
    programs = {k: v for k, v in vars(module).items() if isinstance(v, Program | Circuit)}
    if name and name in programs:
        return programs[name]
    if not name and len(programs) == 1:
        return next(iter(programs.values()))
    listed = ", ".join(programs) or "none"
    importer = find_importer(vars(module).get(name)) if name else None
    raise TraceError(
        f"{path} has these programs: {listed}; "
        + (
            f"{name} is {importer.what}: make a program of it there, {importer.call}, and name that"
            if importer
            else f"name one as {path}:NAME (decorated with @lw.program or @lw.circuit)"
        )
    )


def _load_exported(path: Path, *, trust: bool, limits: ReadingLimits) -> Any:
    try:
        return load_exported(path, trust, limits=limits)
    except UserError as error:  # at a line of ours
        raise type(error)(error.message) from None


def _place(file: str, error: BaseException) -> str:
    """The line of a user's file that an exception comes from, as file:line."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else file
