"""Noise of a polynomial of copies: a vector of few slots lies in the slots of a ring many times.

What is read is the mean of the copies. Its noise is smaller than that of any of them, and a polynomial is taken of
every copy: where it is steep and bent, as of a high degree at the ends of its interval, they are off by far more than
the noise of their mean says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels.abstract_value import AbstractValue
from latticework.values.packing.packed_constants import Approximant, IntervalPolynomial, PiecewiseLinearComposition

Array = npt.NDArray[np.float64]

FLAT = 0.1  # of degree^2 times how far an argument is beyond [-1, 1]: up to there T_n grows by a tenth
MEAN_SIZE = 0.8  # of normal noise, in deviations


def steep_spread(polynomial: Approximant, x: AbstractValue, copies: float, deviations: float) -> Array | None:
    """The deviation of each copy of an argument, where its noise reaches where the polynomial grows fast.

    None elsewhere, for piecewise linear functions, whose slopes are known everywhere, and for stages of composed signs,
    whose intervals have room beyond every argument.
    """
    if isinstance(polynomial, PiecewiseLinearComposition) or (
        isinstance(polynomial, IntervalPolynomial) and polynomial.gap
    ):
        return None
    spread = np.sqrt(x.variance * copies)
    off = x.bias + deviations * spread
    beyond = [np.minimum(off, np.maximum(end + off - 1.0, 0.0)) for end in (x.high, -x.low)]
    excess = max(float(np.max(each)) for each in beyond)
    is_flat = copies <= 1 or polynomial.degree**2 * excess <= FLAT
    return None if is_flat else np.asarray(spread)


def mean_shift(least_slope: Array, most_slope: Array, spread: Array) -> Array:
    """A bound on how far the mean over copies is off beside its own noise: that of (p'(t) - c) d, d of no mean."""
    return np.asarray((MEAN_SIZE / 2) * (most_slope - least_slope) * spread)
