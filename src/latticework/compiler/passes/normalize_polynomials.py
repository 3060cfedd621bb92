"""normalize-polynomials: every polynomial in Chebyshev basis on [-1, 1], its argument scaled to fit.

In/out: vec IR, same cleartext meaning. The scaling becomes a product with a
splat and a sum, which fold-splats then moves into a preceding linear map, where
it costs no level. Cost: O(ops).
"""

from __future__ import annotations

from latticework.functions.approximation.chebyshev import to_chebyshev
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild
from latticework.values.packing.packed_constants import Approximant, IntervalPolynomial

UNIT = (-1.0, 1.0)


def run(module: Module, _cost: object = None) -> Module:
    """Normalise all polynomials of a module."""

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.name != "vec.polynomial":
            return False
        low, high = op.attrs["polynomial"].interval
        polynomial = _on_unit(op.attrs["polynomial"])
        x = mapping[op.operands[0]]
        slots = op.result.type.slots  # type: ignore[attr-defined]

        def splat(value: float) -> Value:
            return builder.build("vec.splat", [], value=float(value), slots=slots)

        half, middle = (high - low) / 2, (high + low) / 2
        if polynomial.degree == 0:
            nothing = builder.build("vec.mul", [x, splat(0.0)])
            mapping[op.result] = builder.build("vec.add", [nothing, splat(float(polynomial(0.0)))])
            return True
        if half != 1.0:
            x = builder.build("vec.mul", [x, splat(1.0 / half)])
        if middle != 0.0:
            x = builder.build("vec.sub", [x, splat(middle / half)])
        mapping[op.result] = builder.build("vec.polynomial", [x], polynomial=polynomial)
        return True

    return rebuild(module, visit)


def _on_unit(polynomial: Approximant) -> Approximant:
    """The same of arguments mapped to [-1, 1], of the degree that it has."""
    if not isinstance(polynomial, IntervalPolynomial):
        return polynomial.over(UNIT)
    coefficients = polynomial.coefficients
    if polynomial.basis == "power":
        coefficients = to_chebyshev(polynomial).coefficients
    least = 2 if polynomial.error else 1  # a constant that stands for a function goes on being a polynomial
    while len(coefficients) > least and coefficients[-1] == 0.0:
        coefficients = coefficients[:-1]
    coefficients = (*coefficients, *[0.0] * (least - len(coefficients)))
    return IntervalPolynomial(coefficients, UNIT, error=polynomial.error, gap=polynomial.gap)


WRITTEN = ("vec.add", "vec.mul", "vec.polynomial", "vec.splat", "vec.sub")
PASS = Pass("normalize-polynomials", run, roots=("vec.polynomial",), reads=("vec", "loop"), writes=WRITTEN)
