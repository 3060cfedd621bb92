"""Bootstraps of vectors as bootstraps of ciphertexts: what stands for `vec.bootstrap`, and how many that is.

A complex bootstrap holds two real vectors, one in the imaginary parts: the two operands, or halves of an array. The
last vector of an odd array is alone. Values up to 2^k are read as so many times smaller, by a scale that is so many
times larger, and as they were afterwards; nothing is computed for that, but the matrices that come first lack k bits,
each a share of them. Of two vectors the smaller is multiplied by a power of two first, so that both fill the interval,
and the larger afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from latticework.ir import Builder, Module, Op, Value
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.ir.dialects.vec_dialect import VecType
from latticework.plan.parameters import ModulusChain


class CipherBootstraps(NamedTuple):
    """Ciphertexts that are bootstrapped as one array, `number` of them; real: without their imaginary parts."""

    number: int
    real: bool


def ciphertexts(op: Op) -> tuple[CipherBootstraps, ...]:
    """The groups of ciphertexts that a `vec.bootstrap` refreshes."""
    kind = op.operands[0].type
    assert isinstance(kind, VecType)
    if len(op.operands) == 2 or kind.elem == "complex":
        return (CipherBootstraps(kind.count, real=False),)
    pairs, alone = divmod(kind.count, 2)
    groups = CipherBootstraps(pairs, real=False), CipherBootstraps(alone, real=True)
    return tuple(group for group in groups if group.number)


def count_bootstraps(module: Module) -> int:
    """Ciphertexts that are bootstrapped in a `vec` module without loops; a complex one counts once."""
    return sum(group.number for op in module.walk() if op.name == "vec.bootstrap" for group in ciphertexts(op))


def write_bootstrap(builder: Builder, chain: ModulusChain, op: Op, operands: Sequence[Value]) -> list[Value]:
    """The operations on ciphertexts at the floor of a chain."""
    writer = _PairWriter(builder, chain, op)
    kind = op.operands[0].type
    assert isinstance(kind, VecType)
    if len(operands) == 2:
        return list(writer.pair(operands[0], operands[1]))
    x = operands[0]
    if kind.elem == "complex" or kind.count == 1:
        return [writer.alone(x, real=kind.elem == "real")]
    half = kind.count // 2
    parts = list(writer.pair(writer.take(x, range(half)), writer.take(x, range(half, 2 * half))))
    if kind.count % 2:
        parts.append(writer.alone(writer.take(x, (2 * half,)), real=True))
    return [builder.build("rlwe.concat", parts)]


def times_i_power(builder: Builder, chain: ModulusChain, x: Value, power: int) -> Value:
    """Write a product with a power of i, which is one of X."""
    degree = chain.ring_degree
    return builder.build("rlwe.mul_monomial", [x], exponent=power * (degree // 2), ring_degree=degree)


class _PairWriter:
    """Writes at a builder's insertion point, to the target and for the exponent of an operation."""

    def __init__(self, builder: Builder, chain: ModulusChain, op: Op) -> None:
        self.builder, self.chain = builder, chain
        self.level = Level(0, chain.floor + op.attrs["target"])
        self.scale = chain.main.scales[self.level.index]
        self.larger = 2.0 ** op.attrs["exponent"]
        self.apart = 2 ** (op.attrs["exponent"] - op.attrs.get("second_exponent", op.attrs["exponent"]))
        self.iterations = op.attrs["iterations"]
        self.why = {key: op.attrs[key] for key in ("why",) if key in op.attrs}

    def alone(self, x: Value, *, real: bool) -> Value:
        """Bootstrap every vector by itself."""
        return self.relabel(self.bootstrap(x, self.scale * self.larger, real=real), self.scale)

    def pair(self, x: Value, y: Value) -> Iterator[Value]:
        """Two real arrays as one complex one: twice the real and twice the imaginary parts of the result."""
        both = self.builder.build(
            "rlwe.add", [x, times_i_power(self.builder, self.chain, self.times(y, self.apart), 1)]
        )
        refreshed = self.bootstrap(both, self.scale * self.larger / self.apart / 2, real=False)
        other = self.builder.build("rlwe.conjugate", [refreshed])
        yield self.times(self.relabel(self.builder.build("rlwe.add", [refreshed, other]), self.scale), self.apart)
        difference = self.builder.build("rlwe.sub", [refreshed, other])
        yield self.relabel(times_i_power(self.builder, self.chain, difference, 3), self.scale)

    def bootstrap(self, x: Value, scale: float, *, real: bool) -> Value:
        """The bootstrap of x over 2^exponent, at a scale."""
        kind = x.type
        assert isinstance(kind, CipherType)
        small = self.relabel(x, kind.scale * self.larger)
        return self.builder.build(
            "ckks.bootstrap", [small], level=self.level, scale=scale, real=real, iterations=self.iterations, **self.why
        )

    def relabel(self, x: Value, scale: float) -> Value:
        """The same integers at another scale."""
        assert isinstance(x.type, CipherType)
        return x if x.type.scale == scale else self.builder.build("rlwe.relabel", [x], scale=scale)

    def times(self, x: Value, factor: int) -> Value:
        """An integer times the integers, at the same scale."""
        kind = x.type
        assert isinstance(kind, CipherType)
        if factor == 1:
            return x
        return self.builder.build("rlwe.mul_int", [x], factor=factor, scale=kind.scale, exact=True)

    def take(self, x: Value, vectors: Sequence[int]) -> Value:
        """Some of the vectors."""
        return self.builder.build("rlwe.take", [x], vectors=tuple(vectors))
