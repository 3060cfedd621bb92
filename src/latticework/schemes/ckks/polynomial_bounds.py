"""The bound after a polynomial of every slot, by running its own code with drawn noise over its interval.

A bound carried along Paterson-Stockmeyer adds up the magnitudes of terms that cancel: of a Chebyshev series of degree
63 whose values stay within 1 it makes thousands of times the deviation, and of two in a row 10^14 times. So what the
steps add is drawn at arguments as the bound states them, and what comes in goes on by the polynomial's own slope. The
peak is that of the polynomial on the arguments.
"""

from __future__ import annotations

from math import hypot, sqrt

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev as series

from latticework.plan.analysis.error_model import RARE_DEVIATIONS, Bound
from latticework.plan.analysis.simulation import Simulation
from latticework.plan.schema.schema import Plan
from latticework.values.packing.packed_constants import IntervalPolynomial

DRAWN = 1 << 14  # arguments at which the noise is drawn, a vector of slots at least
BINS = 32  # ranges of arguments, of which the one with the largest noise counts for the worst case
GRID = 64  # points for each degree, between which extremes are hardly higher
LARGEST_ROOTS = 256  # degree up to which extremes are found as roots
FloatArray = npt.NDArray[np.float64]


def polynomial_bound(plan: Plan, polynomial: IntervalPolynomial, x: Bound, slots: int) -> Bound:
    """The bound of the polynomial's value, for real slots within the interval, or as far beyond it as x's peak lies.

    plan        the polynomial alone, one vector to one
    polynomial  a Chebyshev series on an interval
    raises      RangeError where some step does not fit the modulus
    """
    low, high = polynomial.interval
    reach = max(abs(low), abs(high))
    beyond = max(1.0, x.peak / reach)
    ends = max(low * beyond, -x.peak), min(high * beyond, x.peak)
    points = _arguments(x, ends, max(DRAWN, slots)).reshape(-1, 1, slots)
    exact = _value(polynomial, points)
    (found,) = Simulation(plan, np.random.default_rng(0), None).run([points])
    off = (np.real(np.asarray(found)) - exact) ** 2
    own = sqrt(float(np.mean(off)))
    order = np.argsort(points, axis=None)
    local = sqrt(max(float(np.mean(part)) for part in np.array_split(off.reshape(-1)[order], BINS)))
    slopes = _derivative(polynomial)
    steep = sqrt(float(np.mean(_value(slopes, points) ** 2)))
    return Bound(
        _largest(polynomial, *ends),
        sqrt(float(np.mean(exact**2))),
        hypot(x.average * steep, own),
        x.worst * _largest(slopes, ends[0] - x.worst, ends[1] + x.worst) + RARE_DEVIATIONS * local,
        x.lineage,
    )


def _arguments(x: Bound, ends: tuple[float, float], count: int) -> FloatArray:
    """Real numbers with the peak and about the root mean square of a bound, in no order, on both sides of 0."""
    rng = np.random.default_rng(1)
    share = min(x.rms / x.peak, 1.0) if x.peak > 0 else 1.0
    bend = (1.0 / max(share, 2.0**-20) ** 2 - 1.0) / 2  # the root mean square of u^bend, u in [0, 1], is that share
    sizes = x.peak * ((np.arange(count) + 0.5) / count) ** bend
    return np.asarray(np.clip(rng.permutation(sizes) * rng.choice([-1.0, 1.0], count), *ends))


def _unit(polynomial: IntervalPolynomial, x: FloatArray) -> FloatArray:
    low, high = polynomial.interval
    return np.asarray((2.0 * x - low - high) / (high - low))


def _value(polynomial: IntervalPolynomial, x: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(series.chebval(_unit(polynomial, x), polynomial.coefficients))


def _derivative(polynomial: IntervalPolynomial) -> IntervalPolynomial:
    low, high = polynomial.interval
    inside = series.chebder(np.array(polynomial.coefficients)) * (2.0 / (high - low))
    return IntervalPolynomial(tuple(inside.tolist()), polynomial.interval)


def _largest(polynomial: IntervalPolynomial, low: float, high: float) -> float:
    """The largest magnitude between two arguments."""
    degree = max(len(polynomial.coefficients) - 1, 1)
    points = [np.array([low, high])]
    if degree <= LARGEST_ROOTS:
        half = (polynomial.interval[1] - polynomial.interval[0]) / 2
        slope = np.trim_zeros(series.chebder(np.array(polynomial.coefficients)), "b")
        roots = series.chebroots(slope) if len(slope) > 1 else np.zeros(0)
        inside = np.real(roots) * half + sum(polynomial.interval) / 2
        points.append(inside[(inside > low) & (inside < high)])
    else:
        points.append(low + (high - low) * (0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, GRID * degree))))
    found = _value(polynomial, np.concatenate(points))
    return float(np.max(np.abs(found))) if np.isfinite(found).all() else float("inf")
