"""tensor.convert_layout: the same tensor, lying otherwise; inserted by the assignment of layouts.

How it gets there is one of the conversions of `layout/conversions`, by name.
"""

from __future__ import annotations

import numpy as np

from latticework.ir.core import Value
from latticework.tensor.layout.conversions import find_conversion
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target


def shape(a: Shape, *, recipe: str) -> Shape:
    """Shape of the operand."""
    return a


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """An array of any shape."""
    return Case((rng.normal(size=random_shape(rng, slots)),), np.copy, {"recipe": "block"})


def _same(a: FloatArray, recipe: str) -> FloatArray:
    return a


def lower(target: Target, a: Operand, recipe: str) -> Value:
    """The vector operations of the conversion."""
    assert a.vector is not None and a.layout is not None
    return find_conversion(recipe, a.shape, a.layout, target.layout).lower(target.builder, a.vector)


CONVERT_LAYOUT = tensor_op(
    "convert_layout",
    shape=shape,
    semantics=_same,
    attributes={"recipe": str},
    random_case=random_case,
    rows=row_rules.elementwise,
    lower=lower,
)
