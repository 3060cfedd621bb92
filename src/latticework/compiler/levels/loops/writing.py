"""Writing loops anew: copies of bodies, trip counts, guards, and what is known of values handed on to their copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from latticework.compiler.levels.depth import carried_operands
from latticework.compiler.levels.loops.known_numbers import copy_known
from latticework.ir import INDEX, Block, Builder, Loc, Module, Op, Region, Value
from latticework.ir.builder import region_block
from latticework.ir.core import walk_regions
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class ValueFacts:
    """Facts about values, copies included.

    exponents  k where elements lie within [-2^k, 2^k]; 0 for values that are not there
    periods    elements after which the slots of a vector repeat; the slots of vectors that are not there
    """

    exponents: dict[Value, int] = field(default_factory=dict)
    periods: dict[Value, int] = field(default_factory=dict)

    def hand_on(self, old: Value, new: Value) -> None:
        """A value is what another was."""
        for known in (self.exponents, self.periods):
            if old in known:
                known.setdefault(new, known[old])


class ValueCopies(dict[Value, Value]):
    """Values and what stands for them in a copy, which takes over what is known of them."""

    def __init__(self, facts: ValueFacts) -> None:
        super().__init__()
        self.facts = facts

    def __setitem__(self, old: Value, new: Value) -> None:
        super().__setitem__(old, new)
        self.facts.hand_on(old, new)

    def update(self, pairs: Iterable[tuple[Value, Value]]) -> None:  # type: ignore[override]
        """Several at a time."""
        for old, new in pairs:
            self[old] = new


@dataclass(frozen=True)
class TripCount:
    """A trip count, known or a value.

    at_most  what a value is at most, if that is known
    """

    count: int | Value
    at_most: int | None = None

    @classmethod
    def of(cls, loop: Op) -> TripCount:
        """The trip count of a loop."""
        static: int | None = loop.attrs.get("static_trip")
        return cls(loop.operands[0] if static is None else static, loop.attrs.get("at_most"))

    @property
    def is_static(self) -> bool:
        """Whether it is known."""
        return isinstance(self.count, int)

    @property
    def static(self) -> int:
        """The number that is known."""
        assert isinstance(self.count, int)
        return self.count

    @property
    def value(self) -> Value:
        """The value where no number is known."""
        assert isinstance(self.count, Value)
        return self.count


Body = Callable[["LoopWriter", Value, list[Value]], Sequence[Value]]


class LoopWriter:
    """Appends iterations and loops to a block.

    is_nested  whether the block is in a loop
    """

    def __init__(self, block: Block, loc: Loc | None, facts: ValueFacts, *, is_nested: bool = False) -> None:
        self.builder = Builder(block, loc)
        self.facts = facts
        self.is_nested = is_nested

    def iteration(
        self, loop: Op, index: Value | int, carried: Sequence[Value], outside: Mapping[Value, Value] | None = None
    ) -> list[Value]:
        """One iteration of a loop outside of it; returns what it yields.

        outside  what stands for values that the body reads from outside, where that is others
        """
        block, copies = loop.regions[0].block, ValueCopies(self.facts)
        copies.update((outside or {}).items())
        if block.args[0].uses:
            copies[block.args[0]] = self.index(index) if isinstance(index, int) else index
        for argument, value in zip(block.args[1:], carried, strict=True):
            copies[argument] = value
        outer = self.builder.loc
        for op in block.ops[:-1]:
            if not copy_known(self.builder, op, copies):
                self.builder.copy(op, copies)
        self.builder.loc = outer
        return [copies.get(v, v) for v in block.terminator.operands]

    def loop(
        self, trip_count: TripCount, inits: Sequence[Value], arguments: Sequence[Value], body: Body
    ) -> list[Value]:
        """A loop, whose body is written by `body`.

        arguments  values that what it carries is like
        """
        if trip_count.count == 0:
            return list(inits)
        block = Block()
        index = block.add_arg(INDEX)
        carried = [block.add_arg(v.type, v.origin) for v in arguments]
        for old, new in zip(arguments, carried, strict=True):
            self.facts.hand_on(old, new)
        inside = LoopWriter(block, self.builder.loc, self.facts)
        inside.builder.create("loop.yield", body(inside, index, carried))
        static = trip_count.static if trip_count.is_static else None
        attrs = {"static_trip": static, "at_most": None if trip_count.is_static else trip_count.at_most}
        operands = [*inits] if trip_count.is_static else [trip_count.value, *inits]
        results = list(self.builder.create("loop.for", operands, attrs, [Region(block)]).results)
        for old, new in zip(arguments, results, strict=True):
            self.facts.hand_on(old, new)
        return results

    def when(
        self, condition: Value, otherwise: Sequence[Value], body: Callable[[LoopWriter], Sequence[Value]]
    ) -> list[Value]:
        """Write a condition that yields what `body` does, or else `otherwise`; both read what is outside as it is."""
        run, skip = Block(), Block()
        inside = LoopWriter(run, self.builder.loc, self.facts)
        inside.builder.create("loop.yield", body(inside))
        Builder(skip, self.builder.loc).create("loop.yield", otherwise)
        results = list(self.builder.create("loop.if", [condition], {}, [Region(run), Region(skip)]).results)
        for old, new in zip(otherwise, results, strict=True):
            self.facts.hand_on(old, new)
        return results

    # -- public integers -------------------------------------------------------------------------

    def index(self, value: int) -> Value:
        """A number."""
        return self.builder.build("loop.index_constant", [], value=value)

    def shift_index(self, index: Value, by: int) -> Value:
        """An index and a number."""
        return index if by == 0 else self.builder.build("loop.index_add", [index, self.index(by)])

    def sum(self, index: Value, other: Value) -> Value:
        """Two indices added up."""
        return self.builder.build("loop.index_add", [index, other])

    def times(self, index: Value, by: int) -> Value:
        """An index times a number."""
        return index if by == 1 else self.builder.build("loop.index_mul", [index, self.index(by)])

    def is_above(self, trip_count: TripCount, number: int) -> Value:
        """Whether a trip count that is not known is larger than a number."""
        return self.builder.build("loop.index_less", [self.index(number), trip_count.value])

    def after(self, trip_count: TripCount, done: int) -> TripCount:
        """TripCount that are left after the first ones, as far as there are any."""
        at_most = None if trip_count.at_most is None else max(trip_count.at_most - done, 0)
        if trip_count.is_static:
            return TripCount(max(trip_count.static - done, 0), at_most)
        first = self.builder.build("loop.index_min", [trip_count.value, self.index(done)])
        return TripCount(self.builder.build("loop.index_sub", [trip_count.value, first]), at_most)

    def groups(self, trip_count: TripCount, size: int) -> tuple[TripCount, TripCount]:
        """Return the number of whole groups of `size` iterations, and of those left over."""
        at_most = None if trip_count.at_most is None else trip_count.at_most // size
        if trip_count.is_static:
            whole, rest = divmod(trip_count.static, size)
            return TripCount(whole, at_most), TripCount(rest)
        quotient = self.builder.build("loop.index_div", [trip_count.value], by=size)
        grouped = self.times(quotient, size)
        left = self.builder.build("loop.index_sub", [trip_count.value, grouped])
        return TripCount(quotient, at_most), TripCount(left, size - 1)


Rewrite = Callable[[Op, LoopWriter], Sequence[Value] | None]


def rewrite_loops(module: Module, facts: ValueFacts, rewrite: Rewrite) -> Module:
    """The module with loops written anew, inner ones first.

    rewrite  writes what stands for a loop and returns its results, or None where the loop stays; what is nested in the
             loop that it is given has been rewritten
    """
    copies = ValueCopies(facts)
    body = Block()
    for value in module.inputs:
        copies[value] = body.add_arg(value.type, value.origin)
    _rewrite_block(module.body, body, copies, rewrite, is_nested=False)
    return module.empty_like(body)


def _rewrite_block(source: Block, target: Block, copies: ValueCopies, rewrite: Rewrite, *, is_nested: bool) -> None:
    writer = LoopWriter(target, None, copies.facts, is_nested=is_nested)
    for op in source.ops:
        writer.builder.loc = op.loc
        regions = []
        for region in op.regions:
            block = region_block(region, copies, op)
            _rewrite_block(region.block, block, copies, rewrite, is_nested=is_nested or op.name == "loop.for")
            regions.append(Region(block))
        new = writer.builder.copy_with(op, copies, regions)
        if op.name != "loop.for":
            continue
        target.ops.pop()
        new.block = None
        results = rewrite(new, writer)
        if results is None:
            writer.builder.insert(new)
            continue
        for old, result, value in zip(op.results, new.results, results, strict=True):
            copies[old] = value
            value.origin = value.origin or result.origin
        new.erase()


def captured_by(op: Op) -> list[Value]:
    """Values that the regions of an operation read from outside, in order."""
    inside = set(walk_regions(op.regions))
    blocks = {region.block for each in (op, *inside) for region in each.regions}
    read = (v for each in walk_regions(op.regions) for v in each.operands)
    captured = (v for v in read if v.owner not in inside and v.owner not in blocks)
    return list(dict.fromkeys(captured))


def arguments_of(loop: Op) -> list[Value]:
    """The values that a loop carries, inside of it."""
    return loop.regions[0].block.args[1:]


def inits_of(loop: Op) -> list[Value]:
    """The values that a loop carries, before it."""
    return list(carried_operands(loop))


def yielded_by(loop: Op) -> list[Value]:
    """The values that a loop carries, at the end of an iteration."""
    return loop.regions[0].block.terminator.operands
