"""tensor.broadcast_to: copies along new axes and axes of length 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.ir.core import Op, Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, broadcast_shape, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, access, linear


def shape(a: Shape, *, shape: Shape) -> Shape:
    """The new shape, to which that of a broadcasts."""
    if broadcast_shape("broadcast_to", a, shape) != tuple(shape):
        raise ShapeError(f"broadcast_to: {a} would have to shrink to become {shape}; sum or slice it instead")
    return tuple(shape)


def trace(tracer: Tracer, array: object, shape: Any) -> Value:
    """np.broadcast_to(array, shape); copies of copies are of what is behind them."""
    value = tracer.lift(array)
    new = tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    if new == shape_of(value):
        return value
    maker = value.owner
    if isinstance(maker, Op) and maker.spec is BROADCAST_TO.spec and _fits(shape_of(value), new):
        return trace(tracer, maker.operands[0], new)
    return tracer.emit(BROADCAST_TO, value, shape=new)


def _fits(old: Shape, new: Shape) -> bool:
    """Whether an array broadcasts to a shape; where not, the operation says so of the array that was given."""
    last = new[max(0, len(new) - len(old)) :]
    return len(old) <= len(new) and all(m in (1, n) for m, n in zip(old, last, strict=True))


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
    semantics=np.broadcast_to,
    attributes={"shape": tuple},
    random_case=random_case,
    rows=row_rules.movement,
    numpy={np.broadcast_to: trace},
    lower=lower,
)
