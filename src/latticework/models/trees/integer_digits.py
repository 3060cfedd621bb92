"""Whole numbers as zeros and ones that take few products to compare with public numbers.

A number is cut into parts of a few binary digits, and a part is coded by which numbers it reaches: of four digits 15
zeros and ones, for 1 to 15 (a thermometer code). Whether a part reaches a public number is one of them, without a
product; each further part of a number takes one product, and all further parts of a path together a deeper circuit.

What longer parts cost is numbers that are sent, and that are brought to the front by a rotation each where one row is
computed alone: 15 for each part of four digits, 31 of five, 63 of six, for all features together. One more part costs
as many products as there are comparisons, and mostly a ring twice as large. Ten trees of depth 4 (some 95 comparisons)
on 12 digits are predicted to take 1.2 s in three parts of four digits, and 0.53 s in two of six; on 8 digits 0.95 s in
four parts, 0.81 s in three, 0.40 s in two, and in one 0.26 s, with 8.5 times as much to send in a filled run.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.frontend.circuits.integers.integer_functions import select

MOST_DIGITS = 6  # of a part
Wholes = npt.NDArray[np.int64]


class NumberParts:
    """The code of numbers of a given number of binary digits.

    widths  digits of each part, the lowest first: as few parts as may be, as even as may be
    size    zeros and ones of a number
    """

    def __init__(self, digits: int) -> None:
        count = -(-digits // MOST_DIGITS)
        self.widths = tuple((digits + part) // count for part in range(count))
        self._starts = (0, *np.cumsum([(1 << width) - 1 for width in self.widths]).tolist())
        self.size = int(self._starts[-1])

    def encode(self, numbers: Wholes) -> Wholes:
        """The code of numbers from 0 to 2^digits - 1, (*shape, size): of the lowest part first."""
        made = []
        for width in self.widths:
            made.append((numbers & ((1 << width) - 1))[..., None] >= np.arange(1, 1 << width))
            numbers = numbers >> width
        return np.concatenate(made, axis=-1).astype(np.int64)

    def at_least(self, code: Sequence[Any], least: int) -> Any:
        """Whether a number, of which the code is given, is at least `least`: 0 or 1; public where that is known."""
        if least <= 0 or least >= 1 << sum(self.widths):
            return int(least <= 0)
        holds: Any = 1  # so far: the lower parts of the number are at least those of the other
        for width, (start, end) in zip(self.widths, pairwise(self._starts), strict=True):
            part, least = least & ((1 << width) - 1), least >> width
            reached = [1, *code[start:end], 0]
            above, same = reached[part + 1], reached[part]
            if isinstance(holds, int):
                holds = same if holds else above
            else:
                holds = select(holds, same, above)
        return holds
