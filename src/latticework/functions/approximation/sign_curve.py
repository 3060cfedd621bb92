"""Error by degree of composed polynomials for the sign outside a gap.

A degree of k bits stands for a composition of k levels, as it does for one polynomial: 2^k - 1 for the closest one, and
each one less for one of fewer products.
"""

from __future__ import annotations

from functools import cached_property

from latticework.functions.approximation.chebyshev import Interval
from latticework.functions.approximation.sign import (
    MOST_DEPTH,
    CompositeSign,
    State,
    check_gap,
    compose_stages,
    states_of,
)

LEAST_LEVELS = 2
FAR = 4.0  # the error of what no composition does


class SignCurve:
    """The composed polynomials for one gap and range, made when they are asked for: as `Curve` for one polynomial."""

    size = 1.0
    most_levels = MOST_DEPTH

    def __init__(self, gap: float, interval: Interval) -> None:
        self.gap, self.largest = gap, max(abs(interval[0]), abs(interval[1]))
        check_gap(gap, self.largest)
        self._made: dict[tuple[int, ...], CompositeSign] = {}

    def polynomial(self, degree: int) -> CompositeSign:
        """The composition that a degree stands for."""
        levels = max(degree.bit_length(), LEAST_LEVELS)
        states = self._states[levels]
        place = (1 << levels) - 1 - degree if degree.bit_length() == levels else 0
        degrees = states[max(0, len(states) - 1 - place)].degrees
        if degrees not in self._made:
            self._made[degrees] = compose_stages(degrees, self.gap, self.largest)
        return self._made[degrees]

    def error(self, degree: int) -> float:
        """Its largest distance from the sign outside the gap."""
        return self.polynomial(degree).error if degree.bit_length() >= LEAST_LEVELS else FAR

    estimate = error

    def least_degree(self, most: float, lowest: int, highest: int) -> int:
        """The degree of this range that stands for the fewest products with an error of at most this."""
        choices = len(self._states[max(highest.bit_length(), LEAST_LEVELS)])
        for degree in range(max(lowest, highest - choices + 1), highest):
            if self.error(degree) <= most:
                return degree
        return highest

    @cached_property
    def _states(self) -> dict[int, list[State]]:
        return states_of(self.gap / self.largest)
