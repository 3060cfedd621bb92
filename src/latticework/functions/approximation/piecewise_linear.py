"""Piecewise linear functions, by their breakpoints."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.functions.approximation.chebyshev import FloatArray, Interval
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PiecewiseLinear:
    """constant + slope * x + the sum of weights * |x - places|.

    weights  half of what the slope rises by at each place
    """

    places: tuple[float, ...]
    weights: tuple[float, ...]
    slope: float = 0.0
    constant: float = 0.0

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Elementwise."""
        points = np.asarray(x, dtype=np.float64)
        bent = sum(w * np.abs(points - p) for p, w in zip(self.places, self.weights, strict=True))
        return np.asarray(self.constant + self.slope * points + bent)

    def inside(self, interval: Interval) -> PiecewiseLinear:
        """The same function on an interval, by the breakpoints inside of it alone."""
        low, high = interval
        inner = [(p, w) for p, w in zip(self.places, self.weights, strict=True) if low < p < high and w]
        slope, constant = self.slope, self.constant
        for p, w in zip(self.places, self.weights, strict=True):
            if not low < p < high:
                side = 1.0 if p <= low else -1.0
                slope, constant = slope + side * w, constant - side * w * p
        return PiecewiseLinear(tuple(p for p, _ in inner), tuple(w for _, w in inner), slope, constant)


def relu_from(place: float = 0.0, below: float = 0.0, above: float = 1.0, constant: float = 0.0) -> PiecewiseLinear:
    """Return the function of slope `below` up to a place and `above` from there on, and `constant` there."""
    middle, half = (below + above) / 2, (above - below) / 2
    return PiecewiseLinear((place,), (half,), middle, constant - middle * place)


def piecewise_linear_clip(low: float, high: float, slope: float = 1.0, constant: float = 0.0) -> PiecewiseLinear:
    """slope * x + constant, but at least `low` and at most `high`, for a slope above 0."""
    first, last = (low - constant) / slope, (high - constant) / slope
    return PiecewiseLinear((first, last), (slope / 2, -slope / 2), 0.0, (low + high) / 2)
