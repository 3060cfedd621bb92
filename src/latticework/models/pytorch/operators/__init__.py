"""Overloads of ATen's operators, by the semantics that all libraries share."""

from latticework.models.converters import Converters
from latticework.models.pytorch.operators import (
    activations,
    arithmetic,
    attention,
    convolution,
    copies,
    functions,
    joining,
    linear,
    loops,
    normalisation,
    polynomials,
    recurrent,
    reductions,
    resizing,
    shaping,
)
from latticework.models.pytorch.operators.refused_overloads import REMEDIES

_FAMILIES = (
    arithmetic, functions, linear, convolution, activations, attention, normalisation, shaping, joining, resizing,
    reductions, copies, recurrent, loops, polynomials,
)  # fmt: skip

CONVERTERS = Converters([converter for family in _FAMILIES for converter in family.CONVERTERS], REMEDIES)
