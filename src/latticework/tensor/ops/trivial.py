"""tensor.trivial: a public array in the form of a secret one, for a loop that starts from public numbers."""

from __future__ import annotations

import numpy as np

from latticework.ir.core import Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, FloatArray, OpTraits, Shape, Tracer, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, pack_public


def shape(a: Shape) -> Shape:
    """Shape of the operand."""
    return a


def trace(tracer: Tracer, a: object) -> Value:
    """The value of a, secret; a itself if it is secret already."""
    value = tracer.lift(a)
    return value if value.is_secret else tracer.emit(TRIVIAL, value)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """An array of any shape."""
    return Case((rng.normal(size=random_shape(rng, slots)),), np.copy)


def _same(a: FloatArray) -> FloatArray:
    return a


def lower(target: Target, a: Operand) -> Value:
    """The packed array, encrypted trivially where a ciphertext is needed."""
    return in_secret_form(target, pack_public(target, a))


def in_secret_form(target: Target, public: Value) -> Value:
    """A public value as vectors of a secret tensor: of one that stands for all its vectors, as many."""
    kind, count = public.type, target.layout.count
    assert isinstance(kind, VecType)
    value = target.build("vec.trivial", public)
    return value if kind.count == count else target.build("vec.take", value, vectors=(0,) * count)


TRIVIAL = tensor_op(
    "trivial",
    shape=shape,
    semantics=_same,
    traits=OpTraits(secret=True),
    random_case=random_case,
    rows=row_rules.elementwise,
    lower=lower,
)
