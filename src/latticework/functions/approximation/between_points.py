"""Distance of a polynomial from a function between the points at which they are compared.

A function that is known by its values alone is sampled more closely where neighbours disagree; the distance found then
is no bound. With a bound on its slope it is one: a distance that changes by at most k a unit is at most
(|a| + |b| + k h) / 2 between points h apart where it is a and b. Intervals on which that bound is too loose are halved
until it is tight enough, or there are too many.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.functions.approximation.chebyshev import FloatArray, Interval, RealFunction, max_slope, on_interval
from latticework.values.packing.packed_constants import IntervalPolynomial

GRID = 10_001
DISAGREE = 2.0**-6  # of the largest distance seen, by which a point may differ from the mean of its neighbours
HALVINGS = 24  # of intervals
MOST_LOOKED, MOST_PROVED = 1 << 16, 1 << 20  # points
NEAR = 1.05  # times the largest distance seen, which is near enough for a bound
ROUNDING = 2.0**-44  # of values of functions

Distance = Callable[[FloatArray], FloatArray]
Ends = tuple[FloatArray, FloatArray]  # points, and distances there
Flags = npt.NDArray[np.bool_]


def distance_of(polynomial: IntervalPolynomial, function: RealFunction) -> Distance:
    """|polynomial - function| at some points."""
    return lambda x: np.abs(np.asarray(polynomial(x) - function(x)))


def first_points(interval: Interval, more: FloatArray) -> FloatArray:
    """Points of an interval, its ends among them, in order; with those of `more` that lie in it."""
    inside = more[(more > interval[0]) & (more < interval[1])]
    grid = on_interval(-np.cos(np.linspace(0.0, np.pi, GRID)), interval)
    grid[0], grid[-1] = interval
    return np.unique(np.concatenate([grid, inside]))


def largest_seen(distance: Distance, points: FloatArray) -> float:
    """The largest distance, looked for more closely where points tell another than their neighbours do."""
    distances = distance(points)
    largest, looked = float(np.max(distances)), len(points)
    left, right = (points[:-1], distances[:-1]), (points[1:], distances[1:])
    for _ in range(HALVINGS):
        middle = (left[0] + right[0]) / 2
        seen = distance(middle)
        largest, looked = max(largest, float(np.max(seen, initial=0.0))), looked + len(middle)
        split = np.abs(seen - (left[1] + right[1]) / 2) > DISAGREE * largest
        if not split.any() or looked > MOST_LOOKED:
            break
        left, right = _halves(left, (middle, seen), right, split)
    return largest


def bounded_distance(
    polynomial: IntervalPolynomial, function: RealFunction, lipschitz: float, points: FloatArray, beyond: float
) -> float:
    """A bound on the distance from the first point to the last, and a little beyond both.

    lipschitz  of the function: |f(a) - f(b)| <= lipschitz * |a - b|
    raises     RangeError where two values are farther apart than that
    """
    _check_slope(function, lipschitz, points)
    distance = distance_of(polynomial, function)
    steepest = lipschitz + max_slope(polynomial)
    distances = distance(points)
    largest, looked, rest = float(np.max(distances)), len(points), 0.0
    left, right = (points[:-1], distances[:-1]), (points[1:], distances[1:])
    while len(left[0]):
        bounds = (left[1] + right[1] + steepest * (right[0] - left[0])) / 2
        split = bounds > NEAR * largest
        looked += int(np.count_nonzero(split))
        if looked > MOST_PROVED:
            rest = float(np.max(bounds))
            break
        a, b = ((ends[0][split], ends[1][split]) for ends in (left, right))
        middle = (a[0] + b[0]) / 2
        seen = distance(middle)
        largest = max(largest, float(np.max(seen, initial=0.0)))
        left, right = _halves(a, (middle, seen), b, np.ones(len(middle), dtype=bool))
    size = float(np.max(np.abs(function(points))))
    return max(NEAR * largest, rest) + steepest * beyond + ROUNDING * size


def _halves(left: Ends, middle: Ends, right: Ends, split: Flags) -> tuple[Ends, Ends]:
    """Both halves of some parts, as (points, distances) of their ends."""
    a, m, b = ((points[split], distances[split]) for points, distances in (left, middle, right))
    return (
        (np.concatenate([a[0], m[0]]), np.concatenate([a[1], m[1]])),
        (np.concatenate([m[0], b[0]]), np.concatenate([m[1], b[1]])),
    )


def _check_slope(function: RealFunction, lipschitz: float, points: FloatArray) -> None:
    values = function(points)
    slack = ROUNDING * (1.0 + float(np.max(np.abs(values))))
    steep = np.abs(np.diff(values)) > lipschitz * np.diff(points) * (1.0 + 1e-9) + slack
    if steep.any():
        at = int(np.argmax(steep))
        slope = abs(float(values[at + 1] - values[at])) / float(points[at + 1] - points[at])
        raise RangeError(
            f"lipschitz={lipschitz:g}, but between {points[at]:.9g} and {points[at + 1]:.9g} its value changes "
            f"{slope:.9g} times as much as its argument; give a bound on its slope over all of its range"
        )
