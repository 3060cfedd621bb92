"""pack-products: sums of products of secret vectors by half as many, the other half in the imaginary parts of slots.

In/out: vec IR, same cleartext meaning. Of a sum over an even number of products, (a + i c)(b - i d) = (a b + c d) +
i (c b - a d) holds two as its real part, so half of the products are left. Factors are packed as far back as what makes
them does the same to both halves: rotations, whole vectors taken or joined, and linear maps of two equal blocks, of
which one is left. So conversions of matrices take half their rotations too, as those of the Rotom paper's Table 3 do
(1148 without, 574 with). What is left is one conjugation for each sum, and a factor of 1/2 for a map, or the scale of
an output, to take in. It is done where it takes less time than products by themselves.
Cost: O(ops) for each way to halve a sum, and the diagonals of the maps on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

import numpy as np

from latticework.compiler.levels.unroll import has_loops
from latticework.compiler.passes import cse, dce
from latticework.compiler.passes.product_sums import (
    TracedVector,
    count_of,
    factors_of,
    is_large,
    is_map,
    take,
    trace,
    turn,
)
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild, run_passes
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import Diagonal, LinearMap

MOST_COMPARED = 1 << 24  # numbers of the two blocks of a map
_TIDY = (cse.PASS, dce.PASS)

Pairs = tuple[tuple[int, int], ...]  # vectors that become the real and the imaginary part of one
Seconds = Callable[[Module], float]


def run(module: Module, seconds: Seconds) -> Module:
    """The module with sums of products packed, one after the other, where that takes less time."""
    if has_loops(module):
        return module
    sums = [op for op in module.body.ops if op.name == "vec.sum" and _is_packable(op)]
    best, takes = module, seconds(module) if sums else 0.0
    chosen: dict[Op, bool] = {}
    for op in sums:
        ways = {joined: run_passes(_pack(module, chosen | {op: joined}), _TIDY) for joined in (False, True)}
        prices = {joined: seconds(packed) for joined, packed in ways.items()}
        cheapest = min(prices, key=lambda joined: prices[joined])
        if prices[cheapest] < takes:
            best, takes = ways[cheapest], prices[cheapest]
            chosen[op] = cheapest
    return best


def _pack(module: Module, chosen: Mapping[Op, bool]) -> Module:
    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op not in chosen:
            return False
        joined = chosen[op]
        pairs = min(_halves(op), key=lambda pairs: _Packing(module, joined).count(op, pairs))
        mapping[op.result] = _Packing(module, joined, builder, mapping).write(op, pairs)
        return True

    return rebuild(module, visit)


def _halves(op: Op) -> Iterator[Pairs]:
    """The ways to pair the vectors that a sum adds up: those 2^k apart, from the largest distance on."""
    total, groups = count_of(op.operands[0]), op.attrs["groups"]
    size = apart = total // groups
    while apart % 2 == 0:
        apart //= 2
        yield tuple((n, n + apart) for n in range(total) if n % size // apart % 2 == 0)


def _is_packable(op: Op) -> bool:
    """Whether a sum adds up an even number of products of two secret arrays of real numbers."""
    factors = factors_of(op)
    if factors is None or count_of(op.operands[0]) // op.attrs["groups"] % 2:
        return False
    return all(v.type.elem == "real" for v in factors)  # type: ignore[attr-defined]


@dataclass
class _Packing:
    """One sum, packed.

    joined            whether a map makes packed vectors by itself, of complex diagonals
    builder, mapping  where it is written; without them vectors are only counted
    first             the vectors that are packed as they are, by what they are made of
    whole             maps whose vectors are packed as they are
    made              the number of vectors that are rotated, added up or mapped for it
    """

    module: Module
    joined: bool
    builder: Builder | None = None
    mapping: dict[Value, Value] = field(default_factory=dict)
    first: dict[_AtRest, Value] = field(default_factory=dict)
    whole: set[Value] = field(default_factory=set)
    made: int = 0

    def count(self, op: Op, pairs: Pairs) -> int:
        """The number of vectors that are made for factors."""
        self.write(op, pairs)
        return self.made

    def write(self, op: Op, pairs: Pairs) -> Value:
        """The sum."""
        factors, value = factors_of(op), op.operands[0]
        assert factors is not None
        while value.owner.name == "vec.take":  # type: ignore[union-attr]
            taken = value.owner.attrs["vectors"]  # type: ignore[union-attr]
            pairs = tuple((taken[p], taken[q]) for p, q in pairs)
            value = value.owner.operands[0]  # type: ignore[union-attr]
        a, b = (self.pack(v, pairs, sign) for v, sign in zip(factors, (1, -1), strict=True))
        total = self.build("vec.mul", a, b)
        if op.attrs["groups"] < len(pairs):
            total = self.build("vec.sum", total, groups=op.attrs["groups"])
        half = self.build("vec.splat", value=0.5, slots=op.result.type.slots)  # type: ignore[attr-defined]
        return self.build("vec.mul", self.build("vec.twice_real", total), half)

    def pack(self, value: Value, pairs: Pairs, sign: int) -> Value:
        """The vectors of a value, one of each pair plus or minus i times the other.

        Where both are vectors of one array, rotated, those at rest are packed, and rotated once for both.
        """
        slots = value.type.slots  # type: ignore[attr-defined]
        traced = [(trace(value, p), trace(value, q)) for p, q in pairs]
        alike = all(p.array is q.array for p, q in traced)
        rests = [(p.array, (q.steps - p.steps) % slots) if alike else (value, 0) for p, q in traced]
        found = [(p.number, q.number) for p, q in traced] if alike else list(pairs)
        steps = [p.steps if alike else 0 for p, _ in traced]
        at_rest: dict[tuple[Value, int], dict[tuple[int, int], int]] = {}
        for rest, pair in zip(rests, found, strict=True):
            numbers = at_rest.setdefault(rest, {})
            numbers.setdefault(pair, len(numbers))
        packed = {rest: self.pack_at_rest(_AtRest(rest[0], tuple(at_rest[rest]), rest[1], sign)) for rest in at_rest}
        self.made += sum(moved > 0 for *_, moved in set(zip(rests, found, steps, strict=True)))
        if self.builder is None:
            return value
        return turn(
            self.build,
            [
                TracedVector(packed[rest], at_rest[rest][pair], moved)
                for rest, pair, moved in zip(rests, found, steps, strict=True)
            ],
        )

    def pack_at_rest(self, rest: _AtRest) -> Value:
        """Pack what an array is made from, where that is the same for both of each pair; else its vectors."""
        op = rest.array.owner
        if isinstance(op, Op) and op.name == "vec.neg" and not rest.apart:
            return self.build(op.name, self.pack(op.operands[0], rest.pairs, rest.sign))
        if isinstance(op, Op) and is_map(op):
            halved = None if rest.apart else _halve(op, rest.pairs, self.module)
            if halved is not None:
                before, linear_map = halved
                self.made += len(rest.pairs)
                return self.build(op.name, self.pack(op.operands[0], before, rest.sign), map=linear_map)
            if self.joined and (made := _join(op, rest)) is not None:
                self.made += len(rest.pairs)
                return self.build(op.name, op.operands[0], map=made)
        return self.pack_first(rest)

    def pack_first(self, rest: _AtRest) -> Value:
        """Add the vectors themselves up, one times i."""
        if rest not in self.first:
            if rest.array not in self.whole:
                self.whole.add(rest.array)
                self.made += count_of(rest.array) * is_map(rest.array.owner)
            self.made += len(rest.pairs) * (2 if rest.apart else 1)
            real, other = (take(self.build, rest.array, vectors) for vectors in zip(*rest.pairs, strict=True))
            if rest.apart:
                other = self.build("vec.rotate", other, steps=rest.apart)
            name = "vec.add" if rest.sign > 0 else "vec.sub"
            self.first[rest] = self.build(name, real, self.build("vec.times_i", other))
        return self.first[rest]

    def build(self, name: str, *operands: Value, **attrs: object) -> Value:
        """An operation on new values, or on those of the module as it was; any value where nothing is written."""
        if self.builder is None:
            return operands[0] if operands else next(iter(self.module.inputs))
        return self.builder.build(name, [self.mapping.get(v, v) for v in operands], **attrs)


@dataclass(frozen=True)
class _AtRest:
    """Vectors of an array to be packed: of each pair the first, plus or minus i times the second rotated by `apart`."""

    array: Value
    pairs: Pairs
    apart: int
    sign: int


def _join(op: Op, rest: _AtRest) -> LinearMap | None:
    """The map that makes packed vectors at once; None where it is not of real vectors, or has too many diagonals."""
    linear_map: LinearMap = op.attrs["map"]
    is_real = linear_map.is_real and op.operands[0].type.elem == "real"  # type: ignore[attr-defined]
    if not is_real or count_of(op.operands[0]) != linear_map.count_in or is_large(linear_map):
        return None
    rows: dict[int, list[Diagonal]] = {}
    for diagonal in linear_map.diagonals:
        rows.setdefault(diagonal.out, []).append(diagonal)
    explicit: list[Diagonal] = []
    for out, (p, q) in enumerate(rest.pairs):
        made = {(d.in_, d.steps % linear_map.slots, d.conj): d.values for d in rows.get(p, [])}
        for d in rows.get(q, []):
            key = d.in_, (d.steps + rest.apart) % linear_map.slots, d.conj
            values = d.values.rotate_left(rest.apart).times(complex(0.0, rest.sign))
            if key in made and made[key].plus is not None:
                return None
            made[key] = replace(made[key], plus=values) if key in made else values
        explicit += [Diagonal(steps, values, conj, out, in_) for (in_, steps, conj), values in made.items()]
    return LinearMap(
        linear_map.slots, explicit=tuple(explicit), count_in=linear_map.count_in, count_out=len(rest.pairs)
    )


def _halve(op: Op, pairs: Pairs, module: Module) -> tuple[Pairs, LinearMap] | None:
    """The one of two equal blocks of a map that makes the first of every pair, and the pairs that it reads.

    None if what makes the second of a pair is not the same of other vectors.
    """
    linear_map: LinearMap = op.attrs["map"]
    if any(diagonal.conj for diagonal in linear_map.diagonals):  # it would turn imaginary parts round
        return None
    if (linear_map.count_in, linear_map.count_out) == (1, 1):
        return pairs, linear_map
    rows: dict[int, list[Diagonal]] = {}
    for diagonal in linear_map.diagonals:
        rows.setdefault(diagonal.out, []).append(diagonal)
    if 2 * len(linear_map.diagonals) * linear_map.slots > MOST_COMPARED:
        return None
    read: dict[tuple[int, int], int] = {}
    explicit: list[Diagonal] = []
    for out, (p, q) in enumerate(pairs):
        matched = _match(rows.get(p, []), rows.get(q, []), module)
        if matched is None:
            return None
        for diagonal, other in matched:
            place = read.setdefault((diagonal.in_, other), len(read))
            explicit.append(Diagonal(diagonal.steps, diagonal.values, diagonal.conj, out, place))
    if not read or len({p for p, _ in read}) < len(read):
        return None
    halved = LinearMap(linear_map.slots, explicit=tuple(explicit), count_in=len(read), count_out=len(pairs))
    return tuple(read), halved


def _match(row: list[Diagonal], other: list[Diagonal], module: Module) -> list[tuple[Diagonal, int]] | None:
    """The diagonals of a vector, each with the input that another vector reads by the same one; None if it has none."""
    left = sorted(other, key=lambda d: (d.steps, d.in_))
    mine = sorted(row, key=lambda d: (d.steps, d.in_))
    if len(left) != len(mine):
        return None
    for a, b in zip(mine, left, strict=True):
        if (a.steps, a.conj) != (b.steps, b.conj):
            return None
        if not np.array_equal(a.values.evaluate(module.sources), b.values.evaluate(module.sources)):
            return None
    return [(a, b.in_) for a, b in zip(mine, left, strict=True)]


PASS = Pass(
    "pack-products",
    run,
    roots=("vec.sum",),
    reads=("vec", "loop"),
    writes=(
        "vec.add",
        "vec.sub",
        "vec.times_i",
        "vec.twice_real",
        "vec.splat",
        "vec.take",
        "vec.rotate",
        "vec.linear_transform",
    ),
)
