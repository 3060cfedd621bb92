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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np

from latticework.compiler.levels.unroll import has_loops
from latticework.compiler.passes import cse, dce
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild, run_passes
from latticework.ir.dialects.vec_dialect import VecType
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
    sums = [op for op in module.body.ops if op.name == "vec.sum" and _factors(op) is not None]
    best, takes = module, seconds(module) if sums else 0.0
    chosen: set[Op] = set()
    for op in sums:
        packed = run_passes(_pack(module, chosen | {op}), _TIDY)
        if (price := seconds(packed)) < takes:
            best, takes = packed, price
            chosen.add(op)
    return best


def _pack(module: Module, chosen: set[Op]) -> Module:
    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op not in chosen:
            return False
        pairs = min(_halves(op), key=lambda pairs: _Packing(module).count(op, pairs))
        mapping[op.result] = _Packing(module, builder, mapping).write(op, pairs)
        return True

    return rebuild(module, visit)


def _halves(op: Op) -> Iterator[Pairs]:
    """The ways to pair the vectors that a sum adds up: those 2^k apart, from the largest distance on."""
    total, groups = _count(op.operands[0]), op.attrs["groups"]
    size = apart = total // groups
    while apart % 2 == 0:
        apart //= 2
        yield tuple((n, n + apart) for n in range(total) if n % size // apart % 2 == 0)


def _factors(op: Op) -> tuple[Value, Value] | None:
    """The two secret arrays whose products a sum adds up, as they are or in another order."""
    product = op.operands[0].owner
    while isinstance(product, Op) and product.name == "vec.take":
        product = product.operands[0].owner
    if not isinstance(product, Op) or product.name != "vec.mul" or product.block is not op.block:
        return None
    a, b = product.operands
    is_even = _count(op.operands[0]) // op.attrs["groups"] % 2 == 0
    are_real = all(v.is_secret and v.type.elem == "real" and _count(v) > 1 for v in (a, b))  # type: ignore[attr-defined]
    return (a, b) if is_even and are_real and a is not b else None


@dataclass
class _Packing:
    """One sum, packed.

    builder, mapping  where it is written; without them vectors are only counted
    first             the vectors that are packed as they are, by value and what the imaginary parts are times: 1 or -1
    """

    module: Module
    builder: Builder | None = None
    mapping: dict[Value, Value] = field(default_factory=dict)
    first: dict[tuple[Value, Pairs, int], Value | None] = field(default_factory=dict)

    def count(self, op: Op, pairs: Pairs) -> int:
        """The number of vectors that are packed as they are."""
        self.write(op, pairs)
        return sum(len(pairs) for _, pairs, _ in self.first)

    def write(self, op: Op, pairs: Pairs) -> Value:
        """The sum."""
        factors, value = _factors(op), op.operands[0]
        assert factors is not None
        while value.owner.name == "vec.take":  # type: ignore[union-attr]
            pairs = _before_take(value.owner, pairs)  # type: ignore[arg-type]
            value = value.owner.operands[0]  # type: ignore[union-attr]
        a, b = (self.pack(v, pairs, sign) for v, sign in zip(factors, (1, -1), strict=True))
        total = self.build("vec.mul", a, b)
        if op.attrs["groups"] < len(pairs):
            total = self.build("vec.sum", total, groups=op.attrs["groups"])
        half = self.build("vec.splat", value=0.5, slots=op.result.type.slots)  # type: ignore[attr-defined]
        return self.build("vec.mul", self.build("vec.twice_real", total), half)

    def pack(self, value: Value, pairs: Pairs, sign: int) -> Value:
        """The vectors of a value, one of each pair plus or minus i times the other."""
        distinct = tuple(dict.fromkeys(pairs))
        packed = self.pack_each(value, distinct, sign)
        if distinct == pairs:
            return packed
        place = {pair: n for n, pair in enumerate(distinct)}
        return self.build("vec.take", packed, vectors=tuple(place[pair] for pair in pairs))

    def pack_each(self, value: Value, pairs: Pairs, sign: int) -> Value:
        """Pack what a value is made from, where that is the same for both of each pair."""
        op = value.owner
        if isinstance(op, Op):
            match op.name:
                case "vec.take":
                    return self.pack(op.operands[0], _before_take(op, pairs), sign)
                case "vec.concat" if (joined := _within_parts(op, pairs)) is not None:
                    return self.pack_parts(op, joined, sign)
                case "vec.rotate" | "vec.neg":
                    return self.build(op.name, self.pack(op.operands[0], pairs, sign), **op.attrs)
                case "vec.linear_transform" if op.operands[0].is_secret:
                    if (halved := _halve(op, pairs, self.module)) is not None:
                        before, linear_map = halved
                        return self.build(op.name, self.pack(op.operands[0], before, sign), map=linear_map)
        return self.pack_first(value, pairs, sign)

    def pack_parts(self, op: Op, joined: Sequence[tuple[int, tuple[int, int]]], sign: int) -> Value:
        """An array joined of others, pairs lying within one of them."""
        parts: list[Value] = []
        place: dict[tuple[int, tuple[int, int]], int] = {}
        for number, operand in enumerate(op.operands):
            own = tuple(pair for part, pair in joined if part == number)
            place |= {(number, pair): n for n, pair in enumerate(own, len(place))}
            parts += [self.pack(operand, own, sign)] if own else []
        array = parts[0] if len(parts) == 1 else self.build("vec.concat", *parts)
        vectors = tuple(place[pair] for pair in joined)
        return array if vectors == tuple(range(len(vectors))) else self.build("vec.take", array, vectors=vectors)

    def pack_first(self, value: Value, pairs: Pairs, sign: int) -> Value:
        """Add the vectors themselves up, one times i."""
        key = value, pairs, sign
        if key not in self.first:
            real, other = (self.build("vec.take", value, vectors=vectors) for vectors in zip(*pairs, strict=True))
            name = "vec.add" if sign > 0 else "vec.sub"
            self.first[key] = self.build(name, real, self.build("vec.times_i", other))
        return self.first[key] or value

    def build(self, name: str, *operands: Value, **attrs: object) -> Value:
        """An operation on new values, or on those of the module as it was; any value where nothing is written."""
        if self.builder is None:
            return operands[0] if operands else next(iter(self.module.inputs))
        return self.builder.build(name, [self.mapping.get(v, v) for v in operands], **attrs)


def _before_take(op: Op, pairs: Pairs) -> Pairs:
    """The vectors that taken ones are."""
    taken = op.attrs["vectors"]
    return tuple((taken[p], taken[q]) for p, q in pairs)


def _within_parts(op: Op, pairs: Pairs) -> list[tuple[int, tuple[int, int]]] | None:
    """The operand of a concat in which each pair lies, and the pair in it; None if one lies in two operands."""
    places = [(part, n) for part, operand in enumerate(op.operands) for n in range(_count(operand))]
    if any(places[p][0] != places[q][0] for p, q in pairs):
        return None
    return [(places[p][0], (places[p][1], places[q][1])) for p, q in pairs]


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


def _count(value: Value) -> int:
    assert isinstance(value.type, VecType)
    return value.type.count


PASS = Pass(
    "pack-products",
    run,
    roots=("vec.sum",),
    reads=("vec", "loop"),
    writes=("vec.add", "vec.sub", "vec.times_i", "vec.twice_real", "vec.splat", "vec.take", "vec.linear_transform"),
)
