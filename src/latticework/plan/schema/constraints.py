"""Constraints on inputs besides their ranges: intervals of parts and sums, which clients check before encryption.

A function is approximated where its argument was in calibration. Where that is a part of an input, or a sum or
difference of elements, the client can tell whether it is there, and what holds of every accepted input can be proved.
The elements are where the program takes them, in plain numbers: no weight stands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import prod

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

MOST_PLACES = 4096  # of all elements of a constraint


@dataclass(frozen=True, slots=True)
class Element:
    """A sum of elements of an input.

    places   their numbers, in C order: of a whole input, or of a row of it
    factors  how often each counts: -1 where it is subtracted, 1/n in a mean; none: each once
    """

    places: tuple[int, ...]
    factors: tuple[float, ...] = field(default=(), metadata={"unstored_default": True})

    @property
    def is_single(self) -> bool:
        """Whether it is one element as it is."""
        return len(self.places) == 1 and self.factors in ((), (1.0,))


@dataclass(frozen=True, slots=True)
class Constraint:
    """Every one of some elements lies in an interval.

    input      whose elements they are
    function   that is applied to them, or to a multiple of them plus a number, and  place  where: "program.py:7"
    low, high  what the client accepts
    by_row     whether they are those of each row of the input, along its first axis
    """

    input: str
    function: str
    place: str
    low: float
    high: float
    elements: tuple[Element, ...]
    by_row: bool = field(default=False, metadata={"unstored_default": True})

    def item_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the axes that places count in, of an input of this shape."""
        return shape[self.by_row :]

    def values(self, items: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(items, elements) of inputs or rows that are flat: (items, size)."""
        counts = [len(element.places) for element in self.elements]
        places = np.array([place for element in self.elements for place in element.places], dtype=np.int64)
        taken = items[:, places]
        if any(element.factors for element in self.elements):
            taken = taken * np.concatenate([e.factors or np.ones(len(e.places)) for e in self.elements])
        return np.add.reduceat(taken, np.cumsum([0, *counts[:-1]]), axis=1)

    def is_about(self, shape: tuple[int, ...]) -> bool:
        """Whether it can be one on an input of this shape."""
        size = prod(self.item_shape(shape))
        total = sum(len(element.places) for element in self.elements)
        fits = all(
            element.places and len(element.factors) in (0, len(element.places)) and _within(element.places, size)
            for element in self.elements
        )
        return 0 < total <= MOST_PLACES and fits and self.low <= self.high and len(shape) >= self.by_row


def _within(places: Sequence[int], size: int) -> bool:
    return min(places) >= 0 and max(places) < size
