"""tensor.mul: elementwise product, broadcasting as NumPy does; squares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from latticework.ir.core import Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, broadcast_shape, tensor_op
from latticework.tensor.ops.cases import broadcasting_operands
from latticework.tensor.ops.lowering import Operand, Target, operand_vector


def shape(a: Shape, b: Shape) -> Shape:
    """Shape of a * b."""
    return broadcast_shape("mul", a, b)


def trace(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.multiply(x1, x2)."""
    return tracer.emit(MUL, tracer.lift(x1), tracer.lift(x2))


def by(factor: float) -> Callable[..., Value]:
    """Return the tracing of a NumPy function that multiplies by `factor`."""

    def trace_product(tracer: Tracer, x: object) -> Value:
        return trace(tracer, x, factor)

    return trace_product


def trace_square(tracer: Tracer, x: object) -> Value:
    """np.square(x), as the product of x with itself."""
    value = tracer.lift(x)
    return tracer.emit(MUL, value, value)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Two arrays whose shapes broadcast."""
    return Case(broadcasting_operands(rng, slots), lambda a, b: a * b)


def lower(target: Target, a: Operand, b: Operand) -> Value:
    """Slot by slot; a public operand is packed like the result."""
    return target.build("vec.mul", operand_vector(target, a), operand_vector(target, b))


MUL = tensor_op(
    "mul",
    shape=shape,
    semantics=np.multiply,
    random_case=random_case,
    rows=row_rules.elementwise,
    numpy={np.multiply: trace, np.square: trace_square},
    lower=lower,
)
