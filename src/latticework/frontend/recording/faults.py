"""Errors of a user's function that runs on symbols, raised as errors of ours at the user's line.

Python and NumPy call special methods of secrets, and some of them catch what these raise: NumPy answers a subscript
whose `__index__` fails with an IndexError, `np.array_equal` with False. So refusals are noted when they are raised, and
what the function raises, or that it returns, is looked at in their light.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

import numpy as np

from latticework.errors import TraceError, UnsupportedError, UserError
from latticework.frontend.recording.foreign import library_call, refusal, touches_secrets
from latticework.ir.lines import called_frames, is_asked_by_library, user_frames
from latticework.ir.location import Loc

Error = TypeVar("Error", bound=UserError)

_FOREIGN = (TypeError, ValueError, AttributeError, IndexError, BufferError, OverflowError, SystemError, RuntimeError)
_RAISE = {dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]}
# How Python and NumPy say that an operand is none of their numbers: by the names of our classes, or of NumPy's objects.
_ABOUT_SECRETS = (
    "'Number'", "TracedArray", "TracedIndex", "encrypted", "secret", "dtype('O')", "object_", "object array",
    "not supported for the input types",
)  # fmt: skip


class MissingMethodError(UnsupportedError, AttributeError):
    """A method that numbers or arrays have and secrets do not; hasattr() sees an ordinary missing attribute."""


class Faults:
    """The refusals of one run of a user's function.

    where   "program f" or "circuit f"
    remedy  what to write instead of a function of NumPy; of "", in general
    """

    def __init__(self, where: str, remedy: Callable[[str], str]) -> None:
        self._where, self._remedy = where, remedy
        self._last: UserError | None = None
        self._lost: UserError | None = None

    def note(self, error: Error) -> Error:
        """A refusal that is about to be raised, since the value of a secret was asked for."""
        self._last = error
        if is_asked_by_library():
            self._lost = self._lost or _name_call(error, called_frames())  # unless it comes out of the user's function
        return error

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Run the user's function.

        raises  TraceError, or the refusal behind it, for exceptions of Python and NumPy; what the user's own code
                raises by a statement passes. A refusal that library code caught is raised at the end.
        """
        try:
            yield
        except RecursionError:
            raise
        except UserError as error:
            if self._lost is not None and error is not self._last:
                raise self._lost from error
            named = _name_call(error, user_frames(error.__traceback__)[1][1:])
            if named is error:
                raise
            raise named from error
        except _FOREIGN as error:
            typed = self._explain(error)
            if typed is None:
                raise
            raise typed from error
        if self._lost is not None:
            raise self._lost

    def _explain(self, error: BaseException) -> UserError | None:
        behind: BaseException | None = error
        while behind is not None:
            if isinstance(behind, UserError):
                return behind
            behind = behind.__cause__ or behind.__context__
        loc, frames, place = user_frames(error.__traceback__)
        if len(frames) == 1 and frames[0].f_code.co_code[place] in _RAISE:
            return None
        at = None if self._last is None else self._last.at
        if self._last is not None and isinstance(at, Loc) and (at.file, at.line) == (loc.file, loc.line):
            return _name_call(self._last, frames[1:])
        asked = library_call(frames[1:])
        if asked is not None and any(map(touches_secrets, frames[1:])):
            return TraceError(refusal(asked, f"{type(error).__name__}: {str(error).rstrip(' .')}"), at=loc)
        function = _function(error, frames[1:])
        of = f" of {function}" if function else ""
        if "output from dtype('O')" in str(error):
            advice = "make a new array instead of changing one of public numbers: y = y + x"
        elif any(word in str(error) for word in _ABOUT_SECRETS):
            advice = f"what is encrypted has no value here: {self._remedy(function.rpartition('.')[2])}"
        else:
            advice = "correct it, or do what needs the values of secrets after decryption"
        message = str(error).rstrip(" .")
        return TraceError(f"{self._where} stops with {type(error).__name__}{of}: {message}; {advice}", at=loc)


def _name_call(error: Error, called: Sequence[FrameType]) -> Error | TraceError:
    """A refusal; where a function of another package met it, as one of that function.

    called  frames below the user's, outermost first
    """
    asked = library_call(called)
    if asked is None or not isinstance(error, TraceError):
        return error
    why = error.message.partition(":")[0] if isinstance(error, UnsupportedError) else ""
    return TraceError(refusal(asked, why), at=error.at)


def _function(error: BaseException, called: list[FrameType]) -> str:
    """The function of NumPy that failed, as users write it; "" if it is not known."""
    ufunc = getattr(error, "ufunc", None)
    if called:
        name = called[0].f_code.co_name
        found = [prefix for prefix, module in (("np", np), ("np.linalg", np.linalg)) if hasattr(module, name)]
        if found and str(called[0].f_globals.get("__name__", "")).startswith("numpy"):
            return f"{found[-1] if 'linalg' in called[0].f_code.co_filename else found[0]}.{name}"
    return f"np.{ufunc.__name__}" if isinstance(ufunc, np.ufunc) else ""
