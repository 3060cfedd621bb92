"""tensor.convert_layout: the same tensor, lying otherwise; inserted by the assignment of layouts."""

from __future__ import annotations

import numpy as np

from latticework.ops.base import Case, FloatArray, Shape, tensor_op
from latticework.ops.cases import random_shape
from latticework.ops.lowering import moved


def shape(a: Shape) -> Shape:
    """Shape of the operand."""
    return a


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """An array of any shape."""
    return Case((rng.normal(size=random_shape(rng, slots)),), np.copy)


def _same(a: FloatArray) -> FloatArray:
    return a


CONVERT_LAYOUT = tensor_op("convert_layout", shape=shape, meaning=_same, random_case=random_case, lower=moved)
