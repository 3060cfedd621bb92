"""Prices of layouts: every candidate is lowered to vector operations, and those are priced by the cost table.

Levels do not exist yet when layouts are chosen, so the limbs of a value follow from an estimate of the program's
depth and from how many levels its operands have spent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import ceil
from typing import Any, Protocol

from latticework.compiler.layout_choice.conversions import Conversions
from latticework.compiler.layout_choice.map_prices import cheapest
from latticework.compiler.levels.depth import spent_by
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.ir import INDEX, Block, Builder, Module, Op, Value, kind_key
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.plan.cost import CostModel
from latticework.plan.cost import Shape as WorkShape
from latticework.plan.cost.networks import LAN_BITS_A_SECOND
from latticework.tensor.layout.assign import OperationLayouts
from latticework.tensor.layout.conversions import Conversion
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.search import Price
from latticework.tensor.ops import BY_NAME
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.lowering import Operand, Target
from latticework.values.packing.loop_nests.baby_giant import ROTOM, BlockMapPrices
from latticework.values.packing.packed_constants import LinearMap, NumberMatrix, number_matrix
from latticework.values.sums import add_up

BITS_A_LIMB = 45
SPECIAL_SHARE = 3  # special primes are about one in so many of the others
LAN_PRICE = 0.0096  # of a ciphertext, in Rotom's units


class VectorCosts(Protocol):
    """Prices of vector operations on values that have spent so many levels."""

    def linear(self, linear_map: LinearMap, spent: int, real: bool) -> float:
        """A linear transform."""

    def rotations(self, count: int, spent: int) -> float:
        """Price of `count` rotations of one vector."""

    def product(self, spent: int) -> float:
        """A product of two ciphertexts, not yet relinearised."""

    def relinearization(self, spent: int) -> float:
        """The relinearisation of one product, or sum of products."""

    def plain_product(self, spent: int) -> float:
        """A product with a public vector."""

    def addition(self, spent: int) -> float:
        """A sum."""

    def sending(self, count: int) -> float:
        """Price of sending `count` ciphertexts."""


@dataclass
class Seconds:
    """Prices in seconds, by a cost table, for programs of about this depth."""

    model: CostModel
    ring_degree: int
    depth: int
    techniques: Techniques = ALL
    bits_a_second: float = LAN_BITS_A_SECOND
    _linear: dict[object, float] = field(default_factory=dict)
    _parts: dict[int, BlockMapPrices] = field(default_factory=dict)
    _prices: dict[object, float] = field(default_factory=dict)

    def shape(self, spent: int, p: bool = True, polys: int = 2, dropped: int = 0) -> WorkShape:
        """The shape of an operation."""
        q = max(self.depth + 2 - spent, 2)
        special = ceil((self.depth + 2) / SPECIAL_SHARE)
        digits = tuple(min(special, q - start) for start in range(0, q, special))
        return WorkShape(
            self.ring_degree, q, special if p else 0, digits if p else (), q - dropped if dropped else None, polys
        )

    def _price(self, op: str, spent: int, **options: Any) -> float:
        spent = min(spent, self.depth)  # nothing is smaller than a shape at the end
        key = (op, spent, *options.items())
        if key not in self._prices:
            self._prices[key] = self.model.seconds(op, self.shape(spent, **options))
        return self._prices[key]

    def parts(self, spent: int) -> BlockMapPrices:
        """Return the prices of the parts of a block map."""
        if spent not in self._parts:
            over_p = self.shape(spent)
            rows = over_p.rows
            mac = self.model.unit_seconds("plain_mac", self.ring_degree)
            hoist, product = self._price("hoist", spent), self._price("key_product", spent)
            down = self.model.seconds("mod_down", self.shape(spent, polys=1, dropped=0))
            self._parts[spent] = BlockMapPrices(
                hoist=hoist,
                baby=product,
                giant=down + hoist + product,
                rotation=self._price("rotate", spent),
                conjugation=self._price("rotate", spent + 1),
                product=2 * rows * mac,
                addition=2 * rows * self.model.unit_seconds("pointwise", self.ring_degree) / 3,
                finish=self.model.seconds("mod_down", self.shape(spent, dropped=1)),
            )
            if not self.techniques.hoisting:
                self._parts[spent] = self._parts[spent].without_hoisting()
        return self._parts[spent]

    def linear(self, linear_map: LinearMap, spent: int, real: bool) -> float:
        """The price of the cheapest strategy for a map."""
        key = (linear_map, spent, real)
        if key not in self._linear:
            matrix = number_matrix(linear_map) if self.techniques.matrix_products else None
            self._linear[key] = (
                cheapest(linear_map, self.parts(spent), real, self.techniques)
                if matrix is None
                else self._matrix_product(matrix, spent)
            )
        return self._linear[key]

    def _matrix_product(self, matrix: NumberMatrix, spent: int) -> float:
        """Every product with a number, which is rounded to few bits, as residues of small primes are, and a rescale of
        every sum."""
        products = matrix.products * self._price("public_matmul", spent, p=False)
        return products + matrix.shape[0] * self._price("mod_down", spent, p=False, dropped=1)

    def rotations(self, count: int, spent: int) -> float:
        """The decomposition is shared."""
        parts = self.parts(spent)
        shared = parts.hoist if self.techniques.hoisting and count > 1 else 0.0
        return shared + count * (parts.rotation - shared)

    def product(self, spent: int) -> float:
        """Four products of rows."""
        return self._price("mul", spent, p=False)

    def relinearization(self, spent: int) -> float:
        """Relinearised and rescaled."""
        return self._price("relinearize", spent, polys=3, dropped=1)

    def plain_product(self, spent: int) -> float:
        """Product and rescale."""
        return self._price("mul_plain", spent, p=False) + self._price("mod_down", spent, p=False, dropped=1)

    def addition(self, spent: int) -> float:
        """Price of an addition over Q."""
        return self._price("add", spent, p=False)

    def sending(self, count: int) -> float:
        """One polynomial of a fresh ciphertext; the other is a seed."""
        return count * self.ring_degree * (self.depth + 2) * BITS_A_LIMB / self.bits_a_second


@dataclass
class Counted:
    """Rotom's prices: by kind of operation alone, nothing hoisted, 1 for a unit of its network model."""

    techniques: Techniques = ALL
    sent_price: float = LAN_PRICE

    def linear(self, linear_map: LinearMap, spent: int, real: bool) -> float:
        """Rotations and products of the square-root split."""
        return cheapest(linear_map, ROTOM, real, self.techniques)

    def rotations(self, count: int, spent: int) -> float:
        """4 each."""
        return ROTOM.rotation * count

    def product(self, spent: int) -> float:
        """10."""
        return ROTOM.product

    def relinearization(self, spent: int) -> float:
        """Zero: relinearizations are not counted."""
        return 0.0

    def plain_product(self, spent: int) -> float:
        """10."""
        return ROTOM.product

    def addition(self, spent: int) -> float:
        """0.5."""
        return ROTOM.addition

    def sending(self, count: int) -> float:
        """A unit for each ciphertext."""
        return self.sent_price * count


