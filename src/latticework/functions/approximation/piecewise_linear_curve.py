"""Error by degree for a piecewise linear function: polynomials first, and compositions of signs beyond them.

A degree of up to 10 bits is that of the closest polynomial. One of k more bits stands for compositions of k levels:
2^k - 1 for the closest, and each one less for one of fewer products. No degree is worse than a lower one.
"""

from __future__ import annotations

from functools import cached_property

from latticework.functions.approximation.absolute import AbsoluteComposition, composed_absolute, load_compositions
from latticework.functions.approximation.chebyshev import Interval, RealFunction
from latticework.functions.approximation.curve import Curve
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.functions.approximation.piecewise_linear import PiecewiseLinear
from latticework.values.packing.packed_constants import SMEARED, Approximant, PiecewiseLinearComposition
from latticework.values.sums import add_up

POLYNOMIAL_LEVELS = MAX_DEGREE.bit_length()
EDGE = 2.0**-6  # of half a range, that noise may take arguments beyond it: there the first stage soon changes its sign


class PiecewiseLinearCurve:
    """Both forms on one interval, made when they are asked for: as `Curve` for polynomials alone."""

    def __init__(self, function: RealFunction, pieces: PiecewiseLinear, interval: Interval) -> None:
        self.pieces, self.interval = pieces.inside(interval), interval
        self.polynomials = Curve(function, interval, smooth=False, breakpoints=self.pieces.places)
        self.size = self.polynomials.size
        self.most_levels = max(load_compositions()) if self.pieces.places else POLYNOMIAL_LEVELS

    def polynomial(self, degree: int) -> Approximant:
        """Return the approximant that a degree stands for."""
        composition = self.find_composition(degree)
        return (
            self.polynomials.polynomial(min(degree, MAX_DEGREE)) if composition is None else self.compose(composition)
        )

    def error(self, degree: int) -> float:
        """Its largest distance from the function."""
        composition = self.find_composition(degree)
        if composition is None:
            return self.polynomials.error(min(degree, MAX_DEGREE))
        return float(self.spread * (1.0 + SMEARED) * composed_absolute(composition).error)

    def estimate(self, degree: int) -> float:
        """Estimate the error of a degree, for choosing among degrees."""
        composition = self.find_composition(degree)
        return (
            self.polynomials.estimate(min(degree, MAX_DEGREE))
            if composition is None
            else self.expected_error(composition)
        )

    def least_degree(self, most: float, lowest: int, highest: int) -> int:
        """Find about the cheapest degree in a range with an error of at most `most`; `highest` must be known to do."""
        if self.find_composition(highest) is None:
            return min(self.polynomials.least_degree(most, lowest, min(highest, MAX_DEGREE)), highest)
        choices = len(load_compositions()[highest.bit_length()])
        return next(d for d in range(highest - choices + 1, highest + 1) if d == highest or self.estimate(d) <= most)

    def expected_error(self, composition: AbsoluteComposition) -> float:
        """The error of a composition, without making it."""
        return float(self.spread * (1.0 + SMEARED) * 2.0**-composition.bits)

    def compose(self, composition: AbsoluteComposition) -> PiecewiseLinearComposition:
        """The function with this composition for every breakpoint."""
        absolute, pieces, half = composed_absolute(composition), self.pieces, self.half
        centre = pieces.places[0]
        return PiecewiseLinearComposition(
            absolute.stages,
            tuple((place - centre) / half for place in pieces.places),
            tuple(weight * half for weight in pieces.weights),
            pieces.slope * half,
            pieces.constant + pieces.slope * centre,
            (centre - half, centre + half),
            fitted_interval=self.interval,
        )

    @cached_property
    def half(self) -> float:
        """Half of the interval that arguments are mapped from: no argument is farther from a breakpoint."""
        low, high = self.interval
        return (1.0 + EDGE) * max(max(high - place, place - low) for place in self.pieces.places)

    @cached_property
    def spread(self) -> float:
        """The error of the function for one of |x| on [-1, 1]."""
        return self.half * add_up(map(abs, self.pieces.weights))

    def find_composition(self, degree: int) -> AbsoluteComposition | None:
        """The composition that a degree stands for; None: a polynomial, which is at least as close."""
        levels = degree.bit_length()
        if levels <= POLYNOMIAL_LEVELS or not self.pieces.places:
            return None
        some = load_compositions()[levels]
        composition = some[max(0, len(some) - (1 << levels) + degree)]
        return composition if self.expected_error(composition) < self.polynomials.estimate(MAX_DEGREE) else None
