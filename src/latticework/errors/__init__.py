"""The errors a user of latticework can meet.

Every one says who, what, which numbers and what to do; those raised while a
program is traced or compiled also carry the user's own source line in ``at``.
"""

from __future__ import annotations

from typing import Any

from latticework.errors.escaping import plain_text

_MOST_SHOWN = 20_000  # characters of a message: a file may have names and lists of millions


class UserError(Exception):
    """A fault in what the user gave: program, data, parameters, keys or files.

    message   what is wrong, with the numbers and the remedy; one line, names from files and programs made printable;
              its end is left out where it is very long
    at        source location (anything with a ``file:line`` text form), or None
    refused   of an imported model that cannot be computed: its graph, and what is refused of it; else None
    """

    refused: Any = None

    def __init__(self, message: str, *, at: Any = None) -> None:
        self.message = plain_text(message if len(message) <= _MOST_SHOWN else f"{message[:_MOST_SHOWN]} ...")
        self.at = at
        super().__init__(f"{plain_text(at)}: {self.message}" if at is not None else self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, None if self.at is None else str(self.at)))


def _rebuild(kind: type[UserError], message: str, at: str | None) -> UserError:
    return kind(message, at=at)


class TraceError(UserError, TypeError):
    """The program does something with a secret that cannot be compiled."""


class UnsupportedError(TraceError):
    """A NumPy function or option that has no encrypted counterpart here."""


class ShapeError(UserError, ValueError):
    """An array has another shape than declared or needed."""


class ColumnsError(UserError, ValueError):
    """A frame has other columns than the program was compiled for, or some that cannot be told apart."""


class DtypeError(UserError, TypeError):
    """An array has a dtype that cannot be used."""


class RangeError(UserError, ValueError):
    """A value is NaN, infinite, or outside the range the program was calibrated for."""


class LayoutError(UserError, ValueError):
    """A tensor does not fit the slots, or two layouts cannot be aligned."""


class LevelError(UserError, ValueError):
    """The program needs more levels than there are."""


class ScaleError(UserError, ValueError):
    """Two scales differ where they must be equal."""


class PrecisionError(UserError, ValueError):
    """The precision asked for cannot be reached."""


class SecurityError(UserError, ValueError):
    """A key or parameter set would be below the promised security level."""


class MissingKeyError(UserError, KeyError):
    """An evaluation needs a key that the key set does not hold."""

    __str__ = Exception.__str__


class ParameterMismatchError(UserError, ValueError):
    """A key, ciphertext or plan belongs to other parameters or another key set."""


class SecretKeyError(UserError, TypeError):
    """A secret key was offered where it must never go, or a secret value would leave its owner."""


class BudgetError(UserError, ValueError):
    """A server may use less memory than its program needs at one moment."""


class DecryptionError(UserError, ValueError):
    """A ciphertext's noise has grown too large for its message to be certain (BFV).

    That it is raised tells about the secret key, whatever the cause: two results that a server has made up give it one
    coefficient of the key, if it sees which was refused. So let nobody else see it, neither the message nor that there
    was one: no error page, no retry, no log that others read. There is one message for all causes, and refusals of a
    key set are counted, in a ledger beside the secret key, and end at a limit (SECURITY.md).
    """


class DeviceError(UserError, RuntimeError):
    """A device does not exist, cannot be used, or failed at what it was asked to do."""


class FormatError(UserError, ValueError):
    """A file is truncated, altered, of another kind or of an unknown version."""


class MissingPackageError(UserError, ImportError):
    """A function needs an optional package that is not installed."""


class IrError(UserError, ValueError):
    """IR text cannot be parsed, or a module does not verify."""


class RangeWarning(UserWarning):
    """Results may not fit the integers that a scheme computes with, or ranges of inputs are guesses."""

    def __init__(self, message: str) -> None:
        super().__init__(plain_text(message))


class ApproximationWarning(UserWarning):
    """Degrees that a program gives for its functions lose more than precision_bits asks for."""

    def __init__(self, message: str) -> None:
        super().__init__(plain_text(message))


class EffortWarning(UserWarning):
    """A program is so large that part of the search for the fastest code was left out."""

    def __init__(self, message: str) -> None:
        super().__init__(plain_text(message))


class LeftoverWarning(UserWarning):
    """Files that an ended process left unfinished were removed."""

    def __init__(self, message: str) -> None:
        super().__init__(plain_text(message))
