"""Polynomials that stand in for functions on an interval, in the Chebyshev basis.

A Chebyshev coefficient of a function bounded by M on the interval is at most
2M, so the basis is safe to evaluate at low precision where powers are not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev
from numpy.polynomial import Polynomial as PowerSeries
from numpy.polynomial import chebyshev as series

from latticework.errors import RangeError
from latticework.values.packing.packed_constants import IntervalPolynomial

FloatArray = npt.NDArray[np.float64]
RealFunction = Callable[[FloatArray], FloatArray]
Interval = tuple[float, float]

_NEGLIGIBLE = 1e-14  # relative to the largest coefficient: rounding of the fit, not part of the function
_GRID = 10_001  # odd, so that the middle of the interval (the breakpoint of relu) is a point
_POINTS_A_DEGREE = 32
_HAIR = 1.001  # times its slope, at most, of a polynomial of degree 1023 as far beyond its interval as rounding goes
_PEAKS, _ZOOMS, _ZOOM_POINTS = 16, 4, 9


def check_interval(interval: Interval) -> Interval:
    """The interval as floats; raises RangeError unless lo < hi and both are finite."""
    lo, hi = float(interval[0]), float(interval[1])
    if not (np.isfinite(lo) and np.isfinite(hi) and lo < hi):
        raise RangeError(f"range ({lo:g}, {hi:g}) is not an interval; give finite numbers (lo, hi) with lo < hi")
    return lo, hi


def interpolate(function: RealFunction, interval: Interval, degree: int) -> IntervalPolynomial:
    """Interpolate at the degree + 1 Chebyshev points of the first kind.

    The error is within a factor of about 2 + (2/pi) log(degree) of the best possible,
    and falls geometrically with the degree where the function is analytic.
    """
    lo, hi = check_interval(interval)
    angles = np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)
    return _polynomial(from_values(function(on_interval(np.cos(angles), (lo, hi)))), (lo, hi))


def from_values(values: FloatArray) -> FloatArray:
    """Chebyshev coefficients on [-1, 1] from as many values at the Chebyshev points of the first kind, from 1 down."""
    count = len(values)
    angles = np.pi * (np.arange(count) + 0.5) / count
    coefficients = 2.0 / count * (np.cos(np.outer(np.arange(count), angles)) @ values)
    coefficients[0] /= 2.0
    return np.asarray(coefficients)


def fit(
    function: RealFunction,
    interval: Interval,
    degree: int,
    samples: FloatArray | None = None,
    sample_weight: float = 0.75,
) -> IntervalPolynomial:
    """Least squares on Chebyshev points of the interval, drawn towards where the data are.

    samples        values the argument takes (any shape); `sample_weight` in [0, 1) of the total weight is theirs,
                   the rest keeps the polynomial bounded on the interval; without samples the fit is the
                   truncated Chebyshev series
    For relu on normal data both the mean and the largest error are about half those of interpolation.
    """
    lo, hi = check_interval(interval)
    count = max(512, 8 * (degree + 1))
    points = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    weights = np.full(count, 1.0 / count)
    if samples is not None and samples.size:
        at = np.clip(to_unit(np.asarray(samples, dtype=np.float64).reshape(-1), (lo, hi)), -1.0, 1.0)
        points = np.concatenate([points, at])
        weights = np.concatenate([(1.0 - sample_weight) * weights, np.full(at.size, sample_weight / at.size)])
    root = np.sqrt(weights)
    matrix = series.chebvander(points, degree) * root[:, None]
    coefficients = np.linalg.lstsq(matrix, function(on_interval(points, (lo, hi))) * root, rcond=None)[0]
    return _polynomial(coefficients, (lo, hi))


def max_error(polynomial: IntervalPolynomial, function: RealFunction, beyond: float = 0.0) -> float:
    """Largest |polynomial - function| on the interval, and up to `beyond` times half its length outside.

    It is looked for at 32 Chebyshev points a degree (at least 10,001) and at 0 if that is inside, then ever closer
    around the largest of them. A spike narrower than that is not seen.
    """
    count = max(_GRID, _POINTS_A_DEGREE * polynomial.degree + 1)
    reach = 1.0 + beyond
    grid = -reach * np.cos(np.linspace(0.0, np.pi, count))
    zero = float(to_unit(np.zeros(1), polynomial.interval)[0])
    if abs(zero) < reach:
        grid = np.insert(grid, np.searchsorted(grid, zero), zero)

    def distance(t: FloatArray) -> FloatArray:
        x = on_interval(t, polynomial.interval)
        with np.errstate(all="ignore"):  # outside of its domain a function may have no value: then nothing is off
            error = np.abs(polynomial(x) - function(x))
        return np.where((np.abs(t) <= 1.0) | np.isfinite(error), error, 0.0)

    error = distance(grid)
    largest = float(np.max(error))
    inner = np.flatnonzero((error[1:-1] >= error[:-2]) & (error[1:-1] >= error[2:])) + 1
    peaks = inner[np.argsort(-error[inner])[:_PEAKS]]
    low, high = grid[peaks - 1], grid[peaks + 1]
    for _ in range(_ZOOMS if len(peaks) else 0):
        points = low + (high - low) * np.linspace(0.0, 1.0, _ZOOM_POINTS)[:, None]
        near = distance(points)
        top = np.clip(np.argmax(near, axis=0), 1, _ZOOM_POINTS - 2)
        every = np.arange(len(peaks))
        largest = max(largest, float(np.max(near)))
        low, high = points[top - 1, every], points[top + 1, every]
    return largest


def max_slope(polynomial: IntervalPolynomial) -> float:
    """A bound on the slope of a polynomial on its interval, a hair beyond which it is no steeper by much.

    Source: at m + 1 Chebyshev points a polynomial of degree d takes cos(d pi / 2m) of its largest value (Ehlich and
    Zeller 1964).
    """
    value = to_chebyshev(polynomial)
    degree = max(value.degree, 1)
    points = 4 * degree
    slopes = series.chebval(np.cos(np.linspace(0.0, np.pi, points + 1)), series.chebder(np.asarray(value.coefficients)))
    half = (polynomial.interval[1] - polynomial.interval[0]) / 2
    return _HAIR * float(np.max(np.abs(slopes))) / float(np.cos(degree * np.pi / (2 * points))) / half


def to_chebyshev(polynomial: IntervalPolynomial, interval: Interval | None = None) -> IntervalPolynomial:
    """The same polynomial in the Chebyshev basis of `interval` (its own if not given)."""
    lo, hi = check_interval(polynomial.interval if interval is None else interval)
    value: PowerSeries | Chebyshev = PowerSeries(polynomial.coefficients)
    if polynomial.basis == "chebyshev":
        value = Chebyshev(polynomial.coefficients, domain=polynomial.interval)
    converted = value.convert(domain=(lo, hi), kind=Chebyshev, window=(-1, 1))
    return _polynomial(np.asarray(converted.coef, dtype=np.float64), (lo, hi))


def to_power(polynomial: IntervalPolynomial) -> IntervalPolynomial:
    """The same polynomial in powers of its argument."""
    if polynomial.basis == "power":
        return polynomial
    powers = Chebyshev(polynomial.coefficients, domain=polynomial.interval).convert(kind=PowerSeries)
    return IntervalPolynomial(tuple(float(c) for c in powers.convert().coef), polynomial.interval, "power")


def on_interval(t: FloatArray, interval: Interval) -> FloatArray:
    """Numbers of [-1, 1] moved to an interval."""
    lo, hi = interval
    return 0.5 * ((hi - lo) * t + (lo + hi))


def to_unit(x: FloatArray, interval: Interval) -> FloatArray:
    """Numbers of an interval moved to [-1, 1]."""
    lo, hi = interval
    return (2.0 * x - (lo + hi)) / (hi - lo)


def _polynomial(coefficients: FloatArray, interval: Interval) -> IntervalPolynomial:
    largest = float(np.max(np.abs(coefficients)))
    significant = np.where(np.abs(coefficients) > _NEGLIGIBLE * largest, coefficients, 0.0)
    return IntervalPolynomial(tuple(float(c) for c in significant), interval, "chebyshev")
