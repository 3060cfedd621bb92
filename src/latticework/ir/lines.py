"""The user's line: where in the user's own file something happens."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FrameType, TracebackType

import numpy as np

from latticework.ir.location import Loc

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = tuple(os.sep + name + os.sep for name in ("site-packages", "dist-packages"))


_standing: ContextVar[Loc | None] = ContextVar("latticework_standing", default=None)


@contextmanager
def standing_at(loc: Loc) -> Iterator[None]:
    """Attribute work inside to a place of the user's that no frame shows, such as an operator of an imported model."""
    token = _standing.set(loc)
    try:
        yield
    finally:
        _standing.reset(token)


def user_loc() -> Loc:
    """The line running in the innermost frame of the user's code, or where it stands (`standing_at`)."""
    standing = _standing.get()
    if standing is not None:
        return standing
    frame = _user_frame()
    return Loc.unknown() if frame is None else _loc(frame.f_code.co_filename, frame.f_lineno, _columns(frame))


def warn(message: str, category: type[Warning]) -> None:
    """A warning at the user's line, however many frames of ours lie between."""
    users, frame, level = _user_frame(), sys._getframe(1), 2
    while frame.f_back is not None and frame is not users:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def is_asked_by_library() -> bool:
    """Whether what latticework does now is on behalf of Python code of a library, or of Python's own modules."""
    frame = next((frame for frame in _outwards() if not _is_ours(frame)), None)
    return frame is not None and is_of_library(frame)


def called_frames() -> list[FrameType]:
    """Return the frames that the user's innermost frame called, outermost first: of libraries and of latticework."""
    called: list[FrameType] = []
    for frame in _outwards():
        if not (_is_ours(frame) or is_of_library(frame)):
            return called[::-1]
        called.append(frame)
    return []


def user_frames(traceback: TracebackType | None) -> tuple[Loc, list[FrameType], int]:
    """Find where an exception left the user's code: the line, the frames that it called, the last instruction's place.

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


def _user_frame() -> FrameType | None:
    """The innermost frame outside of latticework, NumPy and Python's own modules.

    Inside of a program that is being traced other packages are no user's code either: it calls them.
    """
    asking = None
    for frame in _outwards():
        if _is_ours(frame) or (is_of_library(frame) and not is_installed(frame)):
            continue
        asking = asking or frame
        if not is_of_library(frame):
            is_called_by_us = frame is asking or any(map(_is_ours, _callers(frame)))
            return frame if is_called_by_us else asking
    return asking


def _callers(frame: FrameType) -> Iterator[FrameType]:
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame


def _outwards() -> Iterator[FrameType]:
    """Frames from that of the function of this module that is called on."""
    frame = sys._getframe(1)
    yield frame
    yield from _callers(frame)


def _is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of latticework; what dataclasses generate has no file."""
    file = frame.f_code.co_filename
    return file.startswith(_OURS) or (
        file == "<string>" and str(frame.f_globals.get("__name__", "")).startswith("latticework.")
    )


def is_of_library(frame: FrameType) -> bool:
    """Whether a frame runs code of NumPy, of Python's own modules, or of an installed package.

    An installed function that latticework itself calls is a user's program, or the body of its loop.
    """
    file = frame.f_code.co_filename
    if is_installed(frame):
        return frame.f_back is None or not _is_ours(frame.f_back)
    return file.startswith((_NUMPY, _PYTHON, "<frozen "))


def is_installed(frame: FrameType) -> bool:
    """Whether a frame runs code of a package that was installed, other than NumPy."""
    file = frame.f_code.co_filename
    return any(folder in file for folder in _INSTALLED) and not file.startswith(_NUMPY)


def definition_loc(code: CodeType) -> Loc:
    """The line of a function's `def` (its code object starts at the first decorator)."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return _loc(code.co_filename, line)


def loop_around(loc: Loc) -> Loc | None:
    """The line of the innermost Python loop whose body a line is in; None if there is none, or no source."""
    try:
        tree = ast.parse("".join(linecache.getlines(loc.file)))
    except (SyntaxError, ValueError):
        return None
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.While) and node.body[0].lineno <= loc.line <= (node.body[-1].end_lineno or 0)
    ]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    return None if innermost is None else _loc(loc.file, innermost.lineno)


def _loc(file: str, line: int, columns: tuple[int, int | None] | None = None) -> Loc:
    """A line; columns: of an expression in it, in bytes, to the end of the line if None."""
    whole = linecache.getline(file, line)
    text = whole.strip()
    if columns is None or not text:
        return Loc(file, line, text)
    indent = len(whole) - len(whole.lstrip())
    encoded = whole.encode()
    start, end = (len(encoded[:column].decode(errors="ignore")) for column in columns)
    span = max(start - indent, 0), min(end - indent, len(text))
    return Loc(file, line, text, None, span if span[0] < span[1] else (0, 0))


def _columns(frame: FrameType) -> tuple[int, int | None] | None:
    """The columns of the expression that a frame evaluates, as far as it stands on the frame's line."""
    first, last, start, end = _positions(frame.f_code)[frame.f_lasti // 2]
    if first != frame.f_lineno or start is None or end is None:
        return None
    return start, end if last == first else None


@lru_cache(maxsize=64)
def _positions(code: CodeType) -> tuple[tuple[int | None, ...], ...]:
    """(line, last line, column, column before which it ends) of every instruction."""
    return tuple(code.co_positions())
