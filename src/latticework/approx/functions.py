"""The activations known by name: exact NumPy meaning, default degree, how they are approximated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from latticework.approx.chebyshev import FloatArray, Interval, RealFunction, fit, interpolate
from latticework.plan.constants import Polynomial


def relu(x: FloatArray) -> FloatArray:
    """max(x, 0)."""
    return np.maximum(x, 0.0)


def sigmoid(x: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)), in the form that cannot overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x)))


def gelu(x: FloatArray) -> FloatArray:
    """x * (1 + erf(x / sqrt 2)) / 2."""
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))))


_erf = np.vectorize(math.erf, otypes=[np.float64])


@dataclass(frozen=True, slots=True)
class Activation:
    """A real function applied elementwise.

    reference  its exact value in NumPy
    degree     of the approximating polynomial where the user gives none; both defaults need a
               multiplicative depth of 4, the lower one fewer products
    smooth     analytic around the interval: interpolated; otherwise fitted to where the data are
    """

    name: str
    reference: RealFunction
    degree: int
    smooth: bool = True

    def approximate(self, interval: Interval, degree: int, samples: FloatArray | None = None) -> Polynomial:
        """A polynomial of that degree close to the function on the interval."""
        if self.smooth:
            return interpolate(self.reference, interval, degree)
        return fit(self.reference, interval, degree, samples)


ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        Activation("relu", relu, 15, smooth=False),
        Activation("gelu", gelu, 15),
        Activation("sigmoid", sigmoid, 11),
        Activation("tanh", np.tanh, 11),
        Activation("exp", np.exp, 11),
    )
}
