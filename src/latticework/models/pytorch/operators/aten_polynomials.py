"""Functions that are polynomials already: those of modules that `lw.torch.prepare` made."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.frontend.functions.array_functions import polynomial
from latticework.models.converters import Converter
from latticework.models.semantics.operand_checks import is_secret

_FARTHEST = 8.0  # half intervals that the vertex of a parabola may lie from the middle: its square has 7 bits more


def _polynomial(x: Any, coefficients: Any, interval: Any) -> Any:
    low, high = (float(end) for end in interval)
    if is_secret(x) and len(coefficients) == 3 and abs(coefficients[1]) <= 4.0 * _FARTHEST * abs(coefficients[2]):
        return _parabola(x, coefficients, low, high)
    return polynomial(x, coefficients, basis="chebyshev", range=(low, high))


def _parabola(x: Any, coefficients: Any, low: float, high: float) -> Any:
    """c0 + c1 T_1(t) + c2 T_2(t) as a (x + b)^2 + c: one level, since a, b and c join what comes before and after."""
    c0, c1, c2 = (float(c) for c in coefficients)
    half, middle = (high - low) / 2.0, (high + low) / 2.0
    vertex = c1 / (4.0 * c2)
    squared = np.square(x + (half * vertex - middle))
    return squared * (2.0 * c2 / half**2) + (c0 - c2 - 2.0 * c2 * vertex**2)


CONVERTERS = [Converter("latticework.polynomial.default", _polynomial, note="as `lw.torch.prepare` makes them")]
