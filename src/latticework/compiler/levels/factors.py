"""Absorb a public factor into a vector: into what made it, if nothing else reads that, or by a product.

Nothing is changed; what takes a factor in is emitted anew, on its own line, and the operation in whose place it stands
counts as gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from latticework.compiler.levels.depth import Levels, is_free_factor
from latticework.ir import Block, Builder, Loc, Op, OpSpec, Origin, Region, Value
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.channel_square import ChannelSquare
from latticework.values.packing.packed_constants import ConstRef

MOST_LOOKED_AT = 24  # operations before a vector that a factor may go back to
MOST_PRODUCTS = 2  # with a public factor, that may save one level


@dataclass(frozen=True)
class FactorStrategy:
    """A strategy to multiply a vector by a number.

    level     of the product;  products  with public numbers that are new
    make      emits it
    """

    level: int
    products: int
    make: Callable[[], Value]


@dataclass
class Emitter:
    """Appends operations to a block, whose results then have levels."""

    block: Block
    levels: Levels
    builder: Builder

    def create(
        self,
        spec: OpSpec | str,
        operands: Sequence[Value],
        attrs: dict[str, Any],
        regions: Sequence[Region] = (),
        loc: Loc | None = None,
    ) -> Op:
        """An operation, at the builder's location if none is given."""
        op = self.builder.create(spec, operands, attrs, regions, loc=loc)
        self.levels.add(op)
        return op

    def build(self, name: str, operands: Sequence[Value], **attrs: Any) -> Value:
        """An operation of one result."""
        return self.create(name, operands, attrs).result

    def public(self, value: float | ConstRef, slots: int) -> Value:
        """A number in all slots, or a constant."""
        if isinstance(value, ConstRef):
            return self.build("vec.constant", [], value=value)
        return self.build("vec.splat", [], value=float(value), slots=slots)

    def trivial(self, public: Value) -> Value:
        """A public vector in the form of a secret one."""
        return self.build("vec.trivial", [public])


