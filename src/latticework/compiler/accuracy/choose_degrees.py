"""The degrees that a budget for errors allows at the least cost: few levels first, then few products.

A polynomial of degree d spends ceil(log2(d + 1)) levels and about 2 sqrt(d) products, and a level costs every operation
of the program one more prime. So the degrees of a program are chosen together: classes of equal depth from the lowest
up, always raising the function that takes most of the budget; then classes are lowered where others leave room; then
every degree goes as far down in its class as all of them in equal measure allow, and each by itself where room is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.function_uses import FunctionUse

FloatArray = npt.NDArray[np.float64]

SHARE = 0.75  # of the budget for errors, that functions may take; the rest is for noise
GIVEN_PART = 0.75  # of the budget, that given degrees may take before the others are chosen as if they took nothing
STEPS = 8  # in which the common measure is found
_KINK_CLASS = 4  # from which on errors of functions with kinks are told to fall by no more than a constant a class


def choose_degrees(
    uses: Sequence[FunctionUse], parts: FloatArray, least: Sequence[int | None] | None = None
) -> list[int] | None:
    """A degree for every use, those that are given as they are; None if no degrees that are affordable do.

    parts  (outputs, uses): the part of an output's budget that a unit of a function's error takes
    least  degrees that functions are to have at least, and to spend the levels of, whatever would be cheaper
    """
    return _Choice(uses, parts, least or [None] * len(uses)).degrees()


def part_taken(uses: Sequence[FunctionUse], parts: FloatArray, degrees: Sequence[int]) -> FloatArray:
    """The part of each output's budget that functions of these degrees take, one by one: (outputs, uses)."""
    return np.asarray(parts * np.array([use.estimate(degree) for use, degree in zip(uses, degrees, strict=True)]))


class _Choice:
    def __init__(self, uses: Sequence[FunctionUse], parts: FloatArray, least: Sequence[int | None]) -> None:
        self.uses = uses
        given = [n for n, use in enumerate(uses) if use.given_degree is not None]
        self.free = [n for n, use in enumerate(uses) if use.given_degree is None]
        taken = parts[:, given] @ np.array([uses[n].error(uses[n].given_degree or 0) for n in given])
        self.left = np.where(taken <= GIVEN_PART, 1.0 - taken, 1.0)
        self.parts = parts[:, self.free] / self.left[:, None]
        self.least = [least[n] for n in self.free]
        self.levels = [1 if degree is None else degree.bit_length() for degree in self.least]

    def degrees(self) -> list[int] | None:
        result = [use.given_degree or 0 for use in self.uses]
        if self.free:
            if not self._raise_levels():
                return None
            self._lower_levels()
            for number, degree in zip(self.free, self._lower_degrees(), strict=True):
                result[number] = degree
        return result

    def _most(self, place: int) -> int:
        least = self.least[place]
        return self.uses[self.free[place]].curve.most_levels if least is None else least.bit_length()

    def _lowest(self, place: int) -> int:
        """The lowest degree of a class."""
        return self.least[place] or 1 << (self.levels[place] - 1)

    def _top(self, place: int) -> int:
        """The highest degree of a class."""
        return (1 << self.levels[place]) - 1

    def _error(self, place: int, levels: int) -> float:
        return self.uses[self.free[place]].estimate((1 << levels) - 1)

    def _budget_used(self, levels: Sequence[int]) -> FloatArray:
        return np.asarray(self.parts * np.array([self._error(place, level) for place, level in enumerate(levels)]))

    def _fits(self, levels: Sequence[int]) -> bool:
        return bool(np.all(np.sum(self._budget_used(levels), axis=1) <= 1.0))

    def _raise_levels(self) -> bool:
        """Classes in which the highest degrees fit."""
        while not self._fits(self.levels):
            taken = self._budget_used(self.levels)
            over = np.sum(taken, axis=1) > 1.0
            if not over.any():  # what is taken of nothing is no number
                return False
            worst = np.max(taken[over], axis=0)
            open_ = [
                place for place, levels in enumerate(self.levels) if levels < self._most(place) and worst[place] > 0.0
            ]
            if not open_ or any(self._hopeless(place, worst[place]) for place in range(len(self.free))):
                return False
            self.levels[max(open_, key=lambda place: worst[place])] += 1
        return True

    def _hopeless(self, place: int, taken: float) -> bool:
        """Whether a function with a kink, whose error falls like 1 / degree, takes too much even at the last degree."""
        levels, function = self.levels[place], self.uses[self.free[place]].function
        if function.smooth or function.gap or function.pieces is not None or levels < _KINK_CLASS:
            return levels == self._most(place) and taken > 1.0
        fall = self._error(place, levels) / max(self._error(place, levels - 1), 1e-300)
        return taken * (0.8 * fall) ** (self._most(place) - levels) > 1.0

    def _lower_levels(self) -> None:
        """Lower the classes where that still fits, the highest first."""
        for place in sorted(range(len(self.free)), key=lambda place: -self.levels[place]):
            while self.least[place] is None and self.levels[place] > 1:
                lower = list(self.levels)
                lower[place] -= 1
                if not self._fits(lower):
                    break
                self.levels = lower

    def _lower_degrees(self) -> list[int]:
        """Degrees in their classes: in equal measure lower, then one after the other where there is room left."""
        result = self._in_equal_measure()
        for place in range(len(self.levels)):
            others = self._error_sums(result) - self.parts[:, place] * self.uses[self.free[place]].estimate(
                result[place]
            )
            weights = self.parts[:, place]
            allowed = np.min((1.0 - others[weights > 0.0]) / weights[weights > 0.0], initial=np.inf)
            lowest, curve = self._lowest(place), self.uses[self.free[place]].curve
            result[place] = curve.least_degree(float(allowed), lowest, result[place])
        return result

    def _error_sums(self, degrees: Sequence[int]) -> FloatArray:
        errors = np.array([self.uses[n].estimate(degree) for n, degree in zip(self.free, degrees, strict=True)])
        return np.asarray(self.parts @ errors)

    def _in_equal_measure(self) -> list[int]:
        """Degrees in their classes, each allowed the same multiple of what it takes at the top of its class."""
        tops = [self._error(place, levels) for place, levels in enumerate(self.levels)]

        def allowing(factor: float) -> list[int]:
            return [
                self.uses[number].curve.least_degree(factor * tops[place], self._lowest(place), self._top(place))
                for place, number in enumerate(self.free)
            ]

        if len(self.free) == 1:
            return [(1 << self.levels[0]) - 1]
        total = float(np.max(np.sum(self._budget_used(self.levels), axis=1), initial=0.0))
        low, high = 0.0, np.log2(1.0 / max(total, 2.0**-60))
        best = allowing(1.0)
        for _ in range(STEPS):
            middle = (low + high) / 2
            degrees = allowing(2.0**middle)
            if np.all(self._error_sums(degrees) <= 1.0):
                best, low = degrees, middle
            else:
                high = middle
        return best
