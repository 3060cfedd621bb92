"""A parabola for each channel of a function's argument, whose constants public maps beside it take in.

Each is the one of least squares on the range of its channel, almost all of the weight on the data: it bends once, so
that what it gives where nothing lies is paid for where much does. Its vertex stays near the range. That of a function
that is nearly linear there would be far off, a small difference of large squares, and noise would be as large as these.
Source: the nearest parabolas with a vertex in an interval are those with any vertex, or with one at an end of it, since
those that open to one side form a convex cone.
"""

from __future__ import annotations

import numpy as np

from latticework.functions.approximation.channel_curve import RARE, ChannelCurve
from latticework.functions.approximation.chebyshev import FloatArray
from latticework.values.packing.channel_square import Parabolas
from latticework.values.packing.packed_constants import ChannelPolynomial

DEGREE = 2
NEAR = 2.0  # halves of a range, by which the vertex is away from its middle at most
DATA_WEIGHT = 1.0 - RARE  # of the total, of the data; the rest for as many as leave what is seen of them
POINTS = 64
NARROWEST = 2.0**-16  # of the range of all, for the range of a channel: constants of narrower ones would cancel out


class ParabolaCurve(ChannelCurve):
    """Polynomials by channel, of which those of degree 2 are such parabolas."""

    def _make(self, table: FloatArray, errors: FloatArray) -> ChannelPolynomial:
        if table.shape[1] != DEGREE + 1:
            return super()._make(table, errors)
        rows = tuple(tuple(row) for row in table.tolist())
        return Parabolas(rows, self._parts, self.channels.axis, self.shared.interval, errors=tuple(errors.tolist()))

    def _fit(self, degree: int) -> FloatArray:
        """(channels, degree + 1)."""
        if degree != DEGREE:
            return super()._fit(degree)
        first, last = self.shared.interval
        wide = (last - first) / 2
        low, high = np.array(self.ranges).T
        middle, half = (low + high) / 2, np.maximum((high - low) / 2, NARROWEST * wide)
        even = np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)
        data = np.array(self.channels.samples)[:, 1:-1]  # ends are rare, and even points hold the parabola there
        x = np.concatenate([middle[:, None] + half[:, None] * even, data], axis=1)
        x = np.clip(x, first, last)
        weights = np.concatenate([
            np.full(POINTS, (1.0 - DATA_WEIGHT) / POINTS), np.full(data.shape[1], DATA_WEIGHT / data.shape[1])
        ])  # fmt: skip
        powers = _fit_near((x - middle[:, None]) / half[:, None], self.shared.function(x), weights)
        constant, linear, square = powers.T
        stretch, shift = wide / half, ((first + last) / 2 - middle) / half
        constant = constant + shift * (linear + shift * square)
        linear, square = stretch * (linear + 2.0 * shift * square), stretch**2 * square
        return np.stack([constant + square / 2, linear, square / 2], axis=1)


def _fit_near(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Coefficients (channels, 3) of the nearest parabolas whose vertex is near, for points (channels, points)."""
    best = _least_squares(np.stack([np.ones_like(x), x, x * x], axis=-1), y, weights)
    is_near = np.abs(best[:, 1]) <= 2.0 * NEAR * np.abs(best[:, 2])
    least = np.where(is_near, -np.inf, np.inf)
    for vertex in (-NEAR, NEAR):
        constant, square = _least_squares(np.stack([np.ones_like(x), (x - vertex) ** 2], axis=-1), y, weights).T
        powers = np.stack([constant + vertex**2 * square, -2.0 * vertex * square, square], axis=1)
        off = powers[:, :1] + x * (powers[:, 1:2] + x * powers[:, 2:]) - y
        distance = off**2 @ weights
        is_better = distance < least
        best[is_better], least = powers[is_better], np.minimum(distance, least)
    return best


def _least_squares(basis: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Coefficients (channels, terms) for a basis (channels, points, terms) and values (channels, points)."""
    root = np.sqrt(weights)
    q, r = np.linalg.qr(basis * root[:, None])
    return np.asarray(np.linalg.solve(r, np.einsum("cpd,cp->cd", q, y * root)[..., None])[..., 0])
