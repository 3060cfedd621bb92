"""Limits of degrees, and the degree that a precision takes, roughly."""

from __future__ import annotations

from math import inf

import numpy as np

from latticework.functions.approximation.chebyshev import Interval, RealFunction, interpolate

MAX_DEGREE = 1023


def least_degree(function: RealFunction, interval: Interval, tolerance: float) -> float:
    """The least degree at which the truncated Chebyshev series is within `tolerance`, about; inf beyond 1023.

    For functions analytic around the interval: what is cut off is at most the sum of its coefficients.
    """
    for most in (63, 255, MAX_DEGREE):
        coefficients = np.abs(np.array(interpolate(function, interval, most).coefficients))
        rest = np.append(np.cumsum(coefficients[::-1])[::-1], 0.0)[1:]  # after each degree
        if rest[3 * most // 4] <= tolerance:
            return float(np.argmax(rest <= tolerance))
    return inf
