"""split-products: sums of many products are computed part by part, so that the factors are never all in memory.

In/out: vec IR, same cleartext meaning. A map makes a factor of every product of a sum: for the heads of an attention
768 vectors of 24, many times what goes in and what comes out. Where sums read vectors that the map makes of different
inputs, it is taken apart by these: each part makes its vectors, which are multiplied and added up before the next part
begins. Every diagonal, product and sum is there once, as before; inputs are decomposed once, since no two parts read
the same one. Done to maps that make many vectors.
Cost: O(ops + diagonals of these maps).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from latticework.compiler.passes import cse, dce
from latticework.compiler.passes.product_sums import count_of, factors_of, is_large, is_map, take
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild, run_passes
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import Diagonal, LinearMap

LARGE, PART = 256, 64  # vectors that a map makes: it is taken apart from so many on, into parts of no fewer
_TIDY = (cse.PASS, dce.PASS)


def splitting(large: int = LARGE, part: int = PART) -> Pass[object]:
    """The pass for maps that make so many vectors, into parts that make no fewer than `part`."""

    def run(module: Module, _cost: object) -> Module:
        return split(module, large, part)

    return Pass(
        "split-products", run, roots=("vec.sum",), reads=("vec", "loop"),
        writes=("vec.sum", "vec.take", "vec.concat", "vec.linear_transform"),
    )  # fmt: skip


def split(module: Module, large: int, part: int) -> Module:
    """The module with the largest sums of products in parts."""
    sums = (op for op in module.walk() if op.name == "vec.sum")
    found = {op: parts for op in sums if (parts := _Parts.of(op, large, part)) is not None}
    if not found:
        return module

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op not in found:
            return False
        mapping[op.result] = found[op].write(builder, mapping)
        return True

    return run_passes(rebuild(module, visit), _TIDY)


@dataclass(frozen=True)
class _Parts:
    """A sum whose left or right factors a map makes.

    made     the map;  other  the other factors
    vectors  for each product of the sum, in order, the vector that the map makes and that of the other factor
    parts    sums, by number, and the inputs of the map that these read
    """

    op: Op
    made: Op
    other: Value
    vectors: list[tuple[int, int]]
    parts: list[tuple[list[int], list[int]]]

    @classmethod
    def of(cls, op: Op, large: int, part: int) -> _Parts | None:
        """Return the parts; None where there is nothing to take apart."""
        factors = factors_of(op)
        if factors is None or op.block is None:
            return None
        for side in range(2):
            made, numbers = _origin(factors[side], range(count_of(factors[side])))
            if not _is_divisible(made, large):
                continue
            assert isinstance(made, Op)
            vectors = [(numbers[n], n) for n in _numbers(op)]
            parts = list(_parts(op, made.attrs["map"], [vector for vector, _ in vectors], part))
            if len(parts) > 1:
                return cls(op, made, factors[1 - side], vectors, parts)
        return None

    def write(self, builder: Builder, mapping: dict[Value, Value]) -> Value:
        """The sums, part by part."""

        def build(name: str, *operands: Value, **attrs: object) -> Value:
            builder.loc = self.made.loc if name == "vec.linear_transform" else self.op.loc
            return builder.build(name, list(operands), **attrs)

        source, other = mapping[self.made.operands[0]], mapping[self.other]
        size = len(self.vectors) // self.op.attrs["groups"]
        written: list[Value] = []
        for sums, inputs in self.parts:
            held = [self.vectors[n] for each in sums for n in range(each * size, (each + 1) * size)]
            outputs = list(dict.fromkeys(vector for vector, _ in held))
            restricted = _restrict(self.made.attrs["map"], outputs, inputs)
            made = build("vec.linear_transform", take(build, source, inputs), map=restricted)
            made = take(build, made, [outputs.index(vector) for vector, _ in held])
            product = build("vec.mul", made, take(build, other, [n for _, n in held]))
            written.append(build("vec.sum", product, groups=len(sums)))
        order = [each for sums, _ in self.parts for each in sums]
        return take(build, build("vec.concat", *written), [order.index(n) for n in range(len(order))])


def _origin(value: Value, numbers: Sequence[int]) -> tuple[object, list[int]]:
    """Return what makes an array that nothing else reads, and which of its vectors these are."""
    while len(value.uses) == 1 and isinstance(op := value.owner, Op) and op.name == "vec.take":
        numbers = [op.attrs["vectors"][n] for n in numbers]
        value = op.operands[0]
    return value.owner if len(value.uses) == 1 else None, list(numbers)


def _is_divisible(made: object, large: int) -> bool:
    if not is_map(made):
        return False
    assert isinstance(made, Op)
    linear_map: LinearMap = made.attrs["map"]
    return (
        linear_map.count_out >= large
        and count_of(made.operands[0]) == linear_map.count_in
        and (not linear_map.all_parts or not is_large(linear_map))
    )


def _numbers(op: Op) -> list[int]:
    """Return the number of the product that each term of a sum is, in order."""
    value, numbers = op.operands[0], list(range(count_of(op.operands[0])))
    while isinstance(taken := value.owner, Op) and taken.name == "vec.take":
        numbers = [taken.attrs["vectors"][n] for n in numbers]
        value = taken.operands[0]
    return numbers


def _parts(op: Op, linear_map: LinearMap, made: Sequence[int], part: int) -> Iterator[tuple[list[int], list[int]]]:
    """Sums that share no input of the map with others, and these inputs; small ones together."""
    read: dict[int, set[int]] = {}
    for diagonal in linear_map.diagonals:
        read.setdefault(diagonal.out, set()).add(diagonal.in_)
    size = len(made) // op.attrs["groups"]
    apart: list[tuple[list[int], set[int]]] = []
    for each in range(op.attrs["groups"]):
        sums, inputs = [each], set[int]().union(*(read.get(v, ()) for v in made[each * size : (each + 1) * size]))
        if not inputs:
            return  # nothing but zeros: not worth a case of its own
        for other in [other for other in apart if other[1] & inputs]:
            apart.remove(other)
            sums, inputs = other[0] + sums, other[1] | inputs
        apart.append((sums, inputs))
    together: tuple[list[int], set[int]] = ([], set())
    for sums, inputs in sorted(apart, key=lambda sums_and_inputs: min(sums_and_inputs[0])):
        together = together[0] + sums, together[1] | inputs
        if len(together[0]) * size >= part:
            yield sorted(together[0]), sorted(together[1])
            together = ([], set())
    if together[0]:
        yield sorted(together[0]), sorted(together[1])


def _restrict(linear_map: LinearMap, outputs: Sequence[int], inputs: Sequence[int]) -> LinearMap:
    """The part of a map that makes these outputs, of these inputs alone."""
    to, of = ({number: place for place, number in enumerate(numbers)} for numbers in (outputs, inputs))
    explicit: list[Diagonal] = [replace(d, out=to[d.out], in_=of[d.in_]) for d in linear_map.diagonals if d.out in to]
    return LinearMap(linear_map.slots, explicit=tuple(explicit), count_in=len(inputs), count_out=len(outputs))


PASS = splitting()
