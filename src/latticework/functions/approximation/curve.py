"""Error by degree of polynomials for one function on one interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import log2

import numpy as np

from latticework.errors import RangeError
from latticework.functions.approximation.between_points import bounded_distance, distance_of, first_points, largest_seen
from latticework.functions.approximation.chebyshev import FloatArray, Interval, RealFunction, max_error
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.functions.approximation.minimax import minimax
from latticework.values.packing.packed_constants import IntervalPolynomial

BEYOND = 1e-8  # of half the interval: arguments at its ends may leave it by rounding
BETWEEN = 1.01  # times the largest error that is seen, for those between the points that are looked at
EXACT = 127  # degree beyond which errors of piecewise linear functions are told from those of lower degrees
ROUNDING = 2.0**-43  # of the size of a function: errors so small are those of rounding, whatever the degree
SPREAD = 32  # degrees are told apart to one in so many


class Curve:
    """Polynomials and their largest errors, by degree, made when they are asked for.

    given   the polynomial of a degree, if it is not the one with the least largest error
    smooth  the function is analytic around the interval; if not, errors fall by a power of the degree
    breakpoints  places where it bends, at which distances are looked at too
    data    of a function that is known by its values alone, arguments that it was seen to take: it is looked at there,
            and more closely wherever neighbours disagree
    """

    most_levels = MAX_DEGREE.bit_length()

    def __init__(
        self,
        function: RealFunction,
        interval: Interval,
        value: Callable[[int], IntervalPolynomial] | None = None,
        *,
        smooth: bool = True,
        breakpoints: Sequence[float] = (),
        data: Sequence[float] | None = None,
    ) -> None:
        self.data = None if data is None else np.asarray(data, dtype=np.float64)
        self.breakpoints = np.asarray(breakpoints, dtype=np.float64)
        self.function, self.interval, self.smooth = function, interval, smooth
        self._made = value or (lambda degree: minimax(function, interval, degree))
        self._polynomials: dict[int, tuple[IntervalPolynomial, float]] = {}

    def rough(self) -> Curve:
        """The same, with errors of high degrees told from those of lower ones whatever the function: to speak of."""
        result = Curve(self.function, self.interval, self._made, smooth=False)
        result._polynomials = self._polynomials
        return result

    def polynomial(self, degree: int) -> IntervalPolynomial:
        """The polynomial of a degree; its `error` is the largest on the interval and a hair beyond."""
        return self._at(degree)[0]

    def error(self, degree: int) -> float:
        """The largest distance of that polynomial from the function."""
        return self._at(degree)[1]

    def bound(self, degree: int, lipschitz: float) -> float:
        """The same, proved of a function of this slope at most: no less than `error`.

        raises  RangeError where the function is steeper
        """
        polynomial, error = self._at(degree)
        more = np.empty(0) if self.data is None else self.data
        beyond = BEYOND * (self.interval[1] - self.interval[0]) / 2
        points = first_points(self.interval, more)
        return max(error, bounded_distance(polynomial, self.function, lipschitz, points, beyond))

    def estimate(self, degree: int) -> float:
        """Estimate the error of a degree, without its polynomial where that takes long and lower degrees tell it."""
        lower = [error for known, (_, error) in self._polynomials.items() if known <= degree]
        if lower and min(lower) <= ROUNDING * self.size:
            return min(lower)
        if self.smooth or degree <= EXACT or degree in self._polynomials:
            return self.error(degree)
        half, whole = self.error(EXACT // 2), self.error(EXACT)
        known = max(d for d in self._polynomials if EXACT <= d < degree)
        fall = whole / half if half else 1.0
        return self.error(known) * float(fall ** log2(degree / known))

    def _at(self, degree: int) -> tuple[IntervalPolynomial, float]:
        if degree not in self._polynomials:
            polynomial = self._made(degree)
            largest = max_error(polynomial, self._beyond, BEYOND)
            if len(self.breakpoints):
                largest = max(
                    largest, float(np.max(np.abs(polynomial(self.breakpoints) - self._beyond(self.breakpoints))))
                )
            error = BETWEEN * largest
            if self.data is not None:
                points = first_points(self.interval, self.data)
                error = max(error, largest_seen(distance_of(polynomial, self.function), points))
            self._polynomials[degree] = polynomial, error
        return self._polynomials[degree]

    def _beyond(self, x: FloatArray) -> FloatArray:
        """The function; of arguments that only rounding takes out of its domain, as of the end of the interval."""
        try:
            return self.function(x)
        except RangeError:
            return self.function(np.clip(x, *self.interval))

    def least_degree(self, most: float, lowest: int, highest: int) -> int:
        """Find about the lowest degree in a range whose estimate is at most `most`; `highest` must be known to do."""
        while highest - lowest > highest // SPREAD:
            middle = (lowest + highest) // 2
            if self.estimate(middle) <= most:
                highest = middle
            else:
                lowest = middle + 1
        return highest

    @cached_property
    def size(self) -> float:
        """Largest magnitude of the function on the interval, roughly."""
        with np.errstate(all="ignore"):
            values = np.abs(self.function(np.linspace(*self.interval, 257)))
        return float(np.max(values, where=np.isfinite(values), initial=0.0)) or 1.0
