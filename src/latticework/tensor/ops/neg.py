"""tensor.neg: elementwise negation."""

from __future__ import annotations

import numpy as np

from latticework.ir.core import Value
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, operand_vector


def shape(a: Shape) -> Shape:
    """Shape of -a."""
    return a


def trace(tracer: Tracer, x: object) -> Value:
    """np.negative(x)."""
    return tracer.emit(NEG, tracer.lift(x))


def trace_positive(tracer: Tracer, x: object) -> Value:
    """np.positive(x), which changes nothing."""
    return tracer.lift(x)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """An array of any shape."""
    return Case((rng.normal(size=random_shape(rng, slots)),), lambda a: -a)


def lower(target: Target, a: Operand) -> Value:
    """Slot by slot."""
    return target.build("vec.neg", operand_vector(target, a))


NEG = tensor_op(
    "neg",
    shape=shape,
    semantics=np.negative,
    random_case=random_case,
    rows=row_rules.elementwise,
    numpy={np.negative: trace, np.positive: trace_positive},
    lower=lower,
)
