"""Probability that a new input takes a function's argument out of its interval, from the extremes in calibration.

The lowest and the highest argument of each run count. The excess of the farthest runs over the least far of them is
taken for exponential, as the tails of many distributions are at most; so the estimate is mostly high for lighter tails
(of normal numbers two or three times, of bounded ones more), low as often as high for exponential ones (of 256 to 2000
runs four times or more in one calibration of twenty) and low for heavier ones.

Source: Balkema and de Haan 1974, Pickands 1975 (excesses over a high threshold), here of shape 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.functions.approximation.chebyshev import FloatArray, Interval
from latticework.functions.approximation.exceedance import RunExtremes
from latticework.lazy_dataclass import dataclass

LEAST_RUNS = 16  # fewer say nothing of what is rare
SHARE, FEWEST, MOST = 8, 3, 32  # of so many runs one is among the farthest, and how many of those there are
BUFFERED = 64  # runs whose ends wait to be sorted in


@dataclass(frozen=True)
class Tails:
    """Tails of the distribution of a function's arguments.

    runs      of calibration
    lowest, highest  the ends of the runs that went farthest, nearest first, each of (farthest, places): of the whole
              argument one place, and else one for each channel
    extremes  which inputs of calibration went farthest with the whole argument; None where the user states its
              range, against which few runs say nothing
    """

    runs: int
    lowest: tuple[tuple[float, ...], ...]
    highest: tuple[tuple[float, ...], ...]
    extremes: RunExtremes | None = None

    def attribute_text(self) -> str:
        """Return the text of the attribute in the IR."""
        return f'"of {self.runs} runs in {len(self.highest[0])} places"'

    def leaving(self, ranges: Sequence[Interval]) -> float | None:
        """The estimated probability that a run leaves one of these, a range for each place; None of too few runs."""
        if self.runs < LEAST_RUNS:
            return None
        low, high = np.array(ranges, dtype=np.float64).T
        expected = self._beyond(-np.array(self.lowest), -low) + self._beyond(np.array(self.highest), high)
        return float(-np.expm1(-np.sum(expected)))

    def ends(self, share: float) -> tuple[FloatArray, FloatArray] | None:
        """Return by place the range that a `share` of runs leaves at any place; None if there are too few runs."""
        if self.runs < LEAST_RUNS:
            return None
        each = share / (2 * len(self.highest[0]))
        bounds = []
        for farthest in (-np.array(self.lowest), np.array(self.highest)):
            scale = farthest[1:].mean(axis=0) - farthest[0]
            bounds.append(farthest[0] + scale * np.log(max(1.0, len(farthest) / self.runs / each)))
        return -bounds[0], bounds[1]

    def _beyond(self, farthest: FloatArray, ends: FloatArray) -> FloatArray:
        """Return by place the probability of a run beyond its end."""
        nearest, mean = farthest[0], farthest[1:].mean(axis=0)
        slack, scale = np.maximum(ends - nearest, 0.0), np.maximum(mean - nearest, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = np.where(slack <= 0.0, 1.0, np.where(scale > 0.0, np.exp(-slack / scale), 0.0))
        return np.asarray(len(farthest) / self.runs * tail)


class TailsSeen:
    """Collects them run by run, of the whole argument and along each of its axes that may be one of channels."""

    def __init__(self, most_places: int) -> None:
        self.most_places, self.runs = most_places, 0
        self._ends: dict[int | None, list[FloatArray]] = {}

    def add(self, argument: npt.NDArray[np.float64]) -> None:
        """Another run."""
        self.runs += 1
        self._keep(None, np.array([[-argument.min()], [argument.max()]]))
        for axis, extent in enumerate(argument.shape):
            if 1 < extent <= self.most_places:
                others = tuple(other for other in range(argument.ndim) if other != axis)
                self._keep(axis - argument.ndim, np.stack([-argument.min(others), argument.max(others)]))

    def along(self, axis: int | None) -> Tails:
        """Return the tails by place along an axis, counted from the end, or of all elements together."""
        count = min(MOST, max(FEWEST, self.runs // SHARE), self.runs)
        lowest, highest = np.moveaxis(np.sort(np.stack(self._ends[axis]), axis=0)[-count:], 1, 0)
        low, high = (tuple(map(tuple, ends.tolist())) for ends in (-lowest, highest))
        return Tails(self.runs, low, high)

    def _keep(self, axis: int | None, ends: FloatArray) -> None:
        known = self._ends.setdefault(axis, [])
        known.append(ends)
        if len(known) >= MOST + BUFFERED:
            self._ends[axis] = list(np.partition(np.stack(known), -MOST, axis=0)[-MOST:])
