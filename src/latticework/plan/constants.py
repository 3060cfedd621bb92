"""Public operands in compact form: gathers of weights, linear maps, polynomials.

Nothing here holds a slot vector. A constant is described by how to gather it
from a source array, and is evaluated when it is encoded, at the level of use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from latticework.plan.gathers.const_ref import ConstRef, splat
from latticework.plan.gathers.gather import Access, Gather
from latticework.plan.gathers.linear_map import Diagonal, LinearMap, Part, num_diagonals
from latticework.plan.gathers.whole import is_identity, whole_rotations
from latticework.plan.pack import FloatArray

__all__ = [
    "Access",
    "ConstRef",
    "Diagonal",
    "Gather",
    "LinearMap",
    "Part",
    "Polynomial",
    "is_identity",
    "num_diagonals",
    "splat",
    "whole_rotations",
]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial of one variable.

    coefficients   lowest degree first
    interval       (lo, hi): where it approximates; Chebyshev coefficients refer to it mapped to [-1, 1]
    basis          "chebyshev" or "power" (then the interval is only a record)
    """

    coefficients: tuple[float, ...]
    interval: tuple[float, float]
    basis: str = "chebyshev"

    @property
    def degree(self) -> int:
        """Highest power (or Chebyshev index) present."""
        return len(self.coefficients) - 1

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise."""
        x = np.asarray(x)
        if self.basis == "power":
            power: FloatArray = np.polynomial.polynomial.polyval(x, np.asarray(self.coefficients))
            return power
        lo, hi = self.interval
        t = (2.0 * x - (lo + hi)) / (hi - lo)
        series: FloatArray = np.polynomial.chebyshev.chebval(t, np.asarray(self.coefficients))
        return series
