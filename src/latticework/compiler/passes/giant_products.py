"""giant-products: sums of products with rotated vectors by baby steps and giant steps.

In/out: vec IR, same cleartext meaning. A product of two secret matrices is a sum over k of a[k] rotate(b, k): b is
rotated for every product. With k = giant + baby it is a sum over giants of rotate(sum over babies of
rotate(a[k], -giant) rotate(b, baby), giant): b is rotated by babies alone, and sums, of which there are few, by giants.
A factor a[k] that a map makes is made rotated already. The sum of each giant is relinearised by itself. Done where that
takes less time.
Cost: O(ops) for each number of giants that is tried, and the diagonals of the maps that make factors.
Source: baby steps and giant steps as of a matrix and a vector (Halevi and Shoup, CRYPTO 2014), here of two secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import gcd, inf

from latticework.compiler.levels.unroll import has_loops
from latticework.compiler.passes import cse, dce
from latticework.compiler.passes.product_sums import TracedVector, count_of, factors_of, is_large, is_map, trace, turn
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild, run_passes
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import Diagonal, LinearMap

FEWEST_STEPS = 4
_TIDY = (cse.PASS, dce.PASS)

Seconds = Callable[[Module], float]


@dataclass(frozen=True)
class Giants:
    """Baby steps of a sum: which of its factors they rotate, and their width in slots."""

    side: int
    width: int


def run(module: Module, seconds: Seconds) -> Module:
    """The module with giant steps taken after products, one sum after the other, where that takes less time."""
    if has_loops(module):
        return module
    best, takes = module, 0.0
    chosen: dict[Op, Giants] = {}
    for op in module.body.ops:
        for side in range(2) if op.name == "vec.sum" else ():
            last = inf
            for width in _widths(op, side):
                takes = takes or seconds(module)
                made = run_passes(_with_giants(module, chosen | {op: (giants := Giants(side, width))}), _TIDY)
                if (price := seconds(made)) > last:
                    break  # wider ones take longer still
                last = price
                if price < takes:
                    best, takes = made, price
                    chosen[op] = giants
    return best


def _with_giants(module: Module, chosen: dict[Op, Giants]) -> Module:
    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op not in chosen:
            return False
        mapping[op.result] = _GiantSum(op, chosen[op], builder, mapping).write()
        return True

    return rebuild(module, visit)


def _widths(op: Op, side: int) -> Iterator[int]:
    """Widths that may serve one of a sum's factors: 2, 4, 8, ... of the steps between its vectors, with giants left."""
    if factors_of(op) is None:
        return
    products = _products(op)
    steps = {product[side].steps for product in products}
    vectors = {product[side][:2] for product in products}
    if len(steps) < FEWEST_STEPS or len(vectors) * 2 > len(products):
        return
    width = 2 * reduce(gcd, steps, op.result.type.slots)  # type: ignore[attr-defined]
    while width <= max(steps):
        if _in_order(products, side, width, op.attrs["groups"]) is not None:
            yield width
        width *= 2


def _products(op: Op) -> list[tuple[TracedVector, TracedVector]]:
    """The factors of every product that a sum adds up, in order."""
    factors, value = factors_of(op), op.operands[0]
    assert factors is not None
    numbers: Sequence[int] = range(count_of(value))
    while (taken := value.owner).name == "vec.take":  # type: ignore[union-attr]
        numbers = [taken.attrs["vectors"][n] for n in numbers]  # type: ignore[union-attr]
        value = taken.operands[0]  # type: ignore[union-attr]
    a, b = factors
    return [(trace(a, n), trace(b, n)) for n in numbers]


def _in_order(
    products: list[tuple[TracedVector, TracedVector]], side: int, width: int, groups: int
) -> dict[int, list[tuple[TracedVector, TracedVector]]] | None:
    """The products of every giant, group by group; None if there are not as many in each group."""
    size = len(products) // groups
    sorted_: dict[tuple[int, int], list[tuple[TracedVector, TracedVector]]] = {}
    for n, product in enumerate(products):
        giant = product[side].steps // width * width
        sorted_.setdefault((giant, n // size), []).append(product)
    giants = sorted({giant for giant, _ in sorted_})
    if len(sorted_) != len(giants) * groups or len({len(each) for each in sorted_.values()}) > 1:
        return None
    return {giant: [p for group in range(groups) for p in sorted_[giant, group]] for giant in giants}


@dataclass(frozen=True)
class _GiantSum:
    """One sum, written anew."""

    op: Op
    way: Giants
    builder: Builder
    mapping: dict[Value, Value]

    def write(self) -> Value:
        """The sum."""
        side, groups = self.way.side, self.op.attrs["groups"]
        by_giant = _in_order(_products(self.op), side, self.way.width, groups)
        assert by_giant is not None
        back = [(p, giant) for giant, products in by_giant.items() for p in products]
        slots = self.op.result.type.slots  # type: ignore[attr-defined]
        factors = [
            [each._replace(steps=(each.steps - giant) % slots) for each, giant in ((p[n], giant) for p, giant in back)]
            for n in (side, 1 - side)
        ]
        product = self.build("vec.mul", turn(self.build, factors[0]), self._other(factors[1]))
        sums = self.build("vec.sum", product, groups=len(by_giant) * groups)
        total: Value | None = None
        for n, giant in enumerate(by_giant):
            part = self.build("vec.take", sums, vectors=tuple(range(n * groups, (n + 1) * groups)))
            part = self.build("vec.rotate", part, steps=giant) if giant else part
            total = part if total is None else self.build("vec.add", total, part)
        assert total is not None
        return total

    def _other(self, wanted: list[TracedVector]) -> Value:
        """Vectors of the other factor: made rotated already, where they are all of one map."""
        array = wanted[0].array
        op = array.owner
        if any(each.array is not array for each in wanted) or not is_map(op) or is_large(op.attrs["map"]):  # type: ignore[union-attr]
            return turn(self.build, wanted)
        assert isinstance(op, Op)
        linear_map: LinearMap = op.attrs["map"]
        if count_of(op.operands[0]) != linear_map.count_in:
            return turn(self.build, wanted)
        rows: dict[int, list[Diagonal]] = {}
        for diagonal in linear_map.diagonals:
            rows.setdefault(diagonal.out, []).append(diagonal)
        places = {each: n for n, each in enumerate(dict.fromkeys(wanted))}
        explicit = [
            replace(d, steps=(d.steps + each.steps) % linear_map.slots, values=d.values.rotate_left(each.steps), out=n)
            for each, n in places.items()
            for d in rows.get(each.number, [])
        ]
        rotated = replace(
            linear_map, gather=None, factor=1.0, parts=(), explicit=tuple(explicit), count_out=len(places)
        )
        made = self.build("vec.linear_transform", op.operands[0], map=rotated)
        vectors = tuple(places[each] for each in wanted)
        return made if vectors == tuple(range(len(places))) else self.build("vec.take", made, vectors=vectors)

    def build(self, name: str, *operands: Value, **attrs: object) -> Value:
        """An operation on new values, or on those of the module as it was."""
        return self.builder.build(name, [self.mapping.get(v, v) for v in operands], **attrs)


PASS = Pass(
    "giant-products",
    run,
    roots=("vec.sum",),
    reads=("vec", "loop"),
    writes=("vec.add", "vec.sum", "vec.rotate", "vec.take", "vec.linear_transform"),
)
