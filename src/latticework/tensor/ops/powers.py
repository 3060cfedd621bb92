"""Quotients and powers: products where they are whole, and functions of one number where they are not."""

from __future__ import annotations

from math import inf

import numpy as np

from latticework.errors import RangeError, UnsupportedError
from latticework.functions.approximation.real_functions import FUNCTIONS, Function
from latticework.ir.core import Value
from latticework.tensor.ops import apply, mul
from latticework.tensor.ops.base import FloatArray, Tracer, shape_of


def divide(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.divide(x1, x2): a product with the reciprocal of a secret, or of a public divisor without zeros."""
    divisor = tracer.plain(x2)
    if divisor is None:
        inverse = apply.trace(tracer, x2, "reciprocal")
        above = tracer.plain(x1)
        return inverse if above is not None and above.ndim == 0 and above == 1.0 else mul.trace(tracer, x1, inverse)
    zeros = int(np.count_nonzero(divisor == 0.0))
    if zeros:
        raise RangeError(
            f"divide: {zeros} of the divisor's {divisor.size} elements are 0; replace them before the division"
        )
    return mul.trace(tracer, x1, 1.0 / divisor)


def power(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.power(x1, x2) where one of the two is one public number.

    For a whole exponent >= 0 by repeated products at depth ceil(log2(x2)), otherwise as a function of the secret.
    """
    exponent = tracer.plain(x2)
    if exponent is None:
        return _exponential(tracer, x1, x2)
    if exponent.ndim:
        raise UnsupportedError(
            f"power: the exponent is an array of shape {exponent.shape}; it must be one number: take the powers apart, "
            "and join them with np.stack"
        )
    value = float(exponent)
    if value < 0 or value != np.floor(value):
        return apply.trace(tracer, x1, _power_function(value))
    base = tracer.lift(x1)
    if value == 0:
        return tracer.lift(np.ones(shape_of(base)))
    return _multiply_repeatedly(tracer, base, int(value), {1: base})


def _exponential(tracer: Tracer, x1: object, x2: object) -> Value:
    base = tracer.plain(x1)
    if base is None:
        raise UnsupportedError("power: base and exponent are both secret; write it as np.exp(exponent * np.log(base))")
    if base.size == 0 or not (base > 0).all():
        raise RangeError(
            f"power: the base {'is' if base.ndim == 0 else 'holds'} {float(base.min()):g} and the exponent is secret; "
            "only numbers above 0 have such powers"
        )
    return apply.trace(tracer, mul.trace(tracer, x2, np.log(base)), "exp")


def _power_function(exponent: float) -> Function:
    if exponent in _NAMED:
        return FUNCTIONS[_NAMED[exponent]]
    whole = exponent == np.floor(exponent)
    domains = ((-inf, 0.0), (0.0, inf)) if whole else ((0.0, inf),)
    return Function(f"power {exponent:g}", Raised(exponent), domains=domains, closed=exponent > 0)


_NAMED = {-1.0: "reciprocal", 0.5: "sqrt", -0.5: "rsqrt"}


class Raised:
    """x ** exponent; infinite or NaN where it is not defined."""

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent

    def __call__(self, x: FloatArray) -> FloatArray:
        """Elementwise."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.power(x, self.exponent))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and other.exponent == self.exponent

    def __hash__(self) -> int:
        return hash(self.exponent)


def _multiply_repeatedly(tracer: Tracer, base: Value, exponent: int, known: dict[int, Value]) -> Value:
    """Halving the exponent keeps the depth optimal; `known` shares the products."""
    if exponent not in known:
        half = _multiply_repeatedly(tracer, base, exponent // 2, known)
        known[exponent] = mul.trace(tracer, half, _multiply_repeatedly(tracer, base, exponent - exponent // 2, known))
    return known[exponent]
