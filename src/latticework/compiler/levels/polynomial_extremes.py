"""Bounds on a polynomial and its slope on intervals, proven and not sampled.

At the Chebyshev points cos(j pi / m), p(cos t) is a trigonometric polynomial of degree d in t, so between two points it
leaves the range of their values by at most (d h)^2 / 2 of its largest value, h being half their distance in t
(Bernstein); and its largest value is at most 1 / cos(d pi / 2m) of that at the points (Ehlich and Zeller 1964).
"""

from __future__ import annotations

from math import cos, pi

import numpy as np
import numpy.typing as npt

from latticework.values.packing.packed_constants import ChannelPolynomial, IntervalPolynomial

Array = npt.NDArray[np.float64]
Expansion = IntervalPolynomial | ChannelPolynomial
POINTS_A_DEGREE, LEAST_POINTS = 64, 2048
MANY = 1 << 20  # intervals, for which one that holds them all is looked at


class Extremes:
    """A function on [-reach, reach] that is a polynomial of this degree, from its values at Chebyshev points.

    values  (points,), or (functions, points) of several, for what any of them can be
    """

    def __init__(self, points: Array, values: Array, degree: int) -> None:
        self.points = points
        step = pi / (len(points) - 1)
        norm = float(np.max(np.abs(values))) / cos(degree * step / 2)
        self.slack = (degree * step / 2) ** 2 / 2 * norm
        several = np.atleast_2d(values)
        self.lowest, self.highest = [several.min(axis=0)], [several.max(axis=0)]  # of runs of 2^k points, from each on
        while (width := 1 << len(self.lowest)) <= len(points):
            half = width // 2
            self.lowest.append(np.minimum(self.lowest[-1][:-half], self.lowest[-1][half:]))
            self.highest.append(np.maximum(self.highest[-1][:-half], self.highest[-1][half:]))

    def on(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Bounds on the values in each of some intervals."""
        if low.size > MANY:
            ends = self.on(np.array([low.min()]), np.array([high.max()]))
            return np.full(low.shape, ends[0][0]), np.full(low.shape, ends[1][0])
        last = len(self.points) - 1
        first = np.clip(np.searchsorted(self.points, low, side="right") - 1, 0, last)
        end = np.maximum(np.clip(np.searchsorted(self.points, high, side="left"), 0, last), first)
        size = np.frexp((end - first + 1).astype(np.float64))[1] - 1  # floor of log2
        lows, highs = np.empty(low.shape), np.empty(low.shape)
        for k in np.unique(size):
            here = size == k
            a, b = first[here], end[here] - (1 << int(k)) + 1
            lows[here] = np.minimum(self.lowest[k][a], self.lowest[k][b])
            highs[here] = np.maximum(self.highest[k][a], self.highest[k][b])
        return lows - self.slack, highs + self.slack


def extremes(polynomial: Expansion, reach: float) -> tuple[Extremes, Extremes]:
    """Bounds of polynomials in Chebyshev basis on [-1, 1], and of derivatives, for arguments as large as `reach`."""
    degree = max(polynomial.degree, 1)
    points = -reach * np.cos(np.linspace(0.0, pi, max(LEAST_POINTS, POINTS_A_DEGREE * degree) + 1))
    coefficients = np.asarray(polynomial.coefficients)  # (degree + 1,) or (degree + 1, channels)
    values, slopes = (
        np.asarray(np.polynomial.chebyshev.chebval(points, c), dtype=np.float64)
        for c in (coefficients, np.polynomial.chebyshev.chebder(coefficients))
    )
    return Extremes(points, values, degree), Extremes(points, slopes, degree)


def largest_terms(polynomial: Expansion, reach: float) -> float:
    """Bound on every sum of terms, and on every product of two Chebyshev polynomials, that evaluation goes through."""
    tops = np.cosh(np.arange(polynomial.degree + 1) * np.arccosh(max(reach, 1.0)))  # T_k(reach)
    return float(np.max(np.abs(np.asarray(polynomial.coefficients)).T @ tops) + 2.0 * tops[-1])
