"""Integers of many bits that users give: whole numbers of any kind, held exactly, within exact ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError
from latticework.plan.schema.arguments import Argument
from latticework.runtime.exchange.input_errors import OUTSIDE, Misfits, not_finite, not_whole
from latticework.values.inputs.foreign_arrays import as_array

EXACT = 2.0**53  # floats that are larger hold no integer for certain
Array = npt.NDArray[Any]


def as_whole_array(value: Any, where: str) -> Array:
    """An array that has lost nothing of what a user gives: lists of Python's integers are kept as they are.

    raises  DtypeError for what holds no numbers; ValueError, of NumPy, for rows of different lengths
    """
    array = np.asarray(value, dtype=object) if isinstance(value, int | list | tuple) else as_array(value)
    if array.dtype == object:
        numbers = [n.item() if isinstance(n, np.generic) else n for n in array.reshape(-1)]
        if any(isinstance(n, list | tuple) for n in numbers):
            raise ValueError("rows of different lengths")
        wrong = [type(n).__name__ for n in numbers if not isinstance(n, int | float)]
        if wrong:
            raise DtypeError(f"{where} holds a {wrong[0]}; give whole numbers")
        kept = np.empty(len(numbers), dtype=object)
        kept[:] = numbers
        return kept.reshape(array.shape)
    if array.dtype.kind not in "fiub":
        raise DtypeError(f"{where} has dtype {array.dtype}; give whole numbers")
    return array


def whole_misfits(argument: Argument, array: Array, *, is_stack: bool) -> tuple[Array, list[Misfits]]:
    """The integers of an array, int64 or uint64 where one of them holds all, else Python's; and what is not taken, in
    whose place the least number of the range stands."""
    name, shape = argument.name, argument.shape
    low, high = argument.ends
    numbers = array.astype(object) if array.dtype.kind in "fbO" else array
    finite, whole, sure = (np.ones(array.shape, dtype=bool) for _ in range(3))
    if numbers.dtype == object:
        found = [_judge(n) for n in numbers.reshape(-1)]
        finite, whole, sure = (np.array([each[i] for each in found], dtype=bool).reshape(array.shape) for i in range(3))
        numbers = np.where(finite & whole, numbers, low)
        numbers = np.array([int(n) for n in numbers.reshape(-1)], dtype=object).reshape(array.shape)
    misfits = []
    if not finite.all():
        misfits.append(not_finite(~finite, name, shape, is_stack))
    if not whole.all():
        misfits.append(not_whole(~whole, name, shape, is_stack, "this program computes exactly on integers: round it"))
    if not (sure | ~whole).all():
        why, remedy = "is a float above 2^53, which holds no integer for certain", "give integers, as int64 or Python's"
        misfits.append(Misfits(name, ~sure & whole, shape, is_stack, why, remedy, can_clip=False, error=DtypeError))
    off = np.asarray((numbers < low) | (numbers > high), dtype=bool).reshape(array.shape)
    if off.any():
        remedy = "give numbers in it, or compile with low= and high= that hold them (up to 64 bits)"
        misfits.append(Misfits(name, off, shape, is_stack, f"{OUTSIDE} {low} to {high}", remedy, can_clip=False))
        numbers = np.where(off, low, numbers)
    return _smallest_kind(numbers), misfits


def _judge(number: float) -> tuple[bool, bool, bool]:
    """Whether a number is finite, whole, and certainly the integer that was meant."""
    if isinstance(number, int):
        return True, True, True
    is_finite = bool(np.isfinite(number))
    return is_finite, not is_finite or number == int(number), not is_finite or abs(number) <= EXACT


def _smallest_kind(numbers: Array) -> Array:
    if numbers.dtype != object:
        return numbers.astype(np.uint64 if numbers.dtype.kind == "u" else np.int64)
    least, most = min(numbers.reshape(-1), default=0), max(numbers.reshape(-1), default=0)
    if least >= -(1 << 63) and most < 1 << 63:
        return numbers.astype(np.int64)
    return numbers.astype(np.uint64) if least >= 0 and most < 1 << 64 else numbers
