"""tensor.constant: a public array, kept in the module's sources under its content hash."""

from __future__ import annotations

import numpy as np

from latticework.ir.module import source_hash
from latticework.tensor.ops.base import Case, FloatArray, OpTraits, Shape, tensor_op
from latticework.tensor.ops.cases import random_shape


def shape(*, source: str, shape: Shape) -> Shape:
    """The shape of the array, stated because the array itself is not in the attributes."""
    return shape


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """An array of any shape."""
    array: FloatArray = rng.normal(size=random_shape(rng, slots))
    digest = source_hash(array)
    return Case((), lambda: array, {"source": digest, "shape": array.shape}, {digest: array})


CONSTANT = tensor_op(
    "constant",
    shape=shape,
    semantics=lambda array: array,
    attributes={"source": str, "shape": tuple},
    random_case=random_case,
    traits=OpTraits(reads_source=True),
)
