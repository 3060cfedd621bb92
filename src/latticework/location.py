"""The user's line: where in the user's own file something happens."""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from types import CodeType, FrameType, TracebackType

import numpy as np

from latticework.ir.location import Loc

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = (os.path.join(_PYTHON, "site-packages"), os.path.join(_PYTHON, "dist-packages"))


def user_loc() -> Loc:
    """The line running in the innermost frame outside latticework, NumPy and Python's own modules."""
    frame = sys._getframe(1)
    while frame is not None and (_is_ours(frame) or is_of_library(frame)):
        frame = frame.f_back  # type: ignore[assignment]
    return Loc.unknown() if frame is None else _loc(frame.f_code.co_filename, frame.f_lineno)


def warn(message: str, category: type[Warning]) -> None:
    """A warning at the user's line, however many frames of ours lie between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and (_is_ours(frame) or is_of_library(frame)):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def asked_by_library() -> bool:
    """Whether what latticework does now is on behalf of Python code of NumPy, or of Python's own modules."""
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and is_of_library(frame)


def user_frames(traceback: TracebackType | None) -> tuple[Loc, list[FrameType], int]:
    """Where an exception left the user's code: the line, the frames that it called, and the last instruction's place.

    The place is in the code of the user's innermost frame; -1 if there is no such frame.
    """
    loc, inner, place = Loc.unknown(), [], -1
    while traceback is not None:
        frame = traceback.tb_frame
        if _is_ours(frame) or is_of_library(frame):
            inner.append(frame)
        else:
            loc, inner, place = _loc(frame.f_code.co_filename, traceback.tb_lineno), [frame], traceback.tb_lasti
        traceback = traceback.tb_next
    return loc, inner if place >= 0 else [], place


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of latticework; what dataclasses generate has no file."""
    file = frame.f_code.co_filename
    return file.startswith(_OURS) or (
        file == "<string>" and str(frame.f_globals.get("__name__", "")).startswith("latticework.")
    )


def is_of_library(frame: FrameType) -> bool:
    """Whether a frame runs code of NumPy or of a module that comes with Python."""
    file = frame.f_code.co_filename
    is_pythons = file.startswith((_PYTHON, "<frozen ")) and not file.startswith(_INSTALLED)
    return file.startswith(_NUMPY) or is_pythons


def definition_loc(code: CodeType) -> Loc:
    """The line of a function's `def` (its code object starts at the first decorator)."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return _loc(code.co_filename, line)


def _loc(file: str, line: int) -> Loc:
    return Loc(file, line, linecache.getline(file, line).strip())
