"""The sign of numbers that keep a distance from 0, as a composition of odd polynomials of low degree.

Each stage is the odd polynomial closest to 1 on what the stage before leaves of the positive numbers, [1 - e, 1 + e],
divided by its largest value so that the next one's argument stays in [-1, 1]. Composed, a few low degrees do what one
polynomial would need a degree of thousands for. On numbers closer to 0 than the gap every stage rises monotonically
from 0, so the result lies between -1 and 1 and has the right sign, but may be any such number.
The degrees spend the least levels that reach the precision, and among those the fewest products.
Source: Lee, Lee, No, Kim, "Minimax approximation of sign function by composite polynomial for homomorphic comparison",
IEEE TDSC 2021. Cost: about a second for the first one, then a few milliseconds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import exp, inf, log, log1p, prod

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.functions.approximation.chebyshev import FloatArray
from latticework.functions.approximation.remez import remez
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import IntervalPolynomial

PRODUCTS = {3: 2, 5: 4, 7: 5, 9: 6, 11: 6, 13: 7, 15: 8, 17: 9, 19: 9, 21: 9, 23: 9, 25: 10, 27: 10, 29: 11, 31: 12}
"""Products of two ciphertexts that an odd polynomial of each degree takes."""
MOST_DEPTH = 40
TOLD = 0.5  # by which odds may be better than what is told from whole ones
MEASURED = 1 << 14  # points at which a composition is compared with the sign
BETWEEN = 1.01  # times the error found, for points between those
EXACT = 30.0  # odds of values that are all 1 but for rounding
_WHOLE = (-14, 6)
SLACK = 2.0**-20  # by which noise may take the argument of a stage below what the stage before leaves
MARGIN = (
    2.0**-11
)  # above it: bounds on a polynomial of degree 31 are that loose (`compiler/levels/polynomial_extremes.py`)
ROUNDING = 2.0**-44  # that the error of a stage is not known more closely than
_STAGES = tuple(sorted({(d.bit_length(), n): d for d, n in PRODUCTS.items()}.values()))  # the highest for its price


@dataclass(frozen=True, slots=True)
class CompositeSign:
    """Polynomials to be applied one after the other.

    gap     from which on the result is close to the sign, of numbers up to the first stage's interval
    error   largest distance from the sign there
    """

    stages: tuple[IntervalPolynomial, ...]
    gap: float
    error: float

    @property
    def degrees(self) -> tuple[int, ...]:
        """Degrees of the stages, in order."""
        return tuple(stage.degree for stage in self.stages)

    @property
    def depth(self) -> int:
        """Levels spent."""
        return sum(degree.bit_length() for degree in self.degrees)

    @property
    def products(self) -> int:
        """Products of two ciphertexts."""
        return sum(PRODUCTS[degree] for degree in self.degrees)

    @property
    def degree(self) -> int:
        """Degree of the composition, as one polynomial."""
        return prod(self.degrees)

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise."""
        result = np.asarray(x, dtype=np.float64)
        for stage in self.stages:
            result = stage(result)
        return result


def composite_sign(gap: float, largest: float, error: float) -> CompositeSign:
    """The composition of least depth, and then of fewest products, that is within `error` of the sign.

    gap, largest  of |x|: 0 < gap < largest
    raises        RangeError where these are no such numbers, or where more than MOST_DEPTH levels would be needed
    """
    check_gap(gap, largest)
    aim = _odds((1.0 - error) / (1.0 + error)) if error < 1.0 else -inf
    for states in states_of(gap / largest).values():
        for state in states:
            if state.odds >= aim - TOLD:
                result = compose_stages(state.degrees, gap, largest)
                if result.error <= error:
                    return result
    raise RangeError(
        f"sign: to be within {error:.2g} of the sign from gap={gap:g} on, of numbers up to {largest:g}, takes more "
        f"than {MOST_DEPTH} levels; give a larger gap, or ask for fewer bits"
    )


def part_of_half(gap: float, largest: float) -> float:
    """A gap as a part of half the interval of the first stage for numbers up to `largest`."""
    return gap / (largest * (1.0 + MARGIN))


