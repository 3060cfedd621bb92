"""tensor.polynomial: one public polynomial of every element."""

from __future__ import annotations

import numpy as np

from latticework.functions.approximation.chebyshev import to_chebyshev
from latticework.ir.core import Value
from latticework.ir.dialects.constant_attributes import (
    Approximant,
    ChannelPolynomial,
    ChannelSquare,
    IntervalPolynomial,
)
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.clearing import clear, everywhere, is_after_polynomial, is_full, number_between
from latticework.tensor.ops.lowering import Operand, Target, operand_vector


def shape(a: Shape, *, polynomial: Approximant) -> Shape:
    """Shape of the operand."""
    return a


def trace(tracer: Tracer, x: object, polynomial: Approximant) -> Value:
    """polynomial(x)."""
    return tracer.emit(POLYNOMIAL, tracer.lift(x), polynomial=polynomial)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """A cubic in either basis, or one for each channel, on values in their interval."""
    array = rng.uniform(-2.0, 3.0, size=random_shape(rng, slots))
    if array.ndim and rng.random() < 0.4:
        return _by_channel(rng, array)
    coefficients = tuple(float(c) for c in rng.normal(size=4))
    if rng.random() < 0.5:
        a, b, c, d = coefficients
        power = IntervalPolynomial(coefficients, (-2.0, 3.0), "power")
        return Case((array,), lambda x: a + b * x + c * x**2 + d * x**3, {"polynomial": power})
    chebyshev = IntervalPolynomial(coefficients, (-2.0, 3.0))
    return Case((array,), lambda x: _by_angles(chebyshev, x), {"polynomial": chebyshev})


def _by_channel(rng: np.random.Generator, array: FloatArray) -> Case:
    axis = int(rng.integers(-array.ndim, 0))
    table = rng.normal(size=(array.shape[axis], 4))
    one_each = [IntervalPolynomial(tuple(row), (-2.0, 3.0)) for row in table.tolist()]
    every = ChannelPolynomial(tuple(map(tuple, table.tolist())), ((-1.0, 1.0),) * len(table), axis, (-2.0, 3.0))

    def expression(x: FloatArray) -> FloatArray:
        parts = zip(one_each, np.moveaxis(x, axis, 0), strict=True)
        return np.moveaxis(np.stack([_by_angles(one, part) for one, part in parts]), 0, axis)

    return Case((array,), expression, {"polynomial": every})


def _by_angles(polynomial: IntervalPolynomial, x: FloatArray) -> FloatArray:
    """Evaluate by T_k(cos t) = cos(k t), for x inside the interval."""
    lo, hi = polynomial.interval
    angle = np.arccos(np.clip((2.0 * x - lo - hi) / (hi - lo), -1.0, 1.0))
    return np.asarray(sum(c * np.cos(k * angle) for k, c in enumerate(polynomial.coefficients)))


def lower(target: Target, a: Operand, polynomial: Approximant) -> Value:
    """Slot by slot; symbolic until levels are known.

    Slots that no element fills have the middle of the interval, or a number inside that is known to lie there; those of
    squares anything, as those of products.
    """
    if isinstance(polynomial, ChannelSquare):
        return target.build("vec.polynomial", operand_vector(target, a), polynomial=polynomial.lying(target.pack))
    if isinstance(polynomial, ChannelPolynomial):
        polynomial = polynomial.lying(target.pack)
    if a.vector is None or is_full(a.pack) or _holds_one_inside(target, a, polynomial.interval):
        return target.build("vec.polynomial", operand_vector(target, a), polynomial=polynomial)
    x = clear(target, a)
    low, high = polynomial.interval
    half, middle = (high - low) / 2, (high + low) / 2
    if middle:
        x = target.build("vec.sub", x, everywhere(target, a, middle))
    if isinstance(polynomial, IntervalPolynomial):
        coefficients = to_chebyshev(polynomial).coefficients
        moved: Approximant = IntervalPolynomial(coefficients, (-half, half), error=polynomial.error, gap=polynomial.gap)
    else:
        moved = polynomial.over((-half, half))
    return target.build("vec.polynomial", x, polynomial=moved)


def _holds_one_inside(target: Target, a: Operand, interval: tuple[float, float]) -> bool:
    """Whether slots between the elements hold a number of the interval, other than the 0 that needs no more care."""
    assert a.vector is not None
    if not is_after_polynomial(a.vector):
        return False  # a mask costs nothing
    number = number_between(a.vector, a.pack, target.inputs)
    return bool(number) and interval[0] <= number <= interval[1]  # type: ignore[operator]


def _rows(use: row_rules.RowUse) -> row_rules.Rows | None:
    """Elementwise; but channels are no rows, for each has a polynomial of its own."""
    result, polynomial = row_rules.elementwise(use), use.attrs["polynomial"]
    if result is not None and isinstance(polynomial, ChannelPolynomial | ChannelSquare):
        if result.axis == len(use.result) + polynomial.axis:
            return None
        return row_rules.Rows(result.axis, result.same - {len(use.result) + polynomial.axis})
    return result


POLYNOMIAL = tensor_op(
    "polynomial",
    shape=shape,
    semantics=lambda a, polynomial: polynomial(a),
    attributes={"polynomial": Approximant},
    random_case=random_case,
    rows=_rows,
    lower=lower,
)