@dataclass
class Scaling:
    """Facts about new values.

    levels   of each
    waiting  how many readers of each are still to be emitted
    gone     operations that scaled ones have replaced
    """

    levels: Levels = field(default_factory=Levels)
    waiting: dict[Value, int] = field(default_factory=dict)
    gone: set[Op] = field(default_factory=set)
    _emitters: dict[Block, Emitter] = field(default_factory=dict)
    _scaled: dict[tuple[Value, float], Value] = field(default_factory=dict)

    def emitter(self, block: Block) -> Emitter:
        """The one emitter of a block."""
        if block not in self._emitters:
            self._emitters[block] = Emitter(block, self.levels, Builder(block))
        return self._emitters[block]

    def expect(self, value: Value, readers: int) -> None:
        """Expect `readers` more operations that read a value."""
        self.waiting[value] = self.waiting.get(value, 0) + readers

    def count_reader(self, value: Value) -> None:
        """One of them is being emitted."""
        self.waiting[value] -= 1

    def level(self, value: Value) -> int:
        """The level of a value that is not public."""
        return self.levels.of[value] or 0

    def whole(self, value: Value, number: float, emitter: Emitter) -> Value:
        """Multiply a value by a number, by the best strategy."""
        return value if number == 1.0 else self.strategy_for(value, number, emitter).make()

    def strategy_for(self, value: Value, number: float, emitter: Emitter) -> FactorStrategy:
        """The strategy that leaves the product highest; of those the one with the fewest new products."""
        return self._strategy_for(value, number, emitter, None, [MOST_LOOKED_AT])

    def inside(self, value: Value, number: float, emitter: Emitter) -> FactorStrategy | None:
        """The strategy by what made a value, without a new product or a level; None if there is none."""
        op = value.owner
        if not isinstance(op, Op) or op.block is not emitter.block or not self._alone(value, None):
            return None
        strategy = self._into(op, value, number, emitter, [MOST_LOOKED_AT])
        return (
            strategy if strategy is not None and not strategy.products and strategy.level >= self.level(value) else None
        )

    def _strategy_for(
        self, value: Value, number: float, emitter: Emitter, reader: Op | None, budget: list[int]
    ) -> FactorStrategy:
        level = self.level(value)
        if number == 1.0:
            return FactorStrategy(level, 0, lambda: value)
        if (value, number) in self._scaled:
            scaled = self._scaled[value, number]
            return FactorStrategy(self.level(scaled), 0, lambda: scaled)
        is_free = is_free_factor(number)
        is_made_once = self.levels.once and self._block_of(value) is not emitter.block
        products = 0 if is_free or is_made_once else 1
        direct = FactorStrategy(level - (not is_free), products, lambda: self._multiply(value, number, emitter))
        op = value.owner
        budget[0] -= 1
        if is_free or budget[0] < 0 or not isinstance(op, Op) or op.block is not emitter.block:
            return direct
        if not self._alone(value, reader):
            return direct
        inside = self._into(op, value, number, emitter, budget)
        if inside is None or inside.products > MOST_PRODUCTS:
            return direct
        return max(direct, inside, key=lambda strategy: (strategy.level, -strategy.products))

    def _alone(self, value: Value, *readers: Op | None) -> bool:
        """Whether nothing but these readers, which are about to be replaced, reads a value now or later."""
        return not self.waiting.get(value) and all(op in self.gone or op in readers for op, _ in value.uses)

    def _multiply(self, value: Value, number: float, emitter: Emitter) -> Value:
        """A product, in the block of the value, where all who want it find it."""
        if (value, number) not in self._scaled:
            where = self._emitters[self._block_of(value)]
            loc, where.builder.loc = where.builder.loc, emitter.builder.loc
            splat = where.public(number, value.type.slots)  # type: ignore[attr-defined]
            self._scaled[value, number] = where.build("vec.mul", [value, splat])
            where.builder.loc = loc
        return self._scaled[value, number]

    @staticmethod
    def _block_of(value: Value) -> Block:
        owner = value.owner.block if isinstance(value.owner, Op) else value.owner
        assert owner is not None
        return owner

    def _into(self, op: Op, value: Value, number: float, emitter: Emitter, budget: list[int]) -> FactorStrategy | None:
        """The strategy by what made a value."""
        match op.name:
            case "vec.linear_transform":
                return self._with(op, value, number, emitter, map=op.attrs["map"].scale_by(number))
            case "vec.polynomial" if not isinstance(op.attrs["polynomial"], ChannelSquare):
                return self._with(op, value, number, emitter, polynomial=op.attrs["polynomial"].scale_by(number))
            case "vec.rotate" | "vec.neg" | "vec.take" | "vec.sum" | "vec.conjugate" | "vec.times_i" | "vec.twice_real":
                return self._each(op, op.operands, number, emitter, budget)
            case "vec.add" if (rotated := _rotated_copy(op)) is not None:
                return self._copy(op, rotated, number, emitter, budget)
            case "vec.add" | "vec.sub":
                return self._each(op, op.operands, number, emitter, budget)
            case "vec.mul":
                return self._factor(op, number, emitter, budget)
        return None

    def _with(self, op: Op, value: Value, number: float, emitter: Emitter, **attrs: Any) -> FactorStrategy:
        def make() -> Value:
            return self._replace(op, self._again(op, emitter, op.operands, {**op.attrs, **attrs}), number)

        return FactorStrategy(self.level(value), 0, make)

    def _again(self, op: Op, emitter: Emitter, operands: Sequence[Value], attrs: dict[str, Any]) -> Value:
        """An operation once more, on its line."""
        return emitter.create(op.spec, operands, attrs, loc=op.loc).result

    def _replace(self, op: Op, scaled: Value, number: float) -> Value:
        """Put a value in the place of an operation's result, times a number."""
        self.gone.add(op)
        scaled.origin = scaled_origin(op.result.origin, 1.0 / number)
        return scaled

    def _each(
        self, op: Op, operands: Sequence[Value], number: float, emitter: Emitter, budget: list[int]
    ) -> FactorStrategy | None:
        """All of these operands times the number, public ones by themselves."""
        if len(set(operands)) < len(operands):
            return None
        candidates = {v: self._operand(op, v, number, emitter, budget) for v in operands}
        if any(strategy is None for strategy in candidates.values()):
            return None
        strategies = {v: strategy for v, strategy in candidates.items() if strategy is not None}

        def make() -> Value:
            scaled = [strategies[v].make() if v in strategies else v for v in op.operands]
            return self._replace(op, self._again(op, emitter, scaled, op.attrs), number)

        levels = [strategy.level for v, strategy in strategies.items() if v.is_secret]
        levels += [self.level(v) for v in op.operands if v.is_secret and v not in strategies]
        spent = 1 if op.name == "vec.mul" else 0
        return FactorStrategy(min(levels) - spent, sum(strategy.products for strategy in strategies.values()), make)

    def _operand(
        self, op: Op, value: Value, number: float, emitter: Emitter, budget: list[int]
    ) -> FactorStrategy | None:
        if value.is_secret:
            return self._strategy_for(value, number, emitter, op, budget)
        owner = value.owner
        if not isinstance(owner, Op) or owner.name not in ("vec.splat", "vec.constant"):
            return None
        known = owner.attrs["value"]
        scaled = known.times(number) if isinstance(known, ConstRef) else known * number
        return FactorStrategy(0, 0, lambda: emitter.public(scaled, value.type.slots))  # type: ignore[attr-defined]

    def _copy(self, op: Op, rotated: Op, number: float, emitter: Emitter, budget: list[int]) -> FactorStrategy | None:
        """x + rotate(x), where nothing else reads x."""
        x = op.operands[0]
        if not self._alone(x, op, rotated) or not self._alone(rotated.result, op):
            return None
        self.gone.add(rotated)
        inner = self._strategy_for(x, number, emitter, op, budget)
        self.gone.discard(rotated)
        if inner.products:
            return None

        def make() -> Value:
            self.gone.add(rotated)
            scaled = inner.make()
            both = [scaled, self._again(rotated, emitter, [scaled], rotated.attrs)]
            return self._replace(op, self._again(op, emitter, both, op.attrs), number)

        return FactorStrategy(inner.level, 0, make)

    def _factor(self, op: Op, number: float, emitter: Emitter, budget: list[int]) -> FactorStrategy | None:
        """A product by one of its operands; with a public number by that, which may then be one that takes no level."""
        a, b = op.operands
        if a is b:
            return None
        strategies = [self._each(op, [v], number, emitter, budget) for v in (a, b)]
        for known, other in ((a, b), (b, a)):
            if isinstance(known.owner, Op) and known.owner.name == "vec.splat":
                strategies.append(self._known_factor(op, other, known.owner.attrs["value"] * number, number, emitter))
        candidates = [strategy for strategy in strategies if strategy is not None]
        return max(candidates, key=lambda strategy: (strategy.level, -strategy.products), default=None)

    def _known_factor(
        self, op: Op, value: Value, factor: float, number: float, emitter: Emitter
    ) -> FactorStrategy | None:
        """A product whose public factor has become a whole number, or 1."""
        if not is_free_factor(factor):
            return None
        if factor == 1.0:
            return FactorStrategy(self.level(value), 0, lambda: self._leave_out(op, value))
        return FactorStrategy(
            self.level(value), 0, lambda: self._replace(op, self._multiply(value, factor, emitter), number)
        )

    def _leave_out(self, op: Op, value: Value) -> Value:
        """Put what an operation was made from in its place."""
        self.gone.add(op)
        return value


def scaled_origin(origin: Origin | None, factor: float) -> Origin | None:
    """The origin of one over `factor` times a value."""
    return None if origin is None else replace(origin, factor=origin.factor * factor)


def _rotated_copy(op: Op) -> Op | None:
    """The rotation in x + rotate(x)."""
    x, other = op.operands
    owner = other.owner
    return owner if isinstance(owner, Op) and owner.name == "vec.rotate" and owner.operands[0] is x else None
