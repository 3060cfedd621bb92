"""Checks of operands before an operation computes, whose errors name the caller's line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from latticework.errors import DtypeError, RangeError, UserError
from latticework.ir.lines import user_loc
from latticework.runtime.devices.operation_names import during, profiled

P = ParamSpec("P")
R = TypeVar("R")


def fail(kind: type[UserError], message: str) -> NoReturn:
    """Raise an error that names the caller's own line."""
    raise kind(message, at=user_loc())


def locate(function: Callable[P, R]) -> Callable[P, R]:
    """The function with errors that name the caller's own line; a bare ValueError of the core becomes a RangeError.

    In profiles its work has its name.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if not profiled:
                return function(*args, **kwargs)
            with during(_name_of(function, args)):
                return function(*args, **kwargs)
        except UserError as error:
            if error.at is not None:
                raise
            raise type(error)(error.message, at=user_loc()) from None
        except ValueError as error:
            raise RangeError(str(error), at=user_loc()) from None

    return run


def _name_of(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The name that users know: of an operator the method that it stands for, of a constructor the class."""
    if function.__name__ == "_operate":
        return str(args[1])
    if function.__name__ == "__init__":
        return type(args[0]).__name__
    return {"_at": "move"}.get(function.__name__, function.__name__.strip("_"))


def whole(name: str, value: Any) -> int:
    """A value as a plain int; DtypeError if it is not a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        fail(DtypeError, f"{name} is {value!r:.60}, a {type_text(value)}; give a whole number")
    return int(value)


def whole_list(name: str, values: Any) -> list[int]:
    """Whole numbers as a list; DtypeError for anything else."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        fail(DtypeError, f"{name} is {values!r:.60}, a {type_text(values)}; give a list of whole numbers, as in [1, 2]")
    return [whole(name, value) for value in values]


def real(name: str, value: Any) -> float:
    """A value as a float; DtypeError if it is not one finite real number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating) or not isfinite(value):
        fail(DtypeError, f"{name} is {value!r:.60}, a {type_text(value)}; give a finite number")
    return float(value)


def as_list(who: str, values: Any, remedy: str) -> list[Any]:
    """Several things as a list; DtypeError for one thing."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        fail(DtypeError, f"{who}: got {type_text(values)}; {remedy}")
    return list(values)


def one_of(who: str, dtype: Any, possible: tuple[type[np.generic], ...], words: str) -> np.dtype[Any]:
    """A dtype that results can have; DtypeError for any other."""
    try:
        asked: np.dtype[Any] | None = np.dtype(dtype)
    except (TypeError, ValueError):
        asked = None
    if asked is None or asked not in possible:
        fail(DtypeError, f"{who}: dtype={dtype!r:.60}; {words} are possible")
    return asked


def needs(who: str, value: Any, kinds: type | tuple[type, ...], remedy: str) -> None:
    """DtypeError unless a value is what an operation takes."""
    if not isinstance(value, kinds):
        fail(DtypeError, f"{who}: got {type_text(value)}; {remedy}")


def type_text(value: Any) -> str:
    """A value's type as messages name it, with the module: both schemes have a Ciphertext."""
    kind = type(value)
    module = kind.__module__.removeprefix("latticework.").removeprefix("schemes.").split(".")[0]
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def file_path(who: str, path: Any, remedy: str) -> str:
    """The path of a file as text; DtypeError for anything else."""
    needs(who, path, (str, Path), f"give the path of a file; {remedy}")
    return str(path)


def file_bytes(who: str, data: Any, remedy: str) -> bytes:
    """The bytes of a file; DtypeError for anything else."""
    needs(who, data, (bytes, bytearray, memoryview), f"give the bytes of a file; {remedy}")
    return bytes(data)
