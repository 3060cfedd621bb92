"""Error by degree for a piecewise linear function: polynomials first, and compositions of signs beyond them.

A degree of up to 10 bits is that of the closest polynomial. One of k more bits stands for compositions of k levels:
2^k - 1 for the closest, and each one less for one of fewer products. No degree is worse than a lower one.
"""

from __future__ import annotations

from functools import cached_property

from latticework.functions.approximation.absolute import AbsoluteWay, composed_absolute, ways
from latticework.functions.approximation.chebyshev import Interval, RealFunction
from latticework.functions.approximation.curve import Curve
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.functions.approximation.piecewise_linear import Kinks
from latticework.values.packing.packed_constants import SMEARED, Approximant, KinkedPolynomial
from latticework.values.sums import add_up

POLYNOMIAL_LEVELS = MAX_DEGREE.bit_length()
EDGE = 2.0**-6  # of half a range, that noise may take arguments beyond it: there the first stage soon changes its sign


class KinkCurve:
    """Both forms on one interval, made when they are asked for: as `Curve` for polynomials alone."""

    def __init__(self, function: RealFunction, kinks: Kinks, interval: Interval) -> None:
        self.kinks, self.interval = kinks.inside(interval), interval
        self.polynomials = Curve(function, interval, smooth=False, kinks=self.kinks.places)
        self.size = self.polynomials.size
        self.most_levels = max(ways()) if self.kinks.places else POLYNOMIAL_LEVELS

    def polynomial(self, degree: int) -> Approximant:
        """Return the approximant that a degree stands for."""
        way = self.way(degree)
        return self.polynomials.polynomial(min(degree, MAX_DEGREE)) if way is None else self.compose(way)

    def error(self, degree: int) -> float:
        """Its largest distance from the function."""
        way = self.way(degree)
        if way is None:
            return self.polynomials.error(min(degree, MAX_DEGREE))
        return float(self.spread * (1.0 + SMEARED) * composed_absolute(way).error)

    def estimate(self, degree: int) -> float:
        """Estimate the error of a degree, for choosing among degrees."""
        way = self.way(degree)
        return self.polynomials.estimate(min(degree, MAX_DEGREE)) if way is None else self.expected_error(way)

    def least_degree(self, most: float, lowest: int, highest: int) -> int:
        """Find about the cheapest degree in a range with an error of at most `most`; `highest` must be known to do."""
        if self.way(highest) is None:
            return min(self.polynomials.least_degree(most, lowest, min(highest, MAX_DEGREE)), highest)
        choices = len(ways()[highest.bit_length()])
        return next(d for d in range(highest - choices + 1, highest + 1) if d == highest or self.estimate(d) <= most)

    def expected_error(self, way: AbsoluteWay) -> float:
        """The error of a composition, without making it."""
        return float(self.spread * (1.0 + SMEARED) * 2.0**-way.bits)

    def compose(self, way: AbsoluteWay) -> KinkedPolynomial:
        """The function with this composition for every kink."""
        found, kinks, half = composed_absolute(way), self.kinks, self.half
        centre = kinks.places[0]
        return KinkedPolynomial(
            found.stages,
            tuple((place - centre) / half for place in kinks.places),
            tuple(weight * half for weight in kinks.weights),
            kinks.slope * half,
            kinks.constant + kinks.slope * centre,
            (centre - half, centre + half),
            given=self.interval,
        )

    @cached_property
    def half(self) -> float:
        """Half of the interval that arguments are mapped from: no argument is farther from a kink."""
        low, high = self.interval
        return (1.0 + EDGE) * max(max(high - place, place - low) for place in self.kinks.places)

    @cached_property
    def spread(self) -> float:
        """The error of the function for one of |x| on [-1, 1]."""
        return self.half * add_up(map(abs, self.kinks.weights))

    def way(self, degree: int) -> AbsoluteWay | None:
        """The composition that a degree stands for; None: a polynomial, which is at least as close."""
        levels = degree.bit_length()
        if levels <= POLYNOMIAL_LEVELS or not self.kinks.places:
            return None
        some = ways()[levels]
        way = some[max(0, len(some) - (1 << levels) + degree)]
        return way if self.expected_error(way) < self.polynomials.estimate(MAX_DEGREE) else None
