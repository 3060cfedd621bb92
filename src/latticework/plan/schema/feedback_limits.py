"""Limits of runs that go on from encrypted results: how many may follow each other, and how errors grow."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite

from latticework.lazy_dataclass import dataclass

USEFUL = 2.0**-3  # of the largest result in calibration: errors that are larger are not known by how much they grow


@dataclass(frozen=True, slots=True)
class FeedbackLimits:
    """The limits of a program with inputs that an earlier run may compute.

    runs     that may follow each other while every input that was fed back stays inside its range, in calibration
    sources  the outputs, by number, that such inputs are
    gains    of each output, for each of `sources`: how far an element is off at most, for each unit that elements of
             that input are
    """

    runs: int
    sources: tuple[int, ...]
    gains: tuple[tuple[float, ...], ...]

    def errors_after(self, runs: int, errors: Sequence[float], magnitudes: Sequence[float]) -> list[float]:
        """Bound the errors of all outputs after `runs` runs, of inputs like those of calibration; inf: not known.

        Each run adds its own errors to what becomes of those that it is given; these are so small that results depend
        on them as on their first differences.

        errors      of a single run;  magnitudes  largest elements of outputs in calibration
        """
        unknown = [inf] * len(errors)
        if runs > self.runs:
            return unknown
        bounds = list(errors)
        for _ in range(runs - 1):
            if any(not bounds[i] <= USEFUL * magnitudes[i] for i in self.sources):
                return unknown
            inputs = [bounds[i] for i in self.sources]
            left = [sum(g * e for g, e in zip(row, inputs, strict=True)) for row in self.gains]
            bounds = [own + more for own, more in zip(errors, left, strict=True)]
        return bounds if all(map(isfinite, bounds)) else unknown
