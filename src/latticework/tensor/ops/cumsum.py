"""tensor.cumsum: running sums along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.ir.core import Value
from latticework.tensor.ops import reshape, row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, normal_axis, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, access, linear
from latticework.values.packing.packed_constants import Access


def shape(a: Shape, *, axis: int) -> Shape:
    """Shape of a."""
    normal_axis("cumsum", axis, len(a))
    return a


def trace(tracer: Tracer, a: object, axis: Any = None) -> Value:
    """np.cumsum(a, axis); without an axis along the elements in C order."""
    value = tracer.lift(a)
    if axis is None:
        value, axis = reshape.trace_ravel(tracer, value), 0
    along = normal_axis("cumsum", axis, len(shape_of(value)))
    return value if shape_of(value)[along] == 1 else tracer.emit(CUMSUM, value, axis=along)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Draw a case along any axis that is longer than 1."""
    array = rng.normal(size=(*random_shape(rng, slots // 4, int(rng.integers(0, 3))), int(rng.integers(2, 5))))
    axis = int(rng.choice([i for i, n in enumerate(array.shape) if n > 1]))
    return Case((array,), lambda a: np.cumsum(a, axis), {"axis": axis})


def lower(target: Target, a: Operand, axis: int) -> Value:
    """One linear transform: out[t + d] += in[t] for every d >= 0 that stays inside."""
    rank = len(a.shape)
    into = access(a.shape, range(rank), rank + 1)
    rows = tuple((*row[:rank], int(i == axis)) for i, row in enumerate(into.matrix))
    return linear(target, a, (*a.shape, a.shape[axis]), Access(a.shape, rows, into.offset), into)


CUMSUM = tensor_op(
    "cumsum",
    shape=shape,
    semantics=np.cumsum,
    attributes={"axis": int},
    random_case=random_case,
    rows=row_rules.along_one_axis,
    numpy={np.cumsum: trace},
    lower=lower,
)
