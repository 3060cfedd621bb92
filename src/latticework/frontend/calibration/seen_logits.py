"""Ranges of a softmax's operand and sums in calibration: over all positions, and around the mean of each.

Where scores depend on places more than on data, as those of attention to a neighbour do, each place has a narrow range
of its own, and so has the sum of each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import inf

import numpy as np
import numpy.typing as npt

from latticework.functions.approximation.chebyshev import Interval
from latticework.lazy_dataclass import dataclass

MOST_SQUARINGS = 8

Array = npt.NDArray[np.float64]


@dataclass(slots=True)
class Around:
    """Least, greatest and mean of numbers at each place of an array, over samples."""

    least: Array
    greatest: Array
    total: Array

    @property
    def range(self) -> Interval:
        """The range over all positions."""
        return float(self.least.min()), float(self.greatest.max())

    def mean(self, count: int) -> Array:
        """Return the mean at each position, of `count` samples."""
        return np.asarray(self.total / count)

    def rest(self, count: int) -> Interval:
        """The range of what is left where the mean of each place is taken away."""
        mean = self.mean(count)
        return float((self.least - mean).min()), float((self.greatest - mean).max())


def logits_of(array: Array, axis: int, kept: Array | None) -> list[Array]:
    """An operand, and logarithms of its sums.

    kept  not 0 where elements count;  None: all do
    """
    found = [array]
    if kept is not None:
        array = np.where(kept != 0, array, -inf)
    top = array.max(axis=axis, keepdims=True)
    for k in range(MOST_SQUARINGS + 1):
        found.append(np.log(np.exp((array - top) / 2**k).sum(axis=axis, keepdims=True)) + top / 2**k)
    return found


@dataclass(slots=True)
class SeenLogits:
    """Values of an operand, and logarithms of the sums of exp(x / 2^k) along the axis, for every k.

    values  of all places, those too that do not count: exponentials are of all
    sums    of what counts
    """

    values: Around | None = None
    sums: list[Around] = field(default_factory=list)
    count: int = 0

    def add(self, found: Sequence[Array]) -> None:
        """Take note of one sample, of which `logits_of` has found these."""
        self.count += 1
        if self.values is None:
            self.values, *self.sums = (Around(each, each, each) for each in found)
            return
        for seen, each in zip((self.values, *self.sums), found, strict=True):
            seen.least, seen.greatest = np.minimum(seen.least, each), np.maximum(seen.greatest, each)
            seen.total = seen.total + each
