"""tensor.add: elementwise sum, broadcasting as NumPy does."""

from __future__ import annotations

import numpy as np

from latticework.ir.core import Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, broadcast_shape, tensor_op
from latticework.tensor.ops.cases import broadcasting_operands
from latticework.tensor.ops.lowering import Operand, Target, operand_vector


def shape(a: Shape, b: Shape) -> Shape:
    """Shape of a + b."""
    return broadcast_shape("add", a, b)


def trace(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.add(x1, x2)."""
    return tracer.emit(ADD, tracer.lift(x1), tracer.lift(x2))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Two arrays whose shapes broadcast."""
    return Case(broadcasting_operands(rng, slots), lambda a, b: a + b)


def lower(target: Target, a: Operand, b: Operand) -> Value:
    """Slot by slot; a public operand is packed like the result."""
    return target.build("vec.add", operand_vector(target, a), operand_vector(target, b))


ADD = tensor_op(
    "add",
    shape=shape,
    semantics=np.add,
    random_case=random_case,
    rows=row_rules.elementwise,
    numpy={np.add: trace},
    lower=lower,
)
