"""Functions for programs: exact on NumPy arrays, approximated by polynomials when compiled.

Default degrees: 15 for relu and gelu, 11 for sigmoid, tanh and exp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.approx.chebyshev import check_interval
from latticework.approx.functions import ACTIVATIONS
from latticework.errors import RangeError
from latticework.frontend.circuit_values import holds_numbers
from latticework.frontend.plain import plain_array
from latticework.frontend.tracing import Traced, user_line
from latticework.ops import apply as applying
from latticework.ops import polynomial as polynomials
from latticework.plan.constants import Polynomial

Interval = tuple[float, float]


def relu(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Any:
    """max(x, 0), elementwise.

    degree  of the polynomial used when compiled (default 15); more is more exact, and deeper
    range   (lo, hi) of the values of x; without it, from calibration data
    """
    return _activation("relu", x, degree, range)


def gelu(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Any:
    """x times the normal distribution function of x; `degree` (default 15) and `range` as for relu."""
    return _activation("gelu", x, degree, range)


def sigmoid(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Any:
    """1 / (1 + exp(-x)); `degree` (default 11) and `range` as for relu."""
    return _activation("sigmoid", x, degree, range)


def tanh(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Any:
    """Hyperbolic tangent; `degree` (default 11) and `range` as for relu."""
    return _activation("tanh", x, degree, range)


def exp(x: Any, *, degree: int | None = None, range: Interval | None = None) -> Any:
    """Exponential function; `degree` (default 11) and `range` as for relu."""
    return _activation("exp", x, degree, range)


def polynomial(x: Any, coefficients: npt.ArrayLike) -> Any:
    """coefficients[0] + coefficients[1] * x + coefficients[2] * x**2 + ..., elementwise and without approximation."""
    with user_line():
        numbers = plain_array(coefficients)
        if numbers.ndim != 1 or not numbers.size:
            raise RangeError(
                f"polynomial: coefficients have shape {numbers.shape}; give a list of numbers, lowest power first"
            )
        kept = np.trim_zeros(numbers, "b") if numbers.any() else numbers[:1]
        chosen = Polynomial(tuple(float(c) for c in kept), (-1.0, 1.0), "power")
        if isinstance(x, Traced):
            return x._tracer.call(polynomials.trace, x, chosen)
        if holds_numbers(x):
            return sum(c * x**k for k, c in enumerate(chosen.coefficients))
        return chosen(plain_array(x))


def square(x: Any) -> Any:
    """x * x."""
    return np.square(x)


def _activation(name: str, x: Any, degree: int | None, interval: Interval | None) -> Any:
    with user_line():
        if isinstance(x, Traced):
            return x._tracer.call(applying.trace, x, name, degree, interval)
        activation = ACTIVATIONS[name]
        applying.check_degree(name, activation.degree if degree is None else degree)
        if interval is not None:
            check_interval(interval)
        return activation.reference(plain_array(x))
