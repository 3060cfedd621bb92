"""The line that calls a client or a server, for their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from latticework.errors import UserError

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_COMMANDS = tuple(os.path.join(_OURS, name) for name in ("commands" + os.sep, "cli.py"))

P = ParamSpec("P")
R = TypeVar("R")


def at_caller(function: Callable[P, R]) -> Callable[P, R]:
    """The function with errors that name the line which called latticework; the command line's name none."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            place = _caller() if error.at is None else None
            if place is None:
                raise
            raise type(error)(error.message, at=place) from None

    return run


def _caller() -> str | None:
    """The innermost place outside of this package; None if its command line comes first."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        if frame.f_code.co_filename.startswith(_COMMANDS):
            return None
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
