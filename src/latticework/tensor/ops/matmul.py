"""tensor.matmul: matrix product by NumPy's rules for vectors, matrices and stacks; either side may be secret."""

from __future__ import annotations

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.layout.loops import Loops
from latticework.tensor.ops import mul, row_rules
from latticework.tensor.ops.base import Case, Shape, Tracer, broadcast_shape, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, access, linear
from latticework.tensor.ops.reduction import reduce_axes
from latticework.values.packing.packed_constants import ConstRef, LoopNest


def shape(a: Shape, b: Shape) -> Shape:
    """Shape of a @ b: a vector on the left is a row, on the right a column, whose axis then disappears."""
    if not a or not b:
        raise ShapeError(f"matmul: shapes {a} and {b}: a scalar has no axis to sum over; multiply with *")
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        raise ShapeError(
            f"matmul: shapes {a} and {b} do not fit: the last axis of the left is {a[-1]} long, "
            f"the {'second last' if len(b) > 1 else 'only'} axis of the right {inner}; transpose one side or reshape"
        )
    stack = broadcast_shape("matmul", a[:-2], b[:-2])
    return stack + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


def trace(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.matmul(x1, x2)."""
    return tracer.emit(MATMUL, tracer.lift(x1), tracer.lift(x2))


def trace_dot(tracer: Tracer, a: object, b: object) -> Value:
    """np.dot(a, b): the product with a scalar, else the matrix product where the two agree."""
    left, right = tracer.lift(a), tracer.lift(b)
    if not shape_of(left) or not shape_of(right):
        return mul.trace(tracer, left, right)
    if len(shape_of(right)) > 2:
        raise UnsupportedError(
            f"np.dot: shapes {shape_of(left)} and {shape_of(right)}: dot differs from @ where the right side has more "
            "than two axes; write the product with @"
        )
    return trace(tracer, left, right)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Vectors, matrices, and stacks of them on either side, which may have to be broadcast."""
    rows, inner, columns = random_shape(rng, slots, 3)
    stack = random_shape(rng, slots // (rows * inner * columns), int(rng.integers(1, 3))) if rng.random() < 0.5 else ()
    thinned = [tuple(1 if rng.random() < 0.3 else n for n in stack) for _ in "ab"]
    left, right = (part[int(rng.integers(len(stack) + 1)) :] for part in thinned)
    a = rng.normal(size=(*left, *((rows,) if left or rng.random() < 0.7 else ()), inner))
    b = rng.normal(size=(*right, inner, *((columns,) if right or rng.random() < 0.7 else ())))
    return Case((a, b), lambda x, y: x @ y)


def lower(target: Target, a: Operand, b: Operand) -> Value:
    """One linear transform by a public matrix; in a box, as of two secrets, a product of vectors and a sum."""
    nest = Loops.matmul(a.shape, b.shape)
    if target.box is not None:
        factors = [_in_box(target, x, nest, side) for side, x in enumerate((a, b))]
        product = Operand(nest.extents, target.build("vec.mul", *factors), target.box, None)
        return reduce_axes(target, product, nest.summed, keepdims=False)
    x, weights, side = (a, b, 0) if a.vector is not None else (b, a, 1)
    loops = len(nest.extents)
    return linear(
        target, x, nest.extents,
        access(target.shape, nest.result, loops), access(x.shape, nest.operands[side], loops),
        weights.source, access(weights.shape, nest.operands[1 - side], loops),
    )  # fmt: skip


def _in_box(target: Target, x: Operand, nest: Loops, side: int) -> Value:
    """An operand where the box of all loops has it: there already, or public."""
    if x.vector is not None:
        return x.vector
    assert target.box is not None
    rank = len(nest.extents)
    gather = LoopNest(
        nest.extents, target.box.pack_map(nest.extents), access(nest.extents, range(rank), rank),
        x.source, access(x.shape, nest.operands[side], rank),
    )  # fmt: skip
    return target.build("vec.constant", value=ConstRef(gather))


MATMUL = tensor_op(
    "matmul",
    shape=shape,
    semantics=np.matmul,
    random_case=random_case,
    rows=row_rules.matrix_product,
    numpy={np.matmul: trace, np.dot: trace_dot},
    lower=lower,
)
