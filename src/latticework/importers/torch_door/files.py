"""Files of `torch.export.save`: read by PyTorch, which executes what they say, so only those that are trusted."""

from __future__ import annotations

import os
from typing import Any

from latticework.errors import FormatError, SecurityError
from latticework.importers.torch_door.export import first_sentence, import_torch, own_warnings_only
from latticework.user.lines import user_loc


def load_exported(path: str | os.PathLike[str], trust: bool = False) -> Any:
    """The ExportedProgram of a `.pt2` file, for `from_torch`.

    trust   that the file was made by somebody who may execute code here. `torch.export.load` unpickles the example
            inputs of a file, and the weights that it marks as pickled, without any restriction
    raises  SecurityError without trust; FormatError for what is no such file; MissingPackageError without PyTorch
    """
    name = os.fspath(path)
    if not trust:
        raise SecurityError(
            f"{name}: reading an exported program executes code that the file holds (pickled example inputs and "
            "weights); with trust=True it is read, if you know who made it. ONNX files execute nothing: lw.from_onnx",
            at=user_loc(),
        )
    torch = import_torch()
    try:
        with open(name, "rb") as file, own_warnings_only():
            return torch.export.load(file)
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror or error}", at=user_loc()) from error
    except Exception as error:
        told = f"{type(error).__name__}: {first_sentence(str(error))}"
        raise FormatError(
            f"{name} is no exported program that PyTorch {torch.__version__} reads ({told}); export it anew with "
            "torch.export.save",
            at=user_loc(),
        ) from error
