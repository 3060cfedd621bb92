"""A polynomial on [-1, 1] in Chebyshev basis by Paterson-Stockmeyer, at optimal depth and with exact scales.

Every term is brought to the scale at which it is summed by the integer it is
multiplied with, so nothing is ever added at two scales. Sums are rescaled once.
Constant terms are added after the rescale, where they fit in 64 bits.
Source: Paterson-Stockmeyer in Chebyshev basis, as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from math import ceil, log2

import numpy as np

from latticework.errors import ScaleError
from latticework.expand.primitives import Primitives, cipher
from latticework.ir import Block, Builder, Module, Value
from latticework.plan.constants import Polynomial

MAX_INTEGER = 1 << 62
Coefficients = tuple[float, ...]


def expand_polynomial(p: Primitives, x: Value, polynomial: Polynomial, level: int, scale: float) -> Value:
    """Primitive operations for one polynomial; the result has exactly this level and scale."""
    assert polynomial.basis == "chebyshev"
    assert polynomial.interval == (-1.0, 1.0)
    coefficients = trimmed(polynomial.coefficients)
    if len(coefficients) == 1:
        nothing = p.mul_int(p.drop(x, level), 0, scale)
        return _Evaluation(p, x, 1).add_constant(nothing, coefficients[0])
    limit = cheapest_baby_limit(p, x, coefficients, level, scale)
    return _Evaluation(p, x, limit).settled(coefficients, level, scale)


def cheapest_baby_limit(p: Primitives, x: Value, coefficients: Coefficients, level: int, scale: float) -> int:
    """Largest Chebyshev index summed directly, chosen by counting products in a trial expansion of each."""
    limits = [1 << k for k in range(1, ceil(log2(len(coefficients) + 1)) + 1)]
    if len(limits) <= 1:
        return limits[0] if limits else 1

    def products(limit: int) -> int:
        scratch = Block()
        trial = Primitives(Builder(scratch, p.builder.loc), p.chain)
        _Evaluation(trial, scratch.add_arg(x.type, None), limit).settled(coefficients, level, scale)
        return sum(op.name in ("ckks.mul", "ckks.square") for op in Module(scratch, [], [], {}).walk())

    return min(limits, key=products)


def trimmed(coefficients: Coefficients) -> Coefficients:
    """Without zero coefficients at the top."""
    end = len(coefficients)
    while end > 1 and coefficients[end - 1] == 0.0:
        end -= 1
    return tuple(float(c) for c in coefficients[:end])


class _Evaluation:
    """One evaluation: the Chebyshev basis of x, built as it is needed, and the sums over it."""

    def __init__(self, p: Primitives, x: Value, baby_limit: int) -> None:
        self.p = p
        self.top = cipher(x).level.index
        self.baby_limit = baby_limit
        self.basis_values: dict[int, Value] = {1: x}

    def settled(self, coefficients: Coefficients, level: int, scale: float) -> Value:
        """The polynomial at a level and scale of the ladder."""
        summed, constant = self.unsettled(coefficients, level + 1, scale * self.p.group(level + 1))
        if summed is None:
            summed = self.p.mul_int(self.basis_at(1, level + 1), 0, scale * self.p.group(level + 1))
        result = self.p.mod_down(self.p.relinearize(summed), level, scale)
        return self.add_constant(result, constant)

    def unsettled(self, coefficients: Coefficients, level: int, scale: float) -> tuple[Value | None, float]:
        """(non-constant part before relinearisation and rescale, constant term)."""
        coefficients = trimmed(coefficients)
        degree = len(coefficients) - 1
        if degree == 0:
            return None, coefficients[0]
        needed = [k for k in range(1, degree + 1) if coefficients[k] != 0.0]
        if degree < self.baby_limit and all(self.level_of(k) >= level for k in needed):
            return self.direct_sum(coefficients, needed, level, scale), coefficients[0]
        if degree == 1:
            return self.direct_sum(coefficients, [1], level, scale), coefficients[0]
        giant = 1 << (degree.bit_length() - 1)
        quotient, remainder = divide(coefficients, giant)
        total, constant = self.unsettled(remainder, level, scale)
        turned = self.basis_at(giant, level)
        inner_scale = scale / cipher(turned).scale
        if len(quotient) == 1:
            product = self.p.mul_int(turned, rounded(quotient[0] * inner_scale, self.p), scale)
        else:
            inner = self.settled(quotient, level, inner_scale)
            product = self.p.builder.build("ckks.mul", [inner, turned])
        return self.p.add(total, product), constant

    def direct_sum(self, coefficients: Coefficients, needed: list[int], level: int, scale: float) -> Value | None:
        """sum_k c_k T_k at a scale, over basis values all at least at `level`."""
        total: Value | None = None
        for k in needed:
            term = self.basis_at(k, level)
            factor = rounded(coefficients[k] * scale / cipher(term).scale, self.p)
            if factor != 0:
                total = self.p.add(total, self.p.mul_int(term, factor, scale))
        return total

    def level_of(self, k: int) -> int:
        """Level of T_k."""
        return self.top - (k - 1).bit_length()

    def basis_at(self, k: int, level: int) -> Value:
        """T_k with the limbs of a level."""
        return self.p.drop(self.basis(k), level)

    def basis(self, k: int) -> Value:
        """T_k, from T_(a+b) = 2 T_a T_b - T_(a-b)."""
        found = self.basis_values.get(k)
        if found is not None:
            return found
        a = 1 << ((k - 1).bit_length() - 1)
        b = k - a
        level = min(self.level_of(a), self.level_of(b))
        left, right = self.basis_at(a, level), self.basis_at(b, level)
        builder = self.p.builder
        product = builder.build("ckks.square", [left]) if a == b else builder.build("ckks.mul", [left, right])
        product = self.p.mul_int(product, 2, cipher(product).scale)
        scale = cipher(product).scale / self.p.group(level)
        result = self.p.mod_down(self.p.relinearize(product), level - 1, scale)
        if a == b:
            result = self.add_constant(result, -1.0)
        else:
            other = self.basis_at(a - b, level)
            wide = scale * self.p.group(level)
            other = self.p.mul_int(other, rounded(wide / cipher(other).scale, self.p), wide)
            result = builder.build("rlwe.sub", [result, self.p.mod_down(other, level - 1, scale)])
        self.basis_values[k] = result
        return result

    def add_constant(self, x: Value, constant: float) -> Value:
        """x + constant, as an integer at x's scale."""
        addend = rounded(constant * cipher(x).scale, self.p)
        return x if addend == 0 else self.p.builder.build("rlwe.add_int", [x], addend=addend)


def divide(coefficients: Coefficients, giant: int) -> tuple[Coefficients, Coefficients]:
    """Chebyshev division: p = quotient * T_giant + remainder, for giant <= degree < 2 giant."""
    c = np.array(coefficients)
    quotient = np.zeros(len(c) - giant)
    remainder = c[:giant].copy()
    quotient[0] = c[giant]
    for i in range(1, len(c) - giant):
        quotient[i] = 2.0 * c[giant + i]
        remainder[giant - i] -= c[giant + i]
    return tuple(quotient.tolist()), tuple(remainder.tolist())


def rounded(value: float, p: Primitives) -> int:
    """The nearest integer, refused where the core's 64-bit scalars cannot hold it."""
    if abs(value) >= MAX_INTEGER:
        raise ScaleError(
            f"a polynomial coefficient becomes the integer {value:.3g}, more than 2^62 at this scale; "
            "rescale the function's output, or lower precision_bits",
            at=p.builder.loc,
        )
    return round(value)