@dataclass
class LoweringPrices:
    """Prices of placements, by lowering them. Implements `layout.search.Prices`."""

    module: Module
    costs: VectorCosts
    techniques: Techniques = ALL
    _operations: dict[object, tuple[Block, dict[int, Price]]] = field(default_factory=dict)
    _kinds: dict[Op, int] = field(default_factory=dict)  # numbers of kinds, by which prices are looked up
    _kind_numbers: dict[object, int] = field(default_factory=dict)
    _numbers: dict[str, complex | str] = field(default_factory=dict)
    _conversions: Conversions = field(init=False)

    def __post_init__(self) -> None:
        self._conversions = Conversions(self._price_block, self.techniques.spread_sums, self.techniques.rolls)

    def operation(self, op: Op, placement: OperationLayouts, layouts: Sequence[Layout | None], spent: int) -> Price:
        """One operation, its operands already where the placement wants them."""
        block, known = self._entry(op, placement, layouts)
        if spent not in known:
            known[spent] = self._price_block(block, spent)
        return known[spent]

    def code_of(self, op: Op, placement: OperationLayouts, layouts: Sequence[Layout | None]) -> Block:
        """The code of an operation; that of one of the same kind, if one was priced."""
        return self._entry(op, placement, layouts)[0]

    def _entry(
        self, op: Op, placement: OperationLayouts, layouts: Sequence[Layout | None]
    ) -> tuple[Block, dict[int, Price]]:
        """The code of an operation, and its prices by the levels that are spent before."""
        if op not in self._kinds:
            kind = (kind_key(op), tuple(map(self._public, op.operands)))
            self._kinds[op] = self._kind_numbers.setdefault(kind, len(self._kind_numbers))
        key = (self._kinds[op], placement, tuple(layouts))
        if key not in self._operations:
            self._operations[key] = (self._lower(op, placement, layouts), {})
        return self._operations[key]

    def _public(self, value: Value) -> complex | str | None:
        """Return what a price depends on of a public array, besides its shape: the number it is everywhere, if any.

        So layers of the same shape are priced once.
        """
        source = _source(value)
        if source is not None and source not in self._numbers:
            array = self.module.sources[source].reshape(-1)
            self._numbers[source] = complex(array[0]) if array.size and (array == array[0]).all() else "array"
        return None if source is None else self._numbers[source]

    def _lower(self, op: Op, placement: OperationLayouts, layouts: Sequence[Layout | None]) -> Block:
        block = Block()
        operands: list[Operand | Value] = []
        for value, layout in zip(op.operands, layouts, strict=True):
            if value.type is INDEX:
                operands.append(block.add_arg(INDEX))
                continue
            vector = None if layout is None else block.add_arg(VecType(layout.count, layout.slots, "real", True))
            operands.append(Operand(shape_of(value), vector, layout, _source(value) if layout is None else None))
        target = Target(
            shape_of(op.result), placement.result, Builder(block, op.loc), self.module.sources, placement.box,
            self.techniques.spread_sums,
        )  # fmt: skip
        descriptor = BY_NAME[op.name]
        assert descriptor.lower is not None
        descriptor.lower(target, *operands, **descriptor.own(op.attrs))
        return block

    def conversion(self, shape: Shape, old: Layout, new: Layout, spent: int) -> Price:
        """The price of the cheapest conversion."""
        return self._conversions.price(shape, old, new, spent)

    def find_conversions(self, shape: Shape, old: Layout, new: Layout) -> Sequence[Conversion]:
        """The steps of the cheapest conversion."""
        return self._conversions.find_conversions(shape, old, new)

    def block(self, block: Block) -> float:
        """Seconds of straight code."""
        return self._price_block(block, 0).seconds

    def client_transfer(self, layout: Layout) -> float:
        """All vectors of a tensor."""
        return self.costs.sending(layout.count)

    def _price_block(self, block: Block, spent: int, maps: bool = True) -> Price:
        """Price a block; without its linear maps, less than that."""
        levels: dict[Value, int] = dict.fromkeys(block.args, 0)
        pending: set[Value] = set()
        seconds = 0.0
        for op in block.ops:
            reading = [v for v in op.operands if v.is_secret]
            level = max((levels.get(v, 0) for v in reading), default=0)
            lazy = op.name in _LAZY and self.techniques.lazy_relinearization
            if not lazy:
                seconds += add_up(
                    self._settle(v, pending, spent + levels.get(v, 0) - 1) for v in dict.fromkeys(reading)
                )
            if maps or op.name != _MAP:
                seconds += _PRICED[op.name](self.costs, op, spent + level)
            below = level + spent_by(op)
            for result in op.results:
                levels[result] = below
                if (op.name == "vec.mul" and len(reading) == len(op.operands)) or (
                    lazy and any(v in pending for v in reading)
                ):
                    pending.add(result)
        ends = [v for op in block.ops for v in op.results if not v.uses]
        seconds += add_up(self._settle(v, pending, spent + levels[v] - 1) for v in ends)
        return Price(seconds, max((levels[v] for v in ends), default=0))

    def _settle(self, value: Value, pending: set[Value], spent: int) -> float:
        if value not in pending:
            return 0.0
        pending.discard(value)
        return _count(value) * self.costs.relinearization(spent)


