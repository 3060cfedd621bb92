"""tensor.mul: elementwise product, broadcasting as NumPy does; squares, powers and quotients by public numbers."""

from __future__ import annotations

import numpy as np

from latticework.errors import RangeError, UnsupportedError
from latticework.ir.core import Value
from latticework.ops.base import Case, Shape, Tracer, broadcast_shape, tensor_op
from latticework.ops.cases import broadcasting_operands
from latticework.ops.lowering import Operand, Target, operand_vector


def shape(a: Shape, b: Shape) -> Shape:
    """Shape of a * b."""
    return broadcast_shape("mul", a, b)


def trace(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.multiply(x1, x2)."""
    return tracer.emit(MUL, tracer.lift(x1), tracer.lift(x2))


def trace_square(tracer: Tracer, x: object) -> Value:
    """np.square(x), as the product of x with itself."""
    value = tracer.lift(x)
    return tracer.emit(MUL, value, value)


def trace_divide(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.divide(x1, x2) by a public divisor without zeros, as a product with its reciprocal."""
    divisor = tracer.plain(x2)
    if divisor is None:
        raise UnsupportedError(
            "divide: the divisor is secret, and division has no encrypted counterpart; multiply by a polynomial "
            "that approximates 1/x on the divisor's range: x * lw.polynomial(y, coefficients)"
        )
    zeros = int(np.count_nonzero(divisor == 0.0))
    if zeros:
        raise RangeError(
            f"divide: {zeros} of the divisor's {divisor.size} elements are 0; replace them before the division"
        )
    return trace(tracer, x1, 1.0 / divisor)


def trace_power(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.power(x1, x2) for a public whole number x2 >= 0, by repeated products at depth ceil(log2(x2))."""
    exponent = tracer.plain(x2)
    if exponent is None:
        raise UnsupportedError(
            "power: the exponent is secret; write it as lw.exp(exponent * np.log(base)) with a public base > 0"
        )
    if exponent.ndim or exponent < 0 or exponent != np.floor(exponent):
        given = float(exponent) if exponent.ndim == 0 else f"an array of shape {exponent.shape}"
        raise UnsupportedError(
            f"power: the exponent is {given}; it must be one whole number >= 0; "
            "approximate other powers with lw.polynomial(x, coefficients)"
        )
    base = tracer.lift(x1)
    if exponent == 0:
        return tracer.lift(np.ones(base.type.shape))  # type: ignore[attr-defined]
    return _power(tracer, base, int(exponent), {1: base})


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Two arrays whose shapes broadcast."""
    return Case(broadcasting_operands(rng, slots), lambda a, b: a * b)


def _power(tracer: Tracer, base: Value, exponent: int, known: dict[int, Value]) -> Value:
    """Halving the exponent keeps the depth optimal; `known` shares the products."""
    if exponent not in known:
        half = _power(tracer, base, exponent // 2, known)
        known[exponent] = tracer.emit(MUL, half, _power(tracer, base, exponent - exponent // 2, known))
    return known[exponent]


def lower(target: Target, a: Operand, b: Operand) -> Value:
    """Slot by slot; a public operand is packed like the result."""
    return target.build("vec.mul", operand_vector(target, a), operand_vector(target, b))


MUL = tensor_op(
    "mul",
    shape=shape,
    meaning=np.multiply,
    random_case=random_case,
    numpy={np.multiply: trace, np.square: trace_square, np.divide: trace_divide, np.power: trace_power},
    lower=lower,
)
