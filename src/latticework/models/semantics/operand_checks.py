"""Checks of operands that all families share: secrets, numbers that must be public, axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.frontend.functions.array_functions import Approximated
from latticework.frontend.recording.tracing import Traced
from latticework.functions.approximation.real_functions import Function
from latticework.models.semantics.masking import MaskedScores


def is_secret(*operands: Any) -> bool:
    """Whether any of them depends on what is encrypted."""
    return any(isinstance(operand, (Traced, MaskedScores)) for operand in operands)


def values(x: Any) -> Any:
    """A secret as it is, anything public as an array that keeps its type."""
    return x if is_secret(x) else np.asarray(x)


def apply_function(function: Function, x: Any) -> Any:
    """A function of one number: exact on arrays, approximated of secrets."""
    return Approximated(function, None, None)(x) if is_secret(x) else function.reference(np.asarray(x))


def public(name: str, what: str, given: Any, instead: str = "compute it from public numbers") -> Any:
    """An operand that has to be public, as an array.

    raises  UnsupportedError where it is secret, with what to do instead
    """
    if is_secret(given):
        raise UnsupportedError(f"{name}: {what} is secret, and has to be known when the program is compiled; {instead}")
    return np.asarray(given)


def number(name: str, what: str, given: Any) -> float:
    """One public number."""
    array = public(name, what, given)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise ShapeError(f"{name}: {what} has shape {array.shape} and dtype {array.dtype}; it must be one number")
    return float(array.reshape(()))


def whole(name: str, what: str, given: Any, least: int | None = None) -> int:
    """One public whole number, of at least `least`."""
    array = public(name, what, given)
    if array.size != 1 or array.dtype.kind not in "iu":
        raise ShapeError(f"{name}: {what}={given!r} must be a whole number")
    found = int(array.reshape(()))
    if least is not None and found < least:
        raise RangeError(f"{name}: {what}={found} must be at least {least}")
    return found


def wholes(name: str, what: str, given: Any) -> tuple[int, ...]:
    """Public whole numbers: one, a sequence of them, or an array of one axis."""
    array = public(name, what, given)
    if (array.size and array.dtype.kind not in "iu") or array.ndim > 1:
        raise ShapeError(f"{name}: {what}={given!r} must be whole numbers")
    return tuple(int(n) for n in array.reshape(-1))


def axis_of(name: str, dim: Any, rank: int) -> int:
    """An axis counted from the front; of a number, 0 and -1 are one that it has not, as for PyTorch."""
    try:
        found = operator.index(dim)
    except TypeError:
        raise ShapeError(f"{name}: dim={dim!r} must be a whole number") from None
    room = max(rank, 1)
    if not -room <= found < room:
        raise ShapeError(f"{name}: dim={found} does not exist in an array of {rank} axes; use {-room} to {room - 1}")
    return found % room


def axes_of(name: str, dim: Any, rank: int) -> tuple[int, ...]:
    """Distinct axes in ascending order; None, and no axes, are all of them."""
    given = dim if isinstance(dim, (tuple, list, np.ndarray)) else [] if dim is None else [dim]
    if not len(given):
        return tuple(range(rank))
    found = [axis_of(name, axis, rank) for axis in given]
    if len(set(found)) != len(found):
        raise ShapeError(f"{name}: an axis is repeated in dim={tuple(int(axis) for axis in given)}; name each once")
    return tuple(sorted(found)) if rank else ()


def select_elements(x: Any, numbers: Sequence[int], axis: int) -> Any:
    """Elements of an axis, counted from the front: a slice where the numbers are evenly spaced."""
    steps = set(np.diff(numbers).tolist())
    index: Any = np.asarray(numbers, dtype=np.int64)
    if len(steps) <= 1 and 0 not in steps:
        step = steps.pop() if steps else 1
        stop = numbers[-1] + (1 if step > 0 else -1)
        index = slice(numbers[0], None if stop < 0 else stop, step)
    return x[(*(slice(None),) * axis, index)]
