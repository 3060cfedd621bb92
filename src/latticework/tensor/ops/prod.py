"""tensor.prod: the product of elements over axes, as a balanced tree of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.ir.core import Op, Value
from latticework.tensor.layout.assign import LayoutRules, OperationLayouts
from latticework.tensor.layout.layout import Layout, num_bits
from latticework.tensor.layout.sum_layouts import summed_layout
from latticework.tensor.ops import pad, row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, normal_axes, shape_of, tensor_op
from latticework.tensor.ops.lowering import Operand, Target

Ints = tuple[int, ...]


def shape(a: Shape, *, axes: Ints, keepdims: bool) -> Shape:
    """Shape of the product of a over `axes`, which become 1 (keepdims) or disappear."""
    gone = normal_axes("prod", axes, len(a))
    if keepdims:
        return tuple(1 if axis in gone else n for axis, n in enumerate(a))
    return tuple(n for axis, n in enumerate(a) if axis not in gone)


def trace(tracer: Tracer, a: object, axis: Any = None, keepdims: bool = False) -> Value:
    """np.prod(a, axis, keepdims=...); axes that are no power of two long are filled up with ones."""
    value = tracer.lift(a)
    old = shape_of(value)
    axes = tuple(sorted(normal_axes("prod", axis, len(old))))
    if not axes:
        return value
    after = tuple((1 << num_bits(n)) - n if i in axes else 0 for i, n in enumerate(old))
    filled = pad.trace(tracer, value, [(0, n) for n in after], "constant", {"constant_values": 1.0})
    return tracer.emit(PROD, filled, axes=axes, keepdims=bool(keepdims))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Draw a case over axes that are a power of two long."""
    array = rng.normal(size=tuple(int(n) for n in rng.choice([1, 2, 4], int(rng.integers(1, 4)))))
    count = int(rng.integers(1, array.ndim + 1))
    axes = tuple(sorted(int(axis) for axis in rng.choice(array.ndim, count, replace=False)))
    keepdims = bool(rng.random() < 0.5)
    return Case((array,), lambda a: np.prod(a, axis=axes, keepdims=keepdims), {"axes": axes, "keepdims": keepdims})


def _prod(a: FloatArray, axes: Ints, keepdims: bool) -> Any:
    return np.prod(a, axis=axes, keepdims=keepdims)


def move_multiplied_first(op: Op, layouts: Sequence[Layout | None], rules: LayoutRules) -> OperationLayouts:
    """The operand with the multiplied axes in front, which then become repetition."""
    shape, axes = shape_of(op.operands[0]), op.attrs["axes"]
    order = (*axes, *(axis for axis in range(len(shape)) if axis not in axes))
    lying = rules.row_major(tuple(shape[axis] for axis in order)).renumber_axes(dict(enumerate(order)))
    return OperationLayouts((lying,), summed_layout(lying, len(shape), **PROD.own(op.attrs)))


def lower(target: Target, a: Operand, axes: Ints, keepdims: bool) -> Value:
    """Rotate and multiply: nothing but repetition lies above the multiplied axes, and they fill their powers of two."""
    assert a.vector is not None and a.layout is not None
    assert all(a.shape[axis] & (a.shape[axis] - 1) == 0 for axis in axes)
    total = a.vector
    for place in a.layout.places(axes):
        total = target.build("vec.mul", total, target.build("vec.rotate", total, steps=1 << place))
    return total


PROD = tensor_op(
    "prod",
    shape=shape,
    semantics=_prod,
    attributes={"axes": tuple, "keepdims": bool},
    random_case=random_case,
    rows=row_rules.reduction,
    numpy={np.prod: trace},
    lower=lower,
)
