"""A polynomial on [-1, 1] in Chebyshev basis by Paterson-Stockmeyer, at optimal depth and with exact scales.

Coefficients may be complex: multiplication by i is one by a power of X and costs
nothing that counts. Every term is brought to the scale at which it is summed by the integer it is
multiplied with, so nothing is ever added at two scales. Sums are rescaled once.
Constant terms are added after the rescale, where they fit in 64 bits.
Source: Paterson-Stockmeyer in Chebyshev basis, as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log2
from typing import Any

import numpy as np

from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.errors import ScaleError
from latticework.ir import Block, Builder, Loc, Module, Value
from latticework.ir.dialects.rlwe_types import CipherType, Level
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.packed_constants import IntervalPolynomial

MAX_INTEGER = 1 << 62
MAX_KNOWN = 256  # polynomials whose trial expansions are remembered
Coefficients = Sequence[Any]  # as `Factors` takes them


class Factors:
    """The coefficients of a polynomial, here numbers. Those of a kind are added, and multiplied by 2, as NumPy does."""

    def __init__(self, p: Primitives) -> None:
        self.p = p

    def on(self, p: Primitives) -> Factors:
        """The same for code elsewhere."""
        return Factors(p)

    def is_zero(self, factor: Any) -> bool:
        """Whether terms with it are none."""
        return bool(factor == 0.0)

    def total(self, terms: Iterable[tuple[Value, Any]], scale: float) -> Value | None:
        """The sum of values, each times its factor, at a scale; None where all round to nothing."""
        real: Value | None = None
        imaginary: Value | None = None
        for term, coefficient in terms:
            factor = coefficient * (scale / cipher(term).scale)
            if round_exactly(factor.real, self.p):
                real = self.p.add(real, self.p.mul_int(term, round_exactly(factor.real, self.p), scale))
            if round_exactly(factor.imag, self.p):
                imaginary = self.p.add(imaginary, self.p.mul_int(term, round_exactly(factor.imag, self.p), scale))
        return real if imaginary is None else self.p.add(real, self.p.mul_i(imaginary))

    def times(self, x: Value, factor: Any, scale: float) -> Value:
        """x times one, at a scale."""
        integers = factor * (scale / cipher(x).scale)
        product = self.p.mul_int(x, round_exactly(integers.real, self.p), scale)
        if not round_exactly(integers.imag, self.p):
            return product
        return self.p.add(product, self.p.mul_i(self.p.mul_int(x, round_exactly(integers.imag, self.p), scale)))

    def plus(self, x: Value, addend: Any) -> Value:
        """x and one."""
        return add_constant(self.p, x, addend)


def expand_polynomial(p: Primitives, x: Value, polynomial: IntervalPolynomial, level: int, scale: float) -> Value:
    """Primitive operations for one polynomial; the result has exactly this level and scale."""
    assert polynomial.basis == "chebyshev"
    assert polynomial.interval == (-1.0, 1.0)
    return expand_chebyshev(p, x, polynomial.coefficients, level, scale)


def expand_chebyshev(
    p: Primitives, x: Value, coefficients: Coefficients, level: int, scale: float, factors: Factors | None = None
) -> Value:
    """sum_k c_k T_k(x), for x in [-1, 1], at exactly this level of x's track and this scale.

    factors  what coefficients are, if not numbers
    """
    factors = Factors(p) if factors is None else factors
    coefficients = trim(coefficients, factors)
    if len(coefficients) == 1:
        return factors.plus(p.mul_int(p.drop(x, level), 0, scale), coefficients[0])
    limit = cheapest_baby_limit(p, x, coefficients, level, scale, factors)
    return _Evaluation(p, x, limit, factors).evaluate(coefficients, level, scale)


def cheapest_baby_limit(
    p: Primitives, x: Value, coefficients: Coefficients, level: int, scale: float, factors: Factors | None = None
) -> int:
    """Largest Chebyshev index summed directly, chosen by counting products in a trial expansion of each.

    The counts depend on how many levels there are, not on which, nor on scales: what bootstraps to several targets
    evaluate is tried once.
    """
    limits = _baby_limits(coefficients)
    if len(limits) <= 1:
        return limits[0] if limits else 1
    factors = Factors(p) if factors is None else factors

    def count(limit: int) -> int:
        return _products(p, cipher(x), coefficients, level, scale, limit, factors)

    if type(factors) is not Factors:
        return min(limits, key=count)
    known = (tuple(coefficients), cipher(x).level.index - level)
    if known not in _CHEAPEST:
        if len(_CHEAPEST) >= MAX_KNOWN:
            _CHEAPEST.clear()
        _CHEAPEST[known] = min(limits, key=count)
    return _CHEAPEST[known]


_CHEAPEST: dict[tuple[tuple[Any, ...], int], int] = {}  # limit by coefficients and levels


def _baby_limits(coefficients: Coefficients) -> list[int]:
    return [1 << k for k in range(1, ceil(log2(len(coefficients) + 1)) + 1)]


def num_products(polynomial: IntervalPolynomial, chain: ModulusChain) -> int:
    """Products of two ciphertexts that a polynomial takes, squares among them, on a chain with levels enough."""
    factors = Factors(Primitives(Builder(Block(), Loc.unknown()), chain))
    coefficients = trim(polynomial.coefficients, factors)
    top, scales = chain.main.top, chain.main.scales
    kind, level = CipherType("ckks", 1, 1, Level(0, top), scales[top]), top - (len(coefficients) - 1).bit_length()
    p = factors.p
    counts = (_products(p, kind, coefficients, level, scales[level], k, factors) for k in _baby_limits(coefficients))
    return min(counts, default=0)


def _products(
    p: Primitives, kind: CipherType, coefficients: Coefficients, level: int, scale: float, limit: int, factors: Factors
) -> int:
    scratch = Block()
    trial = Primitives(Builder(scratch, p.builder.loc), p.chain)
    _Evaluation(trial, scratch.add_arg(kind, None), limit, factors.on(trial)).evaluate(coefficients, level, scale)
    return sum(op.name in ("ckks.mul", "ckks.square") for op in Module(scratch, [], [], {}).walk())


def trim(coefficients: Coefficients, factors: Factors) -> Coefficients:
    """Remove zero coefficients at the top."""
    end = len(coefficients)
    while end > 1 and factors.is_zero(coefficients[end - 1]):
        end -= 1
    return tuple(coefficients[:end])


class _Evaluation:
    """One evaluation: the Chebyshev basis of x, built as it is needed, and the sums over it."""

    def __init__(self, p: Primitives, x: Value, baby_limit: int, factors: Factors) -> None:
        self.p, self.factors = p, factors
        self.top, self.track = cipher(x).level.index, cipher(x).level.track
        self.baby_limit = baby_limit
        self.basis_values: dict[int, Value] = {1: x}
        self.lowered: dict[tuple[int, int], Value] = {}

    def evaluate(self, coefficients: Coefficients, level: int, scale: float) -> Value:
        """The polynomial at a level and scale of the ladder."""
        wide = scale * self.p.group(level + 1, self.track)
        summed, constant = self.evaluate_unsettled(coefficients, level + 1, wide)
        if summed is None:
            summed = self.p.mul_int(self.basis_at(1, level + 1), 0, wide)
        result = self.p.settle(summed, level, scale)
        return self.factors.plus(result, constant)

    def evaluate_unsettled(self, coefficients: Coefficients, level: int, scale: float) -> tuple[Value | None, Any]:
        """(non-constant part before relinearisation and rescale, constant term)."""
        coefficients = trim(coefficients, self.factors)
        degree = len(coefficients) - 1
        if degree == 0:
            return None, coefficients[0]
        needed = [k for k in range(1, degree + 1) if not self.factors.is_zero(coefficients[k])]
        if degree < self.baby_limit and all(self.level_of(k) >= level for k in needed):
            return self.direct_sum(coefficients, needed, level, scale), coefficients[0]
        if degree == 1:
            return self.direct_sum(coefficients, [1], level, scale), coefficients[0]
        giant = 1 << (degree.bit_length() - 1)
        quotient, remainder = divide(coefficients, giant)
        total, constant = self.evaluate_unsettled(remainder, level, scale)
        giant_power = self.giant_at(giant, level)
        inner_scale = scale / cipher(giant_power).scale
        if len(quotient) == 1:
            product = self.factors.times(giant_power, quotient[0], scale)
        else:
            inner = self.evaluate(quotient, level, inner_scale)
            product = self.p.builder.build("ckks.mul", [inner, giant_power])
        return self.p.add(total, product), constant

    def direct_sum(self, coefficients: Coefficients, needed: list[int], level: int, scale: float) -> Value | None:
        """sum_k c_k T_k at a scale, over basis values all at least at `level`."""
        return self.factors.total(((self.basis_at(k, level), coefficients[k]) for k in needed), scale)

    def level_of(self, k: int) -> int:
        """Level of T_k."""
        return self.top - (k - 1).bit_length()

    def basis_at(self, k: int, level: int) -> Value:
        """T_k with the limbs of a level."""
        return self.p.drop(self.basis(k), level)

    def giant_at(self, k: int, level: int) -> Value:
        """T_k at a level, at about the level's scale: what is multiplied with it must not be left at a small one."""
        power = self.basis(k)
        wanted = self.p.chain.tracks[self.track].scales[level]
        if cipher(power).level.index == level or cipher(power).scale < 2 * wanted:
            return self.p.drop(power, level)
        if (k, level) not in self.lowered:
            wide = wanted * self.p.group(level + 1, self.track)
            raised = self.p.raise_scale(self.p.drop(power, level + 1), wide)
            self.lowered[k, level] = self.p.mod_down(raised, level, wanted)
        return self.lowered[k, level]

    def basis(self, k: int) -> Value:
        """T_k, from T_(a+b) = 2 T_a T_b - T_(a-b)."""
        power = self.basis_values.get(k)
        if power is not None:
            return power
        a = 1 << ((k - 1).bit_length() - 1)
        b = k - a
        level = min(self.level_of(a), self.level_of(b))
        left, right = self.basis_at(a, level), self.basis_at(b, level)
        builder = self.p.builder
        product = builder.build("ckks.square", [left]) if a == b else builder.build("ckks.mul", [left, right])
        wide = cipher(product).scale
        product = self.p.mul_int(product, 2, wide)
        if a != b:
            other = self.basis_at(a - b, level)
            product = builder.build("rlwe.sub", [product, self.p.raise_scale(other, wide)])
        scale = wide / self.p.group(level, self.track)
        result = self.p.settle(product, level - 1, scale)
        if a == b:
            result = add_constant(self.p, result, -1.0)
        self.basis_values[k] = result
        return result


