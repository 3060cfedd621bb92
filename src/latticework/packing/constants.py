"""Public operands in compact form: gathers of weights, linear maps, polynomials.

Nothing here holds a slot vector. A constant is described by how to gather it
from a source array, and is evaluated when it is encoded, at the level of use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from latticework.packing.loop_nests.baby_giant import Split
from latticework.packing.loop_nests.const_ref import ConstRef, is_everywhere, number_of_row, row_of, splat
from latticework.packing.loop_nests.diagonal_values import Sources
from latticework.packing.loop_nests.diagonals import MOST_LISTED, at_most
from latticework.packing.loop_nests.linear_map import Diagonal, LinearMap, MapPart, num_diagonals
from latticework.packing.loop_nests.map_sums import MapSums
from latticework.packing.loop_nests.nest import Access, LoopNest
from latticework.packing.loop_nests.terms import MapWay
from latticework.packing.loop_nests.whole import whole_rotations
from latticework.packing.pack import FloatArray

__all__ = [
    "MOST_LISTED",
    "Access",
    "ConstRef",
    "Diagonal",
    "IntervalPolynomial",
    "LinearMap",
    "LoopNest",
    "MapPart",
    "MapSums",
    "MapWay",
    "Sources",
    "Split",
    "at_most",
    "is_everywhere",
    "num_diagonals",
    "number_of_row",
    "row_of",
    "slot_vectors",
    "splat",
    "whole_rotations",
]


def slot_vectors(
    constant: ConstRef | MapSums, sources: Sources, product: int | None = None
) -> npt.NDArray[np.complex128]:
    """What is encoded of a constant: all its vectors one after the other, or that of one product of a block map."""
    if isinstance(constant, MapSums):
        assert product is not None, "a block map is encoded product by product"
        constant = constant.products.values[product]
    return constant.evaluate(sources).astype(np.complex128, copy=False).reshape(-1)


@dataclass(frozen=True, slots=True)
class IntervalPolynomial:
    """A polynomial of one variable.

    coefficients   lowest degree first
    interval       (lo, hi): where it approximates; Chebyshev coefficients refer to it mapped to [-1, 1]
    basis          "chebyshev" or "power" (then the interval is only a record)
    error          largest distance on the interval from the function that it stands for; 0: it stands for itself
    """

    coefficients: tuple[float, ...]
    interval: tuple[float, float]
    basis: str = "chebyshev"
    error: float = 0.0

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