def _source(value: Value) -> str | None:
    """The array behind a public operand."""
    return value.owner.attrs.get("source") if isinstance(value.owner, Op) else None


def code_seconds(module: Module, costs: VectorCosts, techniques: Techniques = ALL) -> float:
    """Predicted seconds of vec code without loops."""
    prices = LoweringPrices(module, costs, techniques)
    block = Block()
    builder = Builder(block)
    mapping = {value: block.add_arg(value.type) for value in module.inputs}
    for op in module.body.ops[:-1]:
        builder.copy(op, mapping)
    return prices.block(block)


def sending_seconds(module: Module, costs: VectorCosts) -> float:
    """Price sending the inputs and outputs of vec code, in seconds."""
    ends = dict.fromkeys(module.body.terminator.operands)
    return costs.sending(sum(_count(v) for v in (*module.inputs, *ends)))


@dataclass(frozen=True)
class CodeCost:
    """Prices for passes over vec code. Implements `passes.merge_maps.Cost` and `levels.rescale_timing.LevelPrices`.

    vectors  prices of operations;  level  of one more level of the program
    """

    vectors: VectorCosts
    level: float

    def linear(self, linear_map: LinearMap, spent: int, real: bool) -> float:
        """A linear transform."""
        return self.vectors.linear(linear_map, spent, real)

    def rotations(self, count: int, spent: int) -> float:
        """Price of `count` rotations of one vector."""
        return self.vectors.rotations(count, spent)

    def operation(self, op: Op, spent: int) -> float:
        """One operation, by itself."""
        return _PRICED[op.name](self.vectors, op, spent)

    def settle_seconds(self, spent: int) -> float:
        """A product, relinearised and rescaled."""
        return self.vectors.relinearization(spent)

    def drop_seconds(self, spent: int) -> float:
        """A product with an integer, which takes no more than one with a plaintext, and a rescale."""
        return self.vectors.plain_product(spent)


