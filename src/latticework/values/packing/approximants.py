"""Approximants of a function of one number on an interval, each one operation until it is expanded."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2, prod, sqrt

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.pack import FloatArray
from latticework.values.packing.series import series_at
from latticework.values.sums import add_up

Interval = tuple[float, float]
SMEARED = 1.0 / 8  # of the error of kinked polynomials, that noise of their arguments may add to it


class Approximant:
    """Base class of approximants, which are called elementwise.

    interval  (lo, hi): where it is close to its function
    error     largest distance from the function there; 0: it stands for itself
    degree    as one polynomial;  depth  levels that it spends;  products  of two ciphertexts that it takes, roughly
    """

    __slots__ = ()
    interval: Interval
    error: float
    degree: int
    depth: int
    products: int

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise."""
        raise NotImplementedError

    def scale_by(self, factor: float) -> Approximant:
        """A number times the same."""
        raise NotImplementedError

    def over(self, interval: Interval) -> Approximant:
        """The same of arguments that another interval is mapped from."""
        return replace(self, interval=interval)  # type: ignore[type-var]

    @property
    def arguments(self) -> Interval | None:
        """Interval of numbers that it may be applied to; None: any number."""
        return self.interval

    def to_unit(self, x: npt.ArrayLike) -> FloatArray:
        """Arguments mapped from the interval to [-1, 1]."""
        low, high = self.interval
        return np.asarray((2.0 * np.asarray(x) - (low + high)) / (high - low))


class Series(Approximant):
    """One evaluated by Paterson and Stockmeyer's method."""

    __slots__ = ()

    @property
    def depth(self) -> int:  # type: ignore[override]
        """Levels that it spends at optimal depth."""
        return ceil(log2(self.degree + 1))

    @property
    def products(self) -> int:  # type: ignore[override]
        """Products of two ciphertexts, roughly."""
        return self.depth + 2 * ceil(sqrt(self.degree))


@dataclass(frozen=True, slots=True)
class IntervalPolynomial(Series):
    """A polynomial of one variable.

    coefficients   lowest degree first
    interval       (lo, hi): where it approximates; Chebyshev coefficients refer to it mapped to [-1, 1]
    basis          "chebyshev" or "power" (then the interval is only a record)
    error          largest distance on the interval from the function that it stands for; 0: it stands for itself
    gap            of a stage of a composed sign, the part of half its interval on both sides of 0 where the sign is not
                   told: of the first stage that of the user, of those after it 1, for that is said of their arguments
                   alone by what comes before; 0: of other polynomials
    """

    coefficients: tuple[float, ...]
    interval: Interval
    basis: str = "chebyshev"
    error: float = 0.0
    gap: float = 0.0

    @property
    def degree(self) -> int:  # type: ignore[override]
        """Highest power (or Chebyshev index) present."""
        return len(self.coefficients) - 1

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise."""
        if self.basis == "power":
            power: FloatArray = np.polynomial.polynomial.polyval(np.asarray(x), np.asarray(self.coefficients))
            return power
        return series_at(self.to_unit(x), self.coefficients)

    @property
    def arguments(self) -> Interval | None:
        """The interval; of powers, which stand for themselves, any number."""
        return None if self.basis == "power" else self.interval

    def scale_by(self, factor: float) -> IntervalPolynomial:
        """A number times the same."""
        coefficients = tuple(c * factor for c in self.coefficients)
        return replace(self, coefficients=coefficients, error=abs(factor) * self.error)


@dataclass(frozen=True, slots=True)
class PiecewiseLinearComposition(Approximant):
    """A piecewise linear function, each |y| in it as y times a composed polynomial s(y) that is close to the sign.

    It is constant + slope * (t - places[0]) + the sum of weights * |t - places|, where t is the argument mapped from
    the interval to [-1, 1]; distances t - places within [-1, 1] are those for which the error holds.

    stages   odd polynomials on [-1, 1] that make s, each within [-1, 1] for the next
    fitted_interval  the part of the interval that it was made for; None: all of it
    """

    stages: tuple[IntervalPolynomial, ...]
    places: tuple[float, ...]
    weights: tuple[float, ...]
    slope: float
    constant: float
    interval: Interval = (-1.0, 1.0)
    error: float = 0.0
    fitted_interval: Interval | None = None

    @property
    def arguments(self) -> Interval | None:
        """The interval that a user gave, or calibration found."""
        return self.fitted_interval or self.interval

    @property
    def degree(self) -> int:  # type: ignore[override]
        """Degree as one polynomial."""
        return prod(stage.degree for stage in self.stages) + 1

    @property
    def depth(self) -> int:  # type: ignore[override]
        """Levels of the stages, and one for the product with the argument."""
        return sum(stage.depth for stage in self.stages) + 1

    @property
    def products(self) -> int:  # type: ignore[override]
        """Products of two ciphertexts, roughly: odd stages take about two thirds of those of all powers."""
        return len(self.places) * (1 + sum(2 * stage.products // 3 for stage in self.stages))

    @property
    def covered(self) -> Interval:
        """The values of t for which the error holds."""
        return max(self.places) - 1.0, min(self.places) + 1.0

    @property
    def steepest(self) -> float:
        """The largest slope of the function, by t."""
        slope = self.slope - add_up(self.weights)
        candidates = [abs(slope)]
        for _, weight in sorted(zip(self.places, self.weights, strict=True)):
            slope += 2.0 * weight
            candidates.append(abs(slope))
        return max(candidates)

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise."""
        t = self.to_unit(x)
        total = np.full(t.shape, self.constant)
        for number, place in enumerate(self.places):
            value = t - place
            for stage in self.stages[:-1]:
                value = stage(value)
            total = total + (t - place) * series_at(value, self.last(number))
        return np.asarray(total)

    def last(self, number: int) -> tuple[float, ...]:
        """Coefficients of the last stage of a kink, times its weight; the first has the slope too."""
        _, *rest = (c * self.weights[number] for c in self.stages[-1].coefficients)
        return (0.0 if number else self.slope, *rest)

    def function(self, t: FloatArray) -> FloatArray:
        """The piecewise linear function itself."""
        bends = sum(w * np.abs(t - p) for p, w in zip(self.places, self.weights, strict=True))
        return np.asarray(self.constant + self.slope * (t - self.places[0]) + bends)

    def bounds(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest value of that function in each of some intervals."""
        ends = [self.function(low), self.function(high)]
        ends += [self.function(np.clip(p, low, high)) for p in self.places]
        return np.minimum.reduce(ends), np.maximum.reduce(ends)

    def over(self, interval: Interval) -> PiecewiseLinearComposition:
        """The same of arguments that another interval is mapped from."""
        return replace(self, interval=interval, fitted_interval=None)

    def scale_by(self, factor: float) -> PiecewiseLinearComposition:
        """A number times the same."""
        weights = tuple(w * factor for w in self.weights)
        slope, constant, error = self.slope * factor, self.constant * factor, self.error * abs(factor)
        return replace(self, weights=weights, slope=slope, constant=constant, error=error)