def check_gap(gap: float, largest: float = inf) -> None:
    """RangeError unless numbers up to `largest` can be farther from 0 than the gap."""
    if not (np.isfinite(gap) and gap > 0.0):
        raise RangeError(
            f"sign: gap={gap:g} must be a finite number above 0: the distance from 0 from which on the result is right"
        )
    if gap >= largest:
        raise RangeError(
            f"sign: all arguments, of magnitude up to {largest:g}, lie within gap={gap:g} of 0, where the sign is not "
            "told; give a smaller gap, or multiply the argument by a constant"
        )


@dataclass(frozen=True, slots=True)
class State:
    """Signal ratio that the stages so far leave, and their cost.

    odds  r / (1 - r), as a logarithm, of the ratio r of the least value to the largest
    """

    products: int
    odds: float
    degrees: tuple[int, ...]


@lru_cache(maxsize=256)
def states_of(ratio: float) -> dict[int, list[State]]:
    """Return by depth the states of compositions on [ratio, 1]: those worth their products, the fewest first."""
    known: dict[int, list[State]] = {0: [State(0, _odds(ratio), ())]}
    for depth in range(2, MOST_DEPTH + 1):
        known[depth] = _best(known, depth) or known[depth - 1]
    del known[0]
    return known


def _odds(ratio: float) -> float:
    return log(ratio) - log1p(-ratio) if ratio < 1.0 else EXACT


def _best(known: dict[int, list[State]], depth: int) -> list[State]:
    """States of this depth of which none has both fewer products and better odds, fewest products first."""
    states = [
        State(state.products + PRODUCTS[degree], _odds_after(state.odds, degree), (*state.degrees, degree))
        for degree in _STAGES
        for state in known.get(depth - degree.bit_length(), [])
        if state.odds < EXACT
    ]
    best: list[State] = []
    for state in sorted(states, key=lambda state: (state.products, -state.odds)):
        if not best or state.odds > best[-1].odds:
            best.append(state)
    return best


def _odds_after(odds: float, degree: int) -> float:
    """Estimate the odds after one more stage: interpolated between two whole ones, extrapolated beyond."""
    low, high = _WHOLE
    start = int(min(max(np.floor(odds), low), high - 1))
    first, second = _whole_odds_after(start, degree), _whole_odds_after(start + 1, degree)
    return first + (second - first) * (odds - start)


@lru_cache(maxsize=1024)
def _whole_odds_after(odds: int, degree: int) -> float:
    error = _stage(1.0 / (1.0 + exp(-odds)), degree)[1]
    return _odds((1.0 - error) / (1.0 + error))


@lru_cache(maxsize=1024)
def _stage(ratio: float, degree: int) -> tuple[IntervalPolynomial, float]:
    """The odd polynomial closest to 1 on [ratio, 1], a little beyond on both sides, and its error."""
    ends = ratio * (1.0 - SLACK), 1.0 + MARGIN
    solution = remez(np.ones_like, [ends], degree, parity=1)
    return solution.polynomial, max(solution.error, ROUNDING)


def compose_stages(degrees: tuple[int, ...], gap: float, largest: float) -> CompositeSign:
    """Stages of these degrees in a row."""
    stages: list[IntervalPolynomial] = []
    ratio, error = gap / largest, 0.0
    for number, degree in enumerate(degrees):
        stage, error = _stage(ratio, degree)
        top = 1.0 if number == len(degrees) - 1 else 1.0 + error
        half = (largest if number == 0 else 1.0) * (1.0 + MARGIN)
        coefficients = tuple(c / top for c in stage.coefficients)
        apart = part_of_half(gap, largest) if number == 0 else 1.0
        stages.append(IntervalPolynomial(coefficients, (-half, half), gap=apart))
        ratio = (1.0 - error) / (1.0 + error)
    composed = CompositeSign(tuple(stages), gap, error)
    measured = float(np.max(np.abs(composed(np.geomspace(gap, largest, MEASURED)) - 1.0)))
    return replace(composed, error=BETWEEN * max(error, measured))
