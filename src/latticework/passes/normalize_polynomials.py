"""normalize-polynomials: every polynomial in Chebyshev basis on [-1, 1], its argument scaled to fit.

In/out: vec IR, same cleartext meaning. The scaling becomes a product with a
splat and a sum, which fold-splats then moves into a preceding linear map, where
it costs no level. Cost: O(ops).
"""

from __future__ import annotations

from latticework.approx.chebyshev import to_chebyshev
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild
from latticework.packing.constants import IntervalPolynomial

UNIT = (-1.0, 1.0)


def run(module: Module, _cost: object = None) -> Module:
    """Normalise all polynomials of a module."""

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.name != "vec.polynomial":
            return False
        polynomial: IntervalPolynomial = op.attrs["polynomial"]
        low, high = polynomial.interval
        coefficients = polynomial.coefficients
        if polynomial.basis == "power":
            coefficients = to_chebyshev(polynomial).coefficients
        least = 2 if polynomial.error else 1  # a constant that stands for a function goes on being a polynomial
        while len(coefficients) > least and coefficients[-1] == 0.0:
            coefficients = coefficients[:-1]
        x = mapping[op.operands[0]]
        slots = op.result.type.slots  # type: ignore[attr-defined]

        def splat(value: float) -> Value:
            return builder.build("vec.splat", [], value=float(value), slots=slots)

        half, middle = (high - low) / 2, (high + low) / 2
        if len(coefficients) == 1:
            nothing = builder.build("vec.mul", [x, splat(0.0)])
            mapping[op.result] = builder.build("vec.add", [nothing, splat(coefficients[0])])
            return True
        if half != 1.0:
            x = builder.build("vec.mul", [x, splat(1.0 / half)])
        if middle != 0.0:
            x = builder.build("vec.sub", [x, splat(middle / half)])
        made = IntervalPolynomial(tuple(coefficients), UNIT, error=polynomial.error)
        mapping[op.result] = builder.build("vec.polynomial", [x], polynomial=made)
        return True

    return rebuild(module, visit) if any(op.name == "vec.polynomial" for op in module.walk()) else module


WRITTEN = ("vec.add", "vec.mul", "vec.polynomial", "vec.splat", "vec.sub")
PASS = Pass("normalize-polynomials", run, reads=("vec", "loop"), writes=WRITTEN)
