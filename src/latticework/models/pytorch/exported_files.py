"""Files of `torch.export.save`: read by PyTorch, which executes what they say, so only those that are trusted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from latticework.errors import FormatError, SecurityError, UserError
from latticework.ir.lines import user_loc
from latticework.models.pytorch.export import first_sentence, import_torch, own_warnings_only
from latticework.values.inputs.archives import check_archive
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingLimits, limit_remedy, open_regular


def load_exported(path: str | os.PathLike[str], trust: bool = False, *, limits: ReadingLimits = DEFAULTS) -> Any:
    """The ExportedProgram of a `.pt2` file, for `from_torch`.

    trust   that the file was made by somebody who may execute code here. `torch.export.load` unpickles the example
            inputs of a file, and the weights that it marks as pickled, without any restriction
    limits  of what the file unpacks to, which is checked before PyTorch reads it
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
        with open_regular(Path(name)) as file, own_warnings_only():
            size = os.fstat(file.fileno()).st_size
            if size > limits.file_bytes:
                raise FormatError(
                    f"{name} has more than {limits.file_bytes} bytes: {limit_remedy('file_bytes')}", at=user_loc()
                )
            check_archive(file, name, limits, size)
            file.seek(0)
            return torch.export.load(file)
    except UserError:
        raise
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror or error}", at=user_loc()) from error
    except Exception as error:
        told = f"{type(error).__name__}: {first_sentence(str(error))}"
        raise FormatError(
            f"{name} is no exported program that PyTorch {torch.__version__} reads ({told}); export it anew with "
            "torch.export.save",
            at=user_loc(),
        ) from error
