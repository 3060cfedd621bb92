"""`lw.quote`: what a model will cost, before it is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from latticework.compiler.quoting import SECONDS, quote_program
from latticework.errors import DtypeError
from latticework.frontend import Circuit, Program
from latticework.models.onnx import from_onnx
from latticework.models.pytorch.import_pytorch import from_torch
from latticework.models.sklearn import from_sklearn
from latticework.models.sklearn.skops_files import load_skops
from latticework.report.quoted import Quote
from latticework.values.inputs.importable_models import find_importer


def quote(
    model: Any, data: Any = None, *, method: str | None = None, seconds: float = SECONDS, **options: Any
) -> Quote:
    """Estimate what compiling a model would find, in five seconds: levels, time, memory, keys, at three precisions.

    Small programs are compiled on few rows, and large ones sketched by their layers; the quote says which, names the
    dearest layers, and what would make them cheaper. `print` it.

    model    a program or a circuit, a PyTorch module, the path of an ONNX file, or a fitted estimator of scikit-learn
    data     like what will be encrypted, as `compile(calibrate=)` takes it
    method   of an estimator, as `lw.from_sklearn` takes it
    seconds  that it may take;  options  keywords of `lw.compile`
    raises   UserError for what cannot be compiled whatever it costs
    """
    program = _as_program(model, data, method)
    if data is not None:
        options = {"calibrate": data, **options}
    return quote_program(program, options, seconds=seconds)


def _as_program(model: Any, data: Any, method: str | None) -> Program | Circuit:
    """A model as what `lw.compile` takes."""
    if isinstance(model, Program | Circuit):
        return model
    importer = find_importer(model)
    by = "" if importer is None else importer.name
    if by == "from_onnx":
        return from_onnx(model)
    if by == "from_torch":
        return from_torch(model, None if data is None else np.asarray(data)[:1])
    if by == "from_sklearn":
        return from_sklearn(load_skops(model) if isinstance(model, str | Path) else model, method)
    raise DtypeError(
        f"quote: the model is a {type(model).__name__}; give a program or a circuit, a PyTorch module, the path of an "
        ".onnx file, or a fitted estimator of scikit-learn"
    )
