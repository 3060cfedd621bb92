"""Cells of raw tables: texts, numbers and what is missing, told apart as scikit-learn does."""

from __future__ import annotations

from dataclasses import field
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step import Array, UnfitValueError, as_numbers
from latticework.plan.client_steps.step_arrays import Labels

Mask = npt.NDArray[np.bool_]
NAN, NONE, NA = "nan", "none", "na"
ABSENT = (NAN, NONE, NA)  # not a number, None, and what pandas has for missing values
_BARE = (NAN, NONE)  # that categories may have, too


def absence_of(value: Any) -> str:
    """Return the kind of missing value that this is; "" for a value."""
    if value is None:
        return NONE
    if isinstance(value, float | np.floating):
        return NAN if isnan(value) else ""
    return NA if type(value).__name__ in ("NAType", "NaTType") else ""


@dataclass(frozen=True, slots=True)
class Missing:
    """Cells that count as missing.

    absent  kinds of cells without a value: "nan", "none", "na" (of pandas)
    marks  values that stand for a missing one, such as -1 or "?"
    """

    absent: tuple[str, ...] = ABSENT
    marks: Labels | None = field(default=None, metadata={"unstored_default": True})

    def __post_init__(self) -> None:
        if not set(self.absent) <= set(ABSENT) or len(set(self.absent)) < len(self.absent):
            raise ValueError(f"kinds of missing cells {self.absent[:4]}; there are {', '.join(ABSENT)}")
        if not self.absent and self.marks is None:
            raise ValueError("nothing that counts as missing")

    def where(self, x: Array) -> Mask:
        """Return which cells are missing."""
        array = np.asarray(x)
        marks = set() if self.marks is None else set(self.marks.array.tolist())
        if array.dtype.kind in "biuf":
            numbers = [mark for mark in marks if not isinstance(mark, str)]
            absent = np.isnan(array) if NAN in self.absent and array.dtype.kind == "f" else np.zeros(array.shape, bool)
            return np.asarray(absent | np.isin(array, numbers) if numbers else absent)
        cells = (absence_of(cell) in self.absent or cell in marks for cell in array.flat)
        return np.fromiter(cells, bool, array.size).reshape(array.shape)

    def words(self) -> str:
        """Describe values that stand for missing ones, where there are any."""
        return "" if self.marks is None else f" ({self.marks.words()})"


EMPTY = Missing()


def numbers_of(x: Array, missing: Mask) -> npt.NDArray[np.float64]:
    """Convert to float64, cells that are missing to NaN; UnfitValueError for what is no finite number beside these."""
    array = np.asarray(x)
    if not missing.any():
        return as_numbers(array)
    filled = array.astype(np.float64) if array.dtype.kind in "biuf" else array.copy()
    filled[missing] = 0.0
    numbers = as_numbers(filled)
    numbers[missing] = np.nan
    return numbers


def places_of(cells: Array, keys: Labels) -> npt.NDArray[np.int64]:
    """Find each cell among the keys, -1 where it is none; 1, 1.0 and True are the same.

    raises  UnfitValueError for numbers among texts and texts among numbers: an encoder finds none of a whole column of
            another type, and takes it for unknown categories, or fails
    """
    array = np.asarray(cells)
    kinds = (str,) if keys.numbers is None else (int, float, np.number, np.bool_)
    if array.dtype.kind in "biuf" and keys.numbers is not None:
        return Labels((), keys.numbers).find(array.astype(np.float64))
    alike = np.fromiter((isinstance(cell, kinds) or absence_of(cell) in _BARE for cell in array.flat), bool, array.size)
    absent = np.fromiter((absence_of(cell) == NA for cell in array.flat), bool, array.size).reshape(array.shape)
    if absent.any():
        raise UnfitValueError(absent, "is pandas' NA, which encoders do not take; give NaN or None as when fitting")
    unfit = ~alike.reshape(array.shape)
    if unfit.any():
        what = "texts" if keys.numbers is None else "numbers"
        raise UnfitValueError(unfit, f"is of another type than the categories, which are {what}")
    place: dict[Any, int] = {key: number for number, key in enumerate(keys.array.tolist())}
    return np.fromiter((place.get(cell, -1) for cell in array.flat), np.int64, array.size).reshape(array.shape)
