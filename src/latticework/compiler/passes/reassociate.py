"""reassociate: products in loops multiply first what lies highest, and what comes from outside.

In/out: vec IR whose loops are kept, same cleartext meaning. A factor f of a product moves into what it multiplies:
(a b) f = a (b f), (a + b) f = a f + b f, so that f meets what lies high, or is made outside the loop and moves out of
it: a chain of products becomes a balanced tree, y (x w - b) becomes (y x) w - y b with y x made once. A move is kept
if an iteration then spends fewer levels on what loops carry, on the deepest of it or on all of it, or as many with
fewer products. Sums over slots and linear maps block this, since f differs from slot to slot.
Cost: O(moves x ops), of at most 32 moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field

from latticework.compiler.levels.depth import Levels, levels_of
from latticework.compiler.passes import cse, dce, hoist_invariants
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild
from latticework.lazy_dataclass import dataclass

MOST_MOVES = 32  # that are tried
MOST_DEEP = 8  # operations that a factor moves through
Mapping = dict[Value, Value]
Spent = tuple[int, int, int]


@dataclass(frozen=True)
class Regrouping:
    """A product with a factor: the level that it then lies at, and what emits it."""

    level: int
    make: Callable[[Builder, Mapping], Value]


def run(module: Module, _cost: object = None) -> Module:
    """The module with products reassociated, as far as that lowers what iterations spend."""
    tried, place = 0, 0
    spent = _spent_levels(module)
    while tried < MOST_MOVES:
        move = next(_moves(module, place), None)
        if move is None:
            break
        place, op, regrouping = move
        tried += 1
        changed = _regroup(module, op, regrouping)
        then = _spent_levels(changed)
        if then < spent:
            module, spent, place = changed, then, 0
        else:
            place += 1
    return module


def _moves(module: Module, place: int) -> Iterator[tuple[int, Op, Regrouping]]:
    """Products in loops that lie higher with a factor elsewhere, from a place among all operations on, and places."""
    of = levels_of(module, once=True, lifted=True).of
    for number, op in enumerate(module.walk()):
        if (
            number < place
            or op.name != "vec.mul"
            or op.block is module.body
            or not all(v.is_secret for v in op.operands)
        ):
            continue
        a, b = op.operands
        level = of[op.result] or 0
        candidates = [_Moving(factor, op, of).regroup(value, MOST_DEEP) for value, factor in ((a, b), (b, a))]
        best = max(candidates, key=lambda regrouping: regrouping.level)
        if best.level > level:
            yield number, op, best


@dataclass(frozen=True)
class _Moving:
    """A factor that moves into what a product multiplies by it.

    known  regroupings of values that it has met, by the first path to each
    """

    factor: Value
    product: Op
    of: dict[Value, int | None]
    known: dict[Value, Regrouping] = field(default_factory=dict)

    def regroup(self, value: Value, deep: int) -> Regrouping:
        """The regrouping that leaves a value times the factor highest."""
        if value not in self.known:
            self.known[value] = self._find(value, deep)
        return self.known[value]

    def _find(self, value: Value, deep: int) -> Regrouping:
        inside = self._inside(value, deep) if deep else None
        direct = self._product(self._level(value), self._level(self.factor), _as_it_is(value), _as_it_is(self.factor))
        return direct if inside is None or inside.level <= direct.level else inside

    def _inside(self, value: Value, deep: int) -> Regrouping | None:
        """The factor moved into the operands of what made a value."""
        op = value.owner
        if not isinstance(op, Op) or op.block is not self.product.block:
            return None
        if op.name == "vec.mul":
            candidates = []
            for one, other in (op.operands, reversed(op.operands)):
                regrouping = self.regroup(one, deep - 1)
                candidates.append(
                    self._product(regrouping.level, self._level(other), regrouping.make, _as_it_is(other))
                )
            return max(candidates, key=lambda regrouping: regrouping.level)
        if op.name in ("vec.add", "vec.sub", "vec.neg") or (op.name == "vec.sum" and self._is_one_vector()):
            parts = [self.regroup(v, deep - 1) for v in op.operands]

            def make(builder: Builder, mapping: Mapping) -> Value:
                return builder.create(op.spec, [part.make(builder, mapping) for part in parts], op.attrs).result

            return Regrouping(min(part.level for part in parts), make)
        return None

    def _product(self, a: int, b: int, left: Callable[..., Value], right: Callable[..., Value]) -> Regrouping:
        def make(builder: Builder, mapping: Mapping) -> Value:
            return builder.build("vec.mul", [left(builder, mapping), right(builder, mapping)])

        return Regrouping(min(a, b) - 1, make)

    def _level(self, value: Value) -> int:
        """The level of a value that the loop reads, above what it carries, as `levels_of` counts it in there."""
        level, block = self.of[value] or 0, self.product.block
        assert block is not None
        if block in (value.owner, getattr(value.owner, "block", None)):
            return level
        heads = (self.of[v] for v in block.args)
        return max(level, 1 + max((head for head in heads if head is not None), default=-1))

    def _is_one_vector(self) -> bool:
        count: int = self.factor.type.count  # type: ignore[attr-defined]
        return count == 1


def _as_it_is(value: Value) -> Callable[[Builder, Mapping], Value]:
    return lambda _builder, mapping: mapping.get(value, value)


def _regroup(module: Module, product: Op, regrouping: Regrouping) -> Module:
    """The module with one product regrouped, and what then repeats outside its loop."""

    def visit(op: Op, builder: Builder, mapping: Mapping) -> bool:
        if op is not product:
            return False
        mapping[op.result] = regrouping.make(builder, mapping)
        return True

    return dce.run(cse.run(hoist_invariants.run(rebuild(module, visit))))


def _spent_levels(module: Module) -> Spent:
    """Levels that iterations spend on the deepest of what loops carry, those on all of it, and products in loops."""
    levels = levels_of(module, once=True, lifted=True)
    deepest = total = 0
    for op, plan in levels.loops.items():
        spent = [head - _end(levels, v) for head, v in zip(plan.carried, _ends(op), strict=True)]
        deepest, total = deepest + max(spent, default=0), total + sum(spent)
    inside = (op for op in module.walk() if op.block is not module.body and op.name == "vec.mul")
    return deepest, total, sum(op.result.is_secret for op in inside)


def _ends(loop: Op) -> list[Value]:
    return loop.regions[0].block.terminator.operands


def _end(levels: Levels, value: Value) -> int:
    return levels.of[value] or 0


PASS = Pass("reassociate", run, roots=("loop.for",), reads=("vec", "loop"))