def add_constant(p: Primitives, x: Value, constant: complex) -> Value:
    """x + constant, as integers at x's scale."""
    addend = round(constant.real * cipher(x).scale)
    assert constant.imag == 0.0, constant
    while addend:
        part = max(1 - MAX_INTEGER, min(MAX_INTEGER - 1, addend))
        x = p.builder.build("rlwe.add_int", [x], addend=part)
        addend -= part
    return x


def divide(coefficients: Coefficients, giant: int) -> tuple[Coefficients, Coefficients]:
    """Chebyshev division: p = quotient * T_giant + remainder, for giant <= degree < 2 giant."""
    c = np.array(coefficients)
    quotient = np.zeros((len(c) - giant, *c.shape[1:]), dtype=c.dtype)
    remainder = c[:giant].copy()
    quotient[0] = c[giant]
    for i in range(1, len(c) - giant):
        quotient[i] = 2.0 * c[giant + i]
        remainder[giant - i] -= c[giant + i]
    return tuple(quotient), tuple(remainder)


def round_exactly(value: float, p: Primitives) -> int:
    """The nearest integer, refused where the core's 64-bit scalars cannot hold it."""
    if abs(value) >= MAX_INTEGER:
        raise ScaleError(
            f"a polynomial coefficient becomes the integer {value:.3g}, more than 2^62 at this scale; "
            "rescale the function's output, or lower precision_bits",
            at=p.builder.loc,
        )
    return round(value)