def _count(value: Value) -> int:
    assert isinstance(value.type, VecType)
    return value.type.count


_MAP = "vec.linear_transform"
# Operations whose operands need not be relinearised.
_LAZY = ("vec.add", "vec.sub", "vec.sum", "vec.take", "vec.concat")
Priced = Callable[[VectorCosts, Op, int], float]


def _sum(costs: VectorCosts, op: Op, spent: int) -> float:
    return (_count(op.operands[0]) - _count(op.result)) * costs.addition(spent)


def _price_sum(costs: VectorCosts, op: Op, spent: int) -> float:
    return _count(op.result) * costs.addition(spent)


def _price_product(costs: VectorCosts, op: Op, spent: int) -> float:
    if all(v.is_secret for v in op.operands):
        return _count(op.result) * costs.product(spent)
    return _count(op.result) * (costs.plain_product(spent) if spent_by(op) else costs.addition(spent))


def _price_rotations(costs: VectorCosts, op: Op, spent: int) -> float:
    """All rotations of one array by the first of them."""
    alike = (reader for reader, _ in op.operands[0].uses if reader.name == op.name)
    if next(alike) is not op:
        return 0.0
    return _count(op.result) * costs.rotations(1 + sum(1 for _ in alike), spent)


def _price_twice_real(costs: VectorCosts, op: Op, spent: int) -> float:
    return _count(op.result) * (costs.rotations(1, spent) + costs.addition(spent))


def _price_map(costs: VectorCosts, op: Op, spent: int) -> float:
    return costs.linear(op.attrs["map"], spent, op.operands[0].type.elem == "real")  # type: ignore[attr-defined]


def _polynomial(costs: VectorCosts, op: Op, spent: int) -> float:
    products: int = op.attrs["polynomial"].products
    return _count(op.result) * products * (costs.product(spent) + costs.relinearization(spent))


def _free(costs: VectorCosts, op: Op, spent: int) -> float:
    return 0.0


_PRICED: dict[str, Priced] = {
    "vec.add": _price_sum,
    "vec.sub": _price_sum,
    "vec.neg": _price_sum,
    "vec.mul": _price_product,
    "vec.rotate": _price_rotations,
    "vec.conjugate": _price_rotations,
    "vec.times_i": _price_sum,
    "vec.twice_real": _price_twice_real,
    _MAP: _price_map,
    "vec.polynomial": _polynomial,
    "vec.sum": _sum,
    "vec.take": _free,
    "vec.concat": _free,
    "vec.take_at": _free,
    "vec.put_at": _free,
    "vec.row": _free,
    "vec.constant": _free,
    "vec.splat": _free,
    "vec.trivial": _free,
    "vec.label": _free,
}
