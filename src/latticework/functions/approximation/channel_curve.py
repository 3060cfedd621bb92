"""Error by degree of polynomials for one function, another polynomial for each channel of its argument.

Each is the one of least squares on the range of its channel, drawn to where the channel's data are, in the Chebyshev
basis of the range of all. Outside of its own range nothing is asked of it, so coefficients could become large; a weight
on their squares keeps them as large as those of one polynomial are, which costs little.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from latticework.functions.approximation.channel_samples import ChannelSamples
from latticework.functions.approximation.chebyshev import FloatArray, Interval, on_interval, to_unit
from latticework.functions.approximation.curve import BETWEEN, BEYOND, Curve
from latticework.functions.approximation.extreme_value import Tails
from latticework.values.packing.packed_constants import Approximant, ChannelPolynomial
from latticework.values.packing.series import series_at

USUAL = 0.75  # of channels, whose distance from their means others are taken to reach
RARE = 1e-3  # the share of inputs, at most, that are estimated to leave the range of any channel, within that of all
HIGHEST = 63  # degree up to which channels have polynomials of their own: beyond, fits take long
DATA_WEIGHT = 0.95  # of the total, of the data; the rest holds the polynomial to the function where there are few
RIDGE = 1e-3  # weight of coefficients, of that of distances
POINTS_A_DEGREE, LEAST_POINTS = 4, 64
LOOKED_AT = 32  # points for each degree at which errors are looked at, at least 1,025


class ChannelCurve:
    """Polynomials and their largest errors by degree, as `Curve` has them of one polynomial for all.

    shared  those, for high degrees
    tails   of calibration by channel, where they are known
    """

    def __init__(self, shared: Curve, channels: ChannelSamples, tails: Tails | None = None) -> None:
        self.shared, self.channels, self.tails = shared, channels, tails
        self._polynomials: dict[int, tuple[ChannelPolynomial, float]] = {}

    def is_by_channel(self, degree: int) -> bool:
        """Whether channels have polynomials of their own."""
        return degree <= HIGHEST

    def polynomial(self, degree: int) -> Approximant:
        """The polynomials of a degree."""
        return self._at(degree)[0] if self.is_by_channel(degree) else self.shared.polynomial(degree)

    def error(self, degree: int) -> float:
        """The largest distance of any from the function, on the range of its channel."""
        return self._at(degree)[1] if self.is_by_channel(degree) else self.shared.error(degree)

    def estimate(self, degree: int) -> float:
        """Estimate the error of a degree."""
        return self.error(degree) if self.is_by_channel(degree) else self.shared.estimate(degree)

    @cached_property
    def ranges(self) -> list[Interval]:
        """Range of each channel: the arguments seen and a margin, within the range of all.

        A channel that stayed nearer to its mean than others do, in deviations, did so by chance: it is taken to go as
        far as three quarters of them. Each is taken to go as far as the tails of calibration reach, too, so that few
        new inputs leave any: there a polynomial is wrong, and the more so the narrower its range is.
        """
        data = np.array(self.channels.samples)
        least, most, mean, deviation = data[:, 0], data[:, -1], data.mean(axis=1), data.std(axis=1)
        varies = deviation > 0.0
        if varies.any():
            both = (far[varies] / deviation[varies] for far in (mean - least, most - mean))
            below, above = (np.quantile(each, USUAL) for each in both)
            least, most = np.minimum(least, mean - below * deviation), np.maximum(most, mean + above * deviation)
        slack = self.channels.margin * np.where(most > least, most - least, np.maximum(np.abs(most), 1.0))
        least, most = least - slack, most + slack
        if self.tails is not None and (rare := self.tails.ends(RARE)) is not None:
            least, most = np.minimum(least, rare[0]), np.maximum(most, rare[1])
        low, high = self.shared.interval
        return list(zip(np.maximum(least, low).tolist(), np.minimum(most, high).tolist(), strict=True))

    def _at(self, degree: int) -> tuple[ChannelPolynomial, float]:
        if degree not in self._polynomials:
            table = self._fit(degree)
            errors = BETWEEN * self._distances(table)
            self._polynomials[degree] = self._make(table, errors), float(np.max(errors))
        return self._polynomials[degree]

    def _make(self, table: FloatArray, errors: FloatArray) -> ChannelPolynomial:
        """Polynomials with coefficients (channels, degree + 1), each so far from the function."""
        rows = tuple(tuple(row) for row in table.tolist())
        return ChannelPolynomial(rows, self._parts, self.channels.axis, self.shared.interval)

    @property
    def _parts(self) -> tuple[Interval, ...]:
        """Range of each channel, as a part of that of all."""
        return tuple((float(a), float(b)) for a, b in to_unit(np.array(self.ranges), self.shared.interval))

    def _fit(self, degree: int) -> FloatArray:
        """(channels, degree + 1)."""
        count = max(LEAST_POINTS, POINTS_A_DEGREE * (degree + 1))
        even = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        ranges, data = np.array(self.ranges), np.array(self.channels.samples)
        x = np.concatenate([_inside(even, ranges), data], axis=1)
        weights = np.concatenate([
            np.full(count, (1.0 - DATA_WEIGHT) / count), np.full(data.shape[1], DATA_WEIGHT / data.shape[1])
        ])  # fmt: skip
        root = np.sqrt(weights)
        basis = np.polynomial.chebyshev.chebvander(to_unit(x, self.shared.interval), degree) * root[:, None]
        held = np.broadcast_to(RIDGE * np.eye(degree + 1), (len(x), degree + 1, degree + 1))
        wanted = np.concatenate([self.shared.function(x) * root, np.zeros((len(x), degree + 1))], axis=1)
        q, r = np.linalg.qr(np.concatenate([basis, held], axis=1))
        return np.asarray(np.linalg.solve(r, np.einsum("cpd,cp->cd", q, wanted)[..., None])[..., 0])

    def _distances(self, table: FloatArray) -> FloatArray:
        """The largest from the function by channel, at many points of its range, breakpoints and a hair beyond its
        ends."""
        count = max(1025, LOOKED_AT * table.shape[1] + 1)
        even = -(1.0 + BEYOND) * np.cos(np.linspace(0.0, np.pi, count))
        ranges = np.array(self.ranges)
        x = _inside(even, ranges)
        if len(self.shared.breakpoints):
            breakpoints = np.clip(self.shared.breakpoints, ranges[:, :1], ranges[:, 1:])
            x = np.concatenate([x, breakpoints], axis=1)
        values = series_at(to_unit(x, self.shared.interval), table.T, axis=-2)
        return np.asarray(np.max(np.abs(values - self.shared._beyond(x)), axis=1))


def _inside(t: FloatArray, ranges: FloatArray) -> FloatArray:
    """Numbers of [-1, 1] moved to each of some ranges: (ranges, numbers)."""
    return np.stack([on_interval(t, (low, high)) for low, high in ranges.tolist()])
