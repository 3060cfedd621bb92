"""The polynomial with the least largest weighted distance from a function on a union of intervals (Remez).

In each step the polynomial is found whose weighted distance at as many points as it has coefficients, and one more,
alternates between h and -h; the points move to where the distance then is largest. No polynomial is closer than |h|
everywhere (de la Vallee Poussin), so a largest distance close to |h| ends the steps.
Odd and even polynomials on intervals symmetric about 0 are x q(x^2) and q(x^2) on the positive ones. The basis is
orthogonal on the points of the union themselves (Arnoldi), not on the interval around it: between two intervals far
apart a polynomial is as large as it likes, and in a basis of the whole its coefficients would be lost in rounding.
Sources: Remez 1934; Brubeck, Nakatsukasa and Trefethen, "Vandermonde with Arnoldi", SIAM Review 2021.
Cost: (degree + 2)^3 a step, about ten steps: 2 ms at degree 15, 20 ms at degree 63. For one interval, without weight or
parity, and for high degrees there is `minimax`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.functions.approximation.chebyshev import (
    FloatArray,
    Interval,
    RealFunction,
    check_interval,
    from_values,
    on_interval,
)
from latticework.functions.approximation.minimax import alternating
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import IntervalPolynomial

MAX_STEPS = 40
MOST_IDLE = 4  # steps that bring nothing closer: what is left is rounding
NEAR = 1.0 + 1e-9  # times the least possible distance, which is good enough
ROUNDING = 2.0**-50  # of the largest weighted value: distances so small are rounding
POINTS_A_DEGREE = 16
LEAST_POINTS = 64  # of an interval
POINTS_AN_OCTAVE = 8  # of distances from 0
NARROWER = 3  # times that points of largest distance are looked for more closely


@dataclass(frozen=True, slots=True)
class BestPolynomial:
    """A polynomial, as Chebyshev series on the smallest interval around the union, and how close it is.

    error   largest weighted distance on the union; `polynomial.error` is the same
    least   no polynomial of this degree and parity is closer than this
    points  where the distance alternates between error and -error, rising; the positive ones if there is a parity
    """

    polynomial: IntervalPolynomial
    error: float
    least: float
    points: FloatArray


def remez(
    function: RealFunction,
    intervals: Sequence[Interval],
    degree: int,
    *,
    weight: RealFunction | None = None,
    parity: int | None = None,
) -> BestPolynomial:
    """The polynomial of at most this degree that is closest to the function on all of the intervals.

    weight  positive; distances are multiplied by it (1 if not given)
    parity  1: odd polynomials only, 0: even ones; the intervals are then those above 0 (even: from 0 on), and stand for
            their mirror images too
    raises  RangeError for intervals that overlap or are upside down, or at or below 0 where there is a parity
    """
    union = _union(intervals, parity)
    size = degree + 1 if parity is None else (degree - parity) // 2 + 1
    if size < 1:
        raise RangeError(f"remez: no odd polynomial has degree {degree}; ask for 1 or more")
    per_interval = max(LEAST_POINTS, POINTS_A_DEGREE * size) | 1  # with the middle, where a breakpoint may be
    grid = np.concatenate([_points(interval, per_interval) for interval in union])
    basis = _Basis(grid, size, parity)
    weights = weight or np.ones_like
    problem = _Problem(function, weights, basis, union)
    coefficients, error, least, points = problem.solve(grid)
    top = max(abs(union[0][0]), abs(union[-1][1]))
    hull = (union[0][0], union[-1][1]) if parity is None else (-top, top)
    angles = np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)
    series = from_values(basis.at(on_interval(np.cos(angles), hull)) @ coefficients)
    if parity is not None:
        series[1 - parity :: 2] = 0.0
    return BestPolynomial(IntervalPolynomial(tuple(map(float, series)), hull, error=error), error, least, points)


def _union(intervals: Sequence[Interval], parity: int | None) -> list[Interval]:
    union = sorted(check_interval(interval) for interval in intervals)
    if not union:
        raise RangeError("remez: there is no interval; give at least one (lo, hi)")
    for (lo, hi), (low, high) in pairwise(union):
        if low <= hi:
            raise RangeError(f"remez: intervals ({lo:g}, {hi:g}) and ({low:g}, {high:g}) overlap; join them")
    lowest = union[0][0]
    if parity is not None and (lowest < 0.0 or (parity == 1 and lowest == 0.0)):
        raise RangeError(
            f"remez: {'odd' if parity else 'even'} polynomials are fitted to intervals above 0, and one begins at "
            f"{lowest:g}; give those above 0, which stand for their mirror images"
        )
    return union


def _points(interval: Interval, count: int) -> FloatArray:
    """Close to each other towards the ends; towards 0 too, where the error of odd polynomials turns ever quicker."""
    lo, hi = interval
    points = on_interval(-np.cos(np.linspace(0.0, np.pi, count)), interval)
    if lo * hi > 0.0:
        octaves = max(count, int(POINTS_AN_OCTAVE * abs(np.log2(hi / lo))))
        points = np.concatenate([points, np.copysign(np.geomspace(abs(lo), abs(hi), octaves)[1:-1], lo)])
    return np.unique(np.clip(points, lo, hi))


class _Basis:
    """Polynomials orthonormal on a grid, of one parity or of both, by the steps that made them."""

    def __init__(self, grid: FloatArray, size: int, parity: int | None) -> None:
        self.parity, self.size = parity, size
        argument = self._argument(grid)
        self.middle = 0.5 * (argument.max() + argument.min())
        self.half = 0.5 * (argument.max() - argument.min()) or 1.0
        self.steps = np.zeros((size + 1, size))
        columns = np.empty((len(grid), size))
        column = np.ones(len(grid)) if parity != 1 else np.asarray(grid, dtype=np.float64)
        self.first = float(np.linalg.norm(column)) / np.sqrt(len(grid))
        columns[:, 0] = column / self.first
        moved = (argument - self.middle) / self.half
        for k in range(size - 1):
            column = moved * columns[:, k]
            for _ in range(2):  # a second pass takes out what rounding left of the first
                along = columns[:, : k + 1].T @ column / len(grid)
                column = column - columns[:, : k + 1] @ along
                self.steps[: k + 1, k] += along
            self.steps[k + 1, k] = float(np.linalg.norm(column)) / np.sqrt(len(grid))
            columns[:, k + 1] = column / self.steps[k + 1, k]

    def at(self, x: FloatArray) -> FloatArray:
        """(points, size): every polynomial at every point."""
        columns = np.empty((len(x), self.size))
        columns[:, 0] = (np.ones(len(x)) if self.parity != 1 else x) / self.first
        moved = (self._argument(x) - self.middle) / self.half
        for k in range(self.size - 1):
            column = moved * columns[:, k] - columns[:, : k + 1] @ self.steps[: k + 1, k]
            columns[:, k + 1] = column / self.steps[k + 1, k]
        return columns

    def _argument(self, x: FloatArray) -> FloatArray:
        return np.asarray(x, dtype=np.float64) if self.parity is None else np.square(x)


@dataclass(slots=True)
class _Problem:
    function: RealFunction
    weight: RealFunction
    basis: _Basis
    union: list[Interval]

    def solve(self, grid: FloatArray) -> tuple[npt.NDArray[Any], float, float, FloatArray]:
        """(coefficients, largest distance, least possible distance, points) of the closest polynomial found."""
        rows, values, weights = self.basis.at(grid), self.function(grid), self.weight(grid)
        count = self.basis.size + 1
        weighted = weights[:, None] * rows
        squares = np.linalg.lstsq(weighted, weights * values, rcond=None)[0]
        off = weights * values - weighted @ squares
        starts = self._starts(grid, alternating(off, count), count)
        points = max(starts, key=lambda start: self._level_distances(start)[1])
        small = ROUNDING * float(np.max(np.abs(values * weights)))
        best, idle = (squares, float(np.max(np.abs(off))), 0.0, points), 0
        for _ in range(MAX_STEPS):
            coefficients, height = self._level_distances(points)
            coarse = weights * (values - rows @ coefficients)
            near = self._near(grid, coarse, coefficients)
            x = np.concatenate([grid, near, points])
            order = np.argsort(x, kind="stable")
            more = np.concatenate([near, points])
            distances = np.concatenate([coarse, self._distance(more, coefficients)])[order]
            largest = float(np.max(np.abs(distances)))
            idle = 0 if largest < best[1] else idle + 1
            if largest < best[1]:
                best = coefficients, largest, max(best[2], height), points
            places = alternating(distances, count)
            if largest <= NEAR * height or largest <= small or places is None or idle > MOST_IDLE:
                break
            points = x[order][places]
        return best

    @staticmethod
    def _starts(grid: FloatArray, places: list[int] | None, count: int) -> list[FloatArray]:
        """Sets of points to start from; the larger the distance |h| that they show to be needed, the better.

        places   where distances of least squares are largest
        """
        ends = float(grid[0]), float(grid[-1])
        aims = [on_interval(-np.cos(np.linspace(0.0, np.pi, count)), ends)]
        aims.append(on_interval(-np.cos(np.linspace(0.0, np.pi, count + 1)[1:]), ends))  # even functions: not even
        aims += [grid[places]] if places is not None else []
        starts = [np.unique(grid[np.clip(np.searchsorted(grid, aim), 0, len(grid) - 1)]) for aim in aims]
        return [start for start in starts if len(start) == count] or [starts[0]]

    def _level_distances(self, points: FloatArray) -> tuple[npt.NDArray[Any], float]:
        signs = (-1.0) ** np.arange(len(points))
        matrix = np.column_stack([self.basis.at(points), signs / self.weight(points)])
        solution = np.linalg.lstsq(matrix, self.function(points), rcond=None)[0]
        return solution[:-1], abs(float(solution[-1]))

    def _distance(self, x: FloatArray, coefficients: FloatArray) -> FloatArray:
        return np.asarray(self.weight(x) * (self.function(x) - self.basis.at(x) @ coefficients))

    def _near(self, grid: FloatArray, distances: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Points where the distance is largest around the largest ones of the grid, by parabolas ever narrower."""
        size = np.abs(distances)
        peaks = np.flatnonzero((size[1:-1] >= size[:-2]) & (size[1:-1] >= size[2:])) + 1
        whole = [any(lo <= grid[p - 1] and grid[p + 1] <= hi for lo, hi in self.union) for p in peaks]
        peaks = peaks[whole]
        left, right = grid[peaks] - grid[peaks - 1], grid[peaks + 1] - grid[peaks]
        tops = _tops(grid[peaks], left, right, size[peaks - 1], size[peaks], size[peaks + 1])
        width = np.minimum(left, right)
        for _ in range(NARROWER):
            low, high = np.maximum(tops - 0.1 * width, grid[peaks - 1]), np.minimum(tops + 0.1 * width, grid[peaks + 1])
            tops, width = 0.5 * (low + high), 0.5 * (high - low)
            around = np.abs(self._distance(np.concatenate([low, tops, high]), coefficients)).reshape(3, -1)
            tops = _tops(tops, width, width, *around)
        return tops


def _tops(x: FloatArray, left: FloatArray, right: FloatArray, *values: FloatArray) -> FloatArray:
    """Return the peaks of the parabolas through values at x - left, x and x + right, between the first and the last."""
    before, at, after = values
    rising, falling = (at - before) / left, (after - at) / right
    bend = rising - falling
    moved = np.where(bend > 0.0, 0.5 * (rising * right + falling * left) / np.where(bend > 0.0, bend, 1.0), 0.0)
    return np.asarray(x + np.clip(moved, -left, right))
