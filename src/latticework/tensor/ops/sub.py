"""tensor.sub: elementwise difference, broadcasting as NumPy does."""

from __future__ import annotations

import numpy as np

from latticework.ir.core import Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, broadcast_shape, tensor_op
from latticework.tensor.ops.cases import broadcasting_operands
from latticework.tensor.ops.lowering import Operand, Target, operand_vector


def shape(a: Shape, b: Shape) -> Shape:
    """Shape of a - b."""
    return broadcast_shape("sub", a, b)


def trace(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.subtract(x1, x2)."""
    return tracer.emit(SUB, tracer.lift(x1), tracer.lift(x2))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Two arrays whose shapes broadcast."""
    return Case(broadcasting_operands(rng, slots), lambda a, b: a - b)


def lower(target: Target, a: Operand, b: Operand) -> Value:
    """Slot by slot; a public operand is packed like the result."""
    return target.build("vec.sub", operand_vector(target, a), operand_vector(target, b))


SUB = tensor_op(
    "sub",
    shape=shape,
    semantics=np.subtract,
    random_case=random_case,
    rows=row_rules.elementwise,
    numpy={np.subtract: trace},
    lower=lower,
)
