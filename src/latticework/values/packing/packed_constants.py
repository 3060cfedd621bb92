"""Public operands in compact form: gathers of weights, linear maps, polynomials.

Nothing here holds a slot vector. A constant is described by how to gather it
from a source array, and is evaluated when it is encoded, at the level of use.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.values.packing.approximants import SMEARED, Approximant, IntervalPolynomial, PiecewiseLinearComposition
from latticework.values.packing.channel_polynomial import ChannelPolynomial, channel_vectors
from latticework.values.packing.loop_nests.baby_giant import Split
from latticework.values.packing.loop_nests.const_ref import ConstRef, is_everywhere, number_of_row, row_of, splat
from latticework.values.packing.loop_nests.diagonal_values import Sources
from latticework.values.packing.loop_nests.diagonals import MOST_LISTED, at_most
from latticework.values.packing.loop_nests.linear_map import Diagonal, LinearMap, MapPart, num_diagonals
from latticework.values.packing.loop_nests.map_sums import MapSums
from latticework.values.packing.loop_nests.map_terms import MapStrategy
from latticework.values.packing.loop_nests.nest import Access, LoopNest
from latticework.values.packing.loop_nests.number_matrix import NumberMatrix, number_matrix
from latticework.values.packing.loop_nests.whole_vectors import whole_rotations

__all__ = [
    "MOST_LISTED",
    "SMEARED",
    "Access",
    "Approximant",
    "ChannelPolynomial",
    "ConstRef",
    "Constant",
    "Diagonal",
    "IntervalPolynomial",
    "LinearMap",
    "LoopNest",
    "MapPart",
    "MapStrategy",
    "MapSums",
    "NumberMatrix",
    "PiecewiseLinearComposition",
    "Sources",
    "Split",
    "at_most",
    "channel_vectors",
    "is_everywhere",
    "num_diagonals",
    "number_matrix",
    "number_of_row",
    "row_of",
    "slot_vectors",
    "splat",
    "whole_rotations",
]


Constant = ConstRef | MapSums | NumberMatrix  # of a plan


def slot_vectors(constant: Constant, sources: Sources, product: int | None = None) -> npt.NDArray[np.complex128]:
    """Return the vectors that a constant encodes, one after the other, or that of one product of a block map.

    Of a matrix they are its numbers, row after row.
    """
    if isinstance(constant, NumberMatrix):
        return constant.evaluate(sources).astype(np.complex128).reshape(-1)
    if isinstance(constant, MapSums):
        assert product is not None, "a block map is encoded product by product"
        constant = constant.products.values[product]
    return constant.evaluate(sources).astype(np.complex128, copy=False).reshape(-1)
