"""The polynomial of a degree whose largest distance from a function on an interval is least (Remez).

In each step the polynomial is found whose distance at degree + 2 points alternates between h and -h; the points move
to where the distance then is largest. The distance nowhere less than |h| is possible (de la Vallee Poussin), so the
step at which the largest distance is close to |h| ends it. Polynomials are evaluated from their values at the points.
Source: Pachon and Trefethen, "Barycentric-Remez algorithms for best polynomial approximation", BIT 2009.
Cost: 16 (degree + 2)^2 a step, and few steps: 10 ms at degree 127, half a second at degree 1023.
"""

from __future__ import annotations

import numpy as np

from latticework.functions.approximation.chebyshev import (
    FloatArray,
    Interval,
    RealFunction,
    check_interval,
    from_values,
    interpolate,
    max_error,
    on_interval,
    to_unit,
)
from latticework.values.packing.packed_constants import IntervalPolynomial

MAX_STEPS = 20
NEAR = 1.01  # times the least possible distance, which is good enough
POINTS_A_DEGREE = 16
ROWS = 1024  # of a table of distances at a time
_SYMMETRIC = 1e-12  # part of the largest coefficient, below which those of one parity are taken to be absent


def minimax(function: RealFunction, interval: Interval, degree: int) -> IntervalPolynomial:
    """A polynomial of at most this degree, nearly as close to the function as any: interpolation where that is closer.

    Of a function that is odd or even about the middle of the interval, but for a constant or x times one (sigmoid,
    relu), the polynomial is too.
    """
    lo, hi = check_interval(interval)
    plain = interpolate(function, (lo, hi), degree)
    series = interpolate(function, (lo, hi), max(2 * degree + 1, 63))
    parity = _parity(series)
    # Of an odd function the best polynomials of degrees 2k - 1 and 2k are one, which alternates in 2k + 2 points.
    tried = degree + 1 if parity is not None and degree % 2 == parity else degree

    def on_unit(t: FloatArray) -> FloatArray:
        return function(on_interval(t, (lo, hi)))

    middle = to_unit(np.zeros(1), (lo, hi))  # the breakpoint of relu and its like
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # points that fall together end the steps
        values = _Exchange(on_unit, tried, middle[np.abs(middle) < 1.0]).run()
    if values is None:
        return plain
    coefficients = from_values(values)[: degree + 1]
    if parity is not None:
        coefficients[3 - parity :: 2] = 0.0
        coefficients[1 - parity] *= series.coefficients[1 - parity] != 0.0
    closest = IntervalPolynomial(tuple(float(c) for c in coefficients), (lo, hi))
    return min((closest, plain), key=lambda p: max_error(p, function))


def _parity(series: IntervalPolynomial) -> int | None:
    """0 for an even function, 1 for an odd one, beside a constant and x times one; None for others."""
    sizes = np.abs(series.coefficients)
    for parity in (0, 1):
        if np.max(sizes[3 - parity :: 2]) <= _SYMMETRIC * np.max(sizes):
            return parity
    return None


class _Exchange:
    """The steps for one function on [-1, 1].

    marks  points that are always looked at, beside Chebyshev points
    """

    def __init__(self, function: RealFunction, degree: int, marks: FloatArray) -> None:
        self.function, self.degree, self.marks = function, degree, marks
        self.grid = -np.cos(np.linspace(0.0, np.pi, POINTS_A_DEGREE * (degree + 2) + 1))
        self.points = -np.cos(np.linspace(0.0, np.pi, degree + 2))

    def run(self) -> FloatArray | None:
        """Values of the best polynomial found at the degree + 1 Chebyshev points of the first kind."""
        least, best = np.inf, None
        angles = np.pi * (np.arange(self.degree + 1) + 0.5) / (self.degree + 1)
        for _ in range(MAX_STEPS):
            height, values = self.level_distances()
            at = np.unique(np.concatenate([self.grid, self.points, self.marks]))
            distance = self.function(at) - self.interpolate(values, at)
            largest = float(np.max(np.abs(distance)))
            if not np.isfinite(largest):
                break
            if largest < least:
                least, best = largest, self.interpolate(values, np.cos(angles))
            if largest <= NEAR * height or not self.exchange_points(at, distance):
                break
        return best

    def level_distances(self) -> tuple[float, FloatArray]:
        """(|h|, values at the points) of the polynomial whose distance alternates between h and -h there."""
        apart = self.points[:, None] - self.points[None, :]
        np.fill_diagonal(apart, 1.0)
        logs = np.sum(np.log(np.abs(apart)), axis=1)
        signs = (-1.0) ** np.arange(len(self.points))
        self.weights = signs * np.exp(np.mean(logs) - logs)
        value = self.function(self.points)
        height = float(self.weights @ value) / float(self.weights @ signs)
        return abs(height), value - signs * height

    def interpolate(self, values: FloatArray, at: FloatArray) -> FloatArray:
        """The polynomial with these values at the points, by the second barycentric formula."""
        result = np.empty_like(at)
        for start in range(0, len(at), ROWS):
            apart = at[start : start + ROWS, None] - self.points[None, :]
            row, column = np.nonzero(apart == 0.0)
            apart[row, column] = 1.0
            shares = self.weights / apart
            part = (shares @ values) / np.sum(shares, axis=1)
            part[row] = values[column]
            result[start : start + ROWS] = part
        return result

    def exchange_points(self, at: FloatArray, distance: FloatArray) -> bool:
        """Move the points to the largest distances of alternating sign; False if there are too few."""
        peaks = alternating(distance, len(self.points))
        if peaks is None:
            return False
        self.points = at[peaks]
        return True


def alternating(distances: FloatArray, count: int) -> list[int] | None:
    """Places of `count` distances of alternating sign, each the largest of those of one sign; None if there are fewer.

    Of more than are wanted those at the ends go, the smaller first.
    """
    ends = np.flatnonzero(np.diff(distances >= 0.0)) + 1
    runs = np.split(np.arange(len(distances)), ends)
    peaks = [int(run[np.argmax(np.abs(distances[run]))]) for run in runs]
    while len(peaks) > count:
        peaks.pop(0 if abs(distances[peaks[0]]) < abs(distances[peaks[-1]]) else -1)
    return peaks if len(peaks) == count else None
