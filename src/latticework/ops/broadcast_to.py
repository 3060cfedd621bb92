"""tensor.broadcast_to: copies along new axes and axes of length 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.ir.core import Value
from latticework.ops import row_rules
from latticework.ops.base import Case, Shape, Tracer, broadcast_shape, shape_of, tensor_op
from latticework.ops.cases import random_shape
from latticework.ops.lowering import Operand, Target, access, linear


def shape(a: Shape, *, shape: Shape) -> Shape:
    """The new shape, to which that of a broadcasts."""
    if broadcast_shape("broadcast_to", a, shape) != tuple(shape):
        raise ShapeError(f"broadcast_to: {a} would have to shrink to become {shape}; sum or slice it instead")
    return tuple(shape)


def trace(tracer: Tracer, array: object, shape: Any) -> Value:
    """np.broadcast_to(array, shape)."""
    value = tracer.lift(array)
    new = tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    return value if new == shape_of(value) else tracer.emit(BROADCAST_TO, value, shape=new)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """An array of which some axes are 1 or missing in front."""
    new = random_shape(rng, slots)
    old = tuple(1 if rng.random() < 0.5 else n for n in new)[int(rng.integers(len(new) + 1)) :]
    return Case((rng.normal(size=old),), lambda a: np.broadcast_to(a, new), {"shape": new})


def lower(target: Target, a: Operand, shape: Shape) -> Value:
    """The same vector, or one linear transform."""
    rank = len(target.shape)
    out = access(target.shape, range(rank), rank)
    return linear(target, a, target.shape, out, access(a.shape, range(rank - len(a.shape), rank), rank))


BROADCAST_TO = tensor_op(
    "broadcast_to",
    shape=shape,
    meaning=np.broadcast_to,
    attributes={"shape": tuple},
    random_case=random_case,
    rows=row_rules.movement,
    numpy={np.broadcast_to: trace},
    lower=lower,
)
