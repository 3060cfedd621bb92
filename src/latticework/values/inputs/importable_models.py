"""Models of other packages, which are no programs yet, and the call that makes one of each; nothing is imported."""

from __future__ import annotations

import os
from typing import Any

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Importer:
    """A function that makes a program of a model of another package.

    name  of the function;  what  it takes, as a phrase;  call  that makes the program
    """

    name: str
    what: str
    call: str


_ESTIMATOR = Importer("from_sklearn", "an estimator of scikit-learn", "lw.from_sklearn(estimator)")
_SUFFIXES = {
    ".onnx": Importer("from_onnx", "the path of an ONNX file", "lw.from_onnx(path)"),
    ".skops": Importer("from_sklearn", "the path of a skops file", "lw.from_sklearn(lw.load_skops(path))"),
}
_CLASSES = {  # package and name of an ancestor
    ("torch", "Module"): Importer("from_torch", "a PyTorch module", "lw.from_torch(module, example)"),
    ("torch", "ExportedProgram"): Importer("from_torch", "an exported PyTorch program", "lw.from_torch(exported)"),
    ("onnx", "ModelProto"): Importer("from_onnx", "an ONNX model", "lw.from_onnx(model)"),
}


def find_importer(given: Any) -> Importer | None:
    """The importer of an object or a path; None for what none takes."""
    if isinstance(given, str | os.PathLike):
        return _SUFFIXES.get(os.path.splitext(os.fspath(given))[1].lower())
    for each in given.__mro__ if isinstance(given, type) else type(given).__mro__:
        if found := _CLASSES.get((each.__module__.partition(".")[0], each.__name__)):
            return found
    return _ESTIMATOR if hasattr(given, "fit") and hasattr(given, "get_params") else None
