"""Public operands in compact form: gathers of weights, linear maps, polynomials.

Nothing here holds a slot vector. A constant is described by how to gather it
from a source array, and is evaluated when it is encoded, at the level of use.
"""

from latticework.plan.constants.const_ref import ConstRef, splat
from latticework.plan.constants.gather import Access, Gather
from latticework.plan.constants.linear_map import Diagonal, LinearMap, Part, is_identity, num_diagonals
from latticework.plan.constants.polynomial import Polynomial

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
]
