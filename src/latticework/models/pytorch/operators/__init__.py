"""Overloads of ATen's operators, by the semantics that all libraries share."""

from latticework.models.converters import Converters
from latticework.models.pytorch.operators import (
    aten_activations,
    aten_arithmetic,
    aten_attention,
    aten_convolution,
    aten_copies,
    aten_functions,
    aten_joining,
    aten_loops,
    aten_matrices,
    aten_normalisation,
    aten_polynomials,
    aten_recurrent,
    aten_reductions,
    aten_resizing,
    aten_shaping,
)
from latticework.models.pytorch.operators.aten_refused import REMEDIES

_FAMILIES = (
    aten_arithmetic, aten_functions, aten_matrices, aten_convolution, aten_activations, aten_attention,
    aten_normalisation, aten_shaping, aten_joining, aten_resizing, aten_reductions, aten_copies, aten_recurrent,
    aten_loops, aten_polynomials,
)  # fmt: skip

CONVERTERS = Converters([converter for family in _FAMILIES for converter in family.CONVERTERS], REMEDIES)
