"""A module exported as a functional graph of ATen operators; what PyTorch refuses, in our words at the user's line."""

from __future__ import annotations

import io
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import Any

from latticework.errors import MissingPackageError, TraceError, UserError
from latticework.errors.remedies import REMEDIES
from latticework.ir.lines import user_frames
from latticework.ir.location import Loc

_ATTRIBUTE = re.compile(r"self\.[\w.\[\]]*[\w\]]")
_OF_TORCH = re.compile(r"[\\/](torch[\\/]|copyreg\.py$)")
_ON_DATA = ("GuardOnDataDependent", "DataDependentOutput", "DynamicOutputShape", "UserErrorType.DYNAMIC")


def import_torch(what: str = "from_torch") -> Any:
    """The package. MissingPackageError where it is not installed, by the name of what needs it."""
    try:
        import torch
        import torch.export
    except ImportError as error:
        raise MissingPackageError(
            f"{what} needs PyTorch, which cannot be imported ({error}); pip install latticework[torch]"
        ) from error
    return torch


def export(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any], at: Loc) -> tuple[Any, list[str]]:
    """A module as an ExportedProgram on inputs of the example's shapes, and tensors that forward assigns to itself.

    raises  TraceError at the user's line for what cannot be exported
    """
    torch = import_torch()
    with told_as_ours(type(module).__name__, at) as assigned, torch.enable_grad():
        exported = torch.export.export(module, tuple(args), dict(kwargs) or None, strict=False)
    return exported, [name for name in assigned if "._flat_weights[" not in name]  # those of recurrent layers stay


def functional(exported: Any, name: str, at: Loc) -> Any:
    """The same without operators that change their operands; linear, convolutions, norms and attention stay whole."""
    with told_as_ours(name, at):
        return exported.run_decompositions({})


@contextmanager
def told_as_ours(name: str, at: Loc) -> Iterator[list[str]]:
    """PyTorch at work: what it raises becomes an error of ours; what it logs and warns of its own is left out.

    Yields a list that has, in the end, the tensors that a module assigned to itself.
    """
    try:
        with own_warnings_only() as assigned:
            yield assigned
    except (UserError, Warning):
        raise
    except Exception as error:
        loc = user_frames(error.__traceback__)[0]
        place = at if loc is Loc.unknown() or loc.file.startswith("<") or _OF_TORCH.search(loc.file) else loc
        raise TraceError(f"{name}: {_describe_error(error)}", at=place) from error


def _describe_error(error: Exception) -> str:
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    first = first_sentence(str(error))
    if any(kind in kinds for kind in _ON_DATA) or "data-dependent" in first:
        return (
            "what is computed depends on the values of an input here, which are encrypted: "
            f"{REMEDIES['branch'].instead}"
        )
    if "numpy()" in first:
        return (
            "a tensor is converted to NumPy here, so what follows cannot be exported; write it with PyTorch's functions"
        )
    shape = "shape" in first or "size" in first or "dim" in first
    remedy = "give an example of the shape that the module takes" if shape else "write this part in another way"
    return f"torch.export stops here ({type(error).__name__}: {first}); {remedy}"


def first_sentence(text: str) -> str:
    """The first line of a message of PyTorch's, without what follows a full stop."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason is given")
    return line.partition(". ")[0].rstrip(".:; ")


@contextmanager
def own_warnings_only() -> Iterator[list[str]]:
    """Silence PyTorch's warnings and logs about its own code; yields a list, as `told_as_ours`."""
    assigned: list[str] = []
    with warnings.catch_warnings(record=True) as caught, _without_logs():
        warnings.simplefilter("always")
        yield assigned
    for warning in caught:
        told = str(warning.message)
        if "assigned during export" in told:
            assigned += _ATTRIBUTE.findall(told.partition("assigned during export")[0])
        elif not _OF_TORCH.search(warning.filename):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


@contextmanager
def _without_logs() -> Iterator[None]:
    """Nothing of PyTorch's on standard error: it logs each error that it raises, with its traceback and a half graph.

    What the module itself writes there is written in the end, unless exporting fails.
    """

    def refuse(record: logging.LogRecord) -> bool:
        return False

    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "torch"]
    handlers = {handler for name in names for handler in logging.getLogger(name).handlers}
    for handler in handlers:
        handler.addFilter(refuse)
    written = io.StringIO()
    try:
        with redirect_stderr(written):
            yield
        sys.stderr.write(written.getvalue())
    finally:
        for handler in handlers:
            handler.removeFilter(refuse)
