"""The user's line: where in the user's own file something happens."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType

import numpy as np

from latticework.ir.location import Loc

_OURS = (
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
)


def user_loc() -> Loc:
    """The line running in the innermost frame outside latticework and NumPy."""
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back  # type: ignore[assignment]
    return Loc.unknown() if frame is None else _loc(frame.f_code.co_filename, frame.f_lineno)


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of latticework or NumPy; what dataclasses generate has no file."""
    file = frame.f_code.co_filename
    return file.startswith(_OURS) or (
        file == "<string>" and str(frame.f_globals.get("__name__", "")).startswith("latticework.")
    )


def definition_loc(code: CodeType) -> Loc:
    """The line of a function's `def` (its code object starts at the first decorator)."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return _loc(code.co_filename, line)


def _loc(file: str, line: int) -> Loc:
    return Loc(file, line, linecache.getline(file, line).strip())
