"""Depth analysis: how many levels values spend, and what that makes of loops; level plans are decided by it.

Levels are counted downwards from 0 at the inputs: a value at -3 has had three rescales once it is settled. A loop whose
carried values settle keeps being a loop; one that spends levels in every iteration becomes copies, because no type
could be carried round it without a bootstrap.
Cost: O(ops), times the iterations of loops until carried levels settle, and the copies of those that do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from latticework.errors import LevelError
from latticework.ir import Block, Module, Op, Value
from latticework.ir.core import walk_block
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import ConstRef

Env = dict[Value, int | None]  # level of each value; None = public

MAX_FREE_FACTOR = 1 << 16


class UnknownTripCountError(LevelError):
    """A loop spends levels, and how often it is gone round is known only at run time."""


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """The decision for one loop: it stays a loop, or becomes copies.

    carried  level of each carried value at the loop head (None never occurs)
    results  level of each result
    copies   None: stays a loop; else this many copies of the body follow one another
    guarded  copies run only while their number is below the trip count
    """

    carried: tuple[int, ...]
    results: tuple[int, ...]
    copies: int | None = None
    guarded: bool = False


@dataclass
class Levels:
    """Settled levels, filled in operation by operation.

    of        of each value seen so far, nested ones too; those in loops as in the last iteration, or copy
    loops     what becomes of each
    residual  levels that a bootstrap can leave; None: there is no bootstrap
    once      of loops one iteration is counted, from a level below what they are given: what is known of one before it
              is decided where it bootstraps; what it reads from outside is made once, and has that level to spare
    lifted    what loops read from outside lies above what they carry, as if it was bootstrapped before
    lowest    levels at which some values are made though they could be higher
    """

    of: Env = field(default_factory=dict)
    loops: dict[Op, LoopPlan] = field(default_factory=dict)
    residual: int | None = None
    once: bool = False
    lifted: bool = False
    lowest: Mapping[Value, int] = field(default_factory=dict)

    def block(self, block: Block) -> list[int | None]:
        """All operations of a block whose arguments have levels; returns the levels of what it yields.

        raises  LevelError for a run-time loop that spends levels without `at_most`
        """
        for op in block.ops[:-1]:
            self.add(op)
        return [self.of[v] for v in block.terminator.operands]

    def add(self, op: Op) -> None:
        """One operation whose operands have levels."""
        of = self.of
        if op.name == "loop.for":
            self.loops[op] = plan = self.loop(op)
            of.update(zip(op.results, plan.results, strict=True))
        elif op.name == "loop.if":
            of.update(zip(op.results, self._branch(op), strict=True))
        elif op.name == "vec.bootstrap":
            of.update(dict.fromkeys(op.results, level_after(op, self.residual)))
        else:
            levels = [level for v in op.operands if (level := of[v]) is not None]
            if not levels and is_public(op):
                of.update(dict.fromkeys(op.results))
            else:
                level = min(levels, default=0) - spent_by(op)
                of[op.result] = min(level, self.lowest.get(op.result, level))

    def loop(self, op: Op) -> LoopPlan:
        """Decide between loop and copies."""
        static_trip, at_most = op.attrs.get("static_trip"), op.attrs.get("at_most")
        start = tuple(self.of[v] or 0 for v in carried_operands(op))
        carried = start
        if self.once:
            head = tuple(level - 1 for level in start)
            around = self.lifted_body if self.lifted else self.body
            return LoopPlan(head, tuple(map(min, head, around(op, head))))
        for _ in range(len(carried) + 1):
            lowered = tuple(map(min, carried, self.body(op, carried)))
            if lowered == carried:
                return LoopPlan(carried, carried)
            carried = lowered
        copies = static_trip if static_trip is not None else at_most
        if copies is None:
            spent = max(a - b for a, b in zip(carried, self.body(op, carried), strict=True))
            raise UnknownTripCountError(
                f"for_loop: the trip count is known only at run time and each iteration spends {spent} "
                f"level{'s' if spent != 1 else ''}, so no chain of fixed length fits; pass at_most=K (K copies are "
                "compiled, each run only if needed), or give the trip count as a plain int",
                at=op.loc,
            )
        levels = start
        for _ in range(copies):
            after = self.body(op, levels)
            # A skipped copy must leave the same types as one that ran.
            levels = tuple(map(min, levels, after)) if static_trip is None else after
        return LoopPlan(start, levels, copies, guarded=static_trip is None)

    def body(self, op: Op, carried: tuple[int, ...]) -> tuple[int, ...]:
        """Levels after one iteration."""
        block = op.regions[0].block
        self.of.update(zip(block.args, (None, *carried), strict=True))
        yielded = self.block(block)
        return tuple(before if after is None else after for before, after in zip(carried, yielded, strict=True))

    def lifted_body(self, op: Op, head: tuple[int, ...]) -> tuple[int, ...]:
        """Levels after one iteration, for which what is read from outside was bootstrapped."""
        top = max(head, default=-1) + 1
        outside = {v: self.of[v] for inner in walk_block(op.regions[0].block) for v in inner.operands if v in self.of}
        self.of.update((v, max(level, top)) for v, level in outside.items() if level is not None)
        result = self.body(op, head)
        self.of.update(outside)
        return result

    def _branch(self, op: Op) -> list[int]:
        """The lower of what both sides of a condition yield; public values are encrypted at the top."""
        sides = []
        for region in op.regions:
            self.of.update((arg, self.of[v] or 0) for arg, v in zip(region.block.args, op.operands[1:], strict=True))
            sides.append([level or 0 for level in self.block(region.block)])
        return [min(both) for both in zip(*sides, strict=True)]


def level_after(bootstrap: Op, residual: int | None) -> int:
    """The level at which a bootstrap ends, on a chain with `residual` levels above its floor."""
    target: int = bootstrap.attrs["target"]
    if residual is None or target > residual:
        has = "has no bootstraps" if residual is None else f"leaves at most {residual}"
        raise LevelError(f"a bootstrap that leaves {target} levels, on a chain that {has}", at=bootstrap.loc)
    return target - residual


def levels_of(
    module: Module,
    starts: Sequence[int | None] | None = None,
    residual: int | None = None,
    *,
    once: bool = False,
    lifted: bool = False,
    lowest: Mapping[Value, int] = {},
) -> Levels:
    """The levels of a `vec` module.

    starts    level of each input, 0 for all if not given
    residual  levels that a bootstrap can leave, where the chain has bootstraps
    once      count one iteration of every loop
    lifted    with what it reads from outside above what it carries
    lowest    levels at which some values are made though they could be higher (`lowest_levels`)
    raises    LevelError for a run-time loop that spends levels without `at_most`, and for a bootstrap that the chain
              has not
    """
    arguments = module.body.args
    given: Env = dict(zip(arguments, starts or [0] * len(arguments), strict=True))
    levels = Levels(given, residual=residual, once=once, lifted=lifted, lowest=lowest)
    levels.block(module.body)
    return levels


def outer_values(module: Module) -> Iterator[Value]:
    """The values of a module that are in no loop and no branch, in order."""
    yield from module.body.args
    for op in module.body.ops:
        yield from op.results


def program_depth(module: Module, starts: Sequence[int] | None = None, *, once: bool = False) -> int:
    """Levels that a `vec` module spends on its longest path; arguments and errors as of `levels_of`."""
    return depth_of(module, levels_of(module, starts, once=once))


def depth_of(module: Module, levels: Levels) -> int:
    """`program_depth` of a module with known levels."""
    return -min(
        (level for v in _walk_planned(module.body, levels.loops) if (level := levels.of[v]) is not None), default=0
    )


def _walk_planned(block: Block, loops: Mapping[Op, LoopPlan]) -> Iterator[Value]:
    """The values of a block, with those nested in it but for loops that become copies, whose results stand for them."""
    yield from block.args
    for op in block.ops:
        yield from op.results
        if op.regions and (op not in loops or loops[op].copies is None):
            for region in op.regions:
                yield from _walk_planned(region.block, loops)


def input_levels(module: Module) -> list[int]:
    """The lowest level at which each input can start without making the program deeper: fewer limbs to send.

    An input that first meets others further down starts there. The module has no loops that spend levels.
    """
    return lowest_input_levels(module, levels_of(module))


def lowest_input_levels(module: Module, levels: Levels) -> list[int]:
    """`input_levels` of a module with known levels: what reads a value says how low it may be, from the outputs up.

    With bootstraps the lowest level is the floor's.
    """
    needs = Needs(levels, depth_of(module, levels) if levels.residual is None else levels.residual)
    needs.block(module.body, [-needs.depth] * len(module.body.terminator.operands))
    return [needs.of(v) for v in module.body.args]


class Needs:
    """The lowest levels that values may have, from what reads them."""

    def __init__(self, levels: Levels, depth: int) -> None:
        self.levels = levels
        self.depth = depth
        self.least: dict[Value, int] = {}

    def of(self, value: Value) -> int:
        """The lowest level that a value may have."""
        return self.least.get(value, -self.depth)

    def raise_to(self, value: Value, level: int) -> None:
        """A reader wants no less."""
        if self.levels.of[value] is not None and level > self.of(value):
            self.least[value] = level

    def block(self, block: Block, wanted: Sequence[int]) -> None:
        """All operations of a block that has to yield values at these levels at least."""
        for value, level in zip(block.terminator.operands, wanted, strict=True):
            self.raise_to(value, level)
        for op in reversed(block.ops[:-1]):
            results = [self.of(v) for v in op.results]
            if op.name == "loop.for":
                self.loop(op, results)
            elif op.name == "loop.if":
                for region in op.regions:
                    self.block(region.block, results)
                    self.around(region.block.args, op.operands[1:])
            elif op.name == "vec.bootstrap":
                continue  # reads any level
            elif any(self.levels.of[v] is not None for v in op.results):
                level = max(results) + spent_by(op)
                for value in op.operands:
                    self.raise_to(value, level)

    def loop(self, op: Op, results: list[int]) -> None:
        """A loop that stays: what the head has to have is what the end of the body has to leave."""
        assert self.levels.loops[op].copies is None, "loops that spend levels are copies already"
        block = op.regions[0].block
        arguments = block.args[1:]
        head = results
        while True:
            self.block(block, head)
            raised = [max(level, self.of(v)) for v, level in zip(arguments, head, strict=True)]
            if raised == head:
                break
            head = raised
        for value, level in zip(carried_operands(op), head, strict=True):
            self.raise_to(value, level)

    def around(self, arguments: Sequence[Value], values: Sequence[Value]) -> None:
        """Raise what goes into a block to the level of the arguments that it becomes there."""
        for argument, value in zip(arguments, values, strict=True):
            self.raise_to(value, self.of(argument))


def carried_operands(loop: Op) -> Sequence[Value]:
    """The initial values of what a loop carries, without the trip count."""
    return loop.operands if loop.attrs.get("static_trip") is not None else loop.operands[1:]


def spent_by(op: Op) -> int:
    """Levels between the lowest operand of an operation and its result."""
    if op.name == "vec.linear_transform":
        return 1
    if op.name == "vec.polynomial":
        return int(op.attrs["polynomial"].depth)
    if op.name == "vec.mul":
        factor = public_operand(op)
        return 0 if factor is not None and not isinstance(factor, ConstRef) and is_free_factor(factor) else 1
    return 0


def public_operand(op: Op) -> ConstRef | float | None:
    """The public one of an operation's two operands; of two the one that is not encrypted for it."""
    a, b = (public_value(v) for v in op.operands)
    if a is not None and b is not None:
        return b if op.operands[0].is_secret else a
    return b if a is None else a


def public_value(value: Value) -> ConstRef | float | None:
    """The number in every slot, or the constant, that a value is; also in the form of a secret one.

    A row of a table is told by the constant that is its row 0 (`public_row`).
    """
    owner = value.owner
    while isinstance(owner, Op) and owner.name == "vec.trivial":
        owner = owner.operands[0].owner
    if not isinstance(owner, Op) or owner.name not in ("vec.splat", "vec.constant", "vec.row"):
        return None
    known: ConstRef | float = owner.attrs["value"]
    return known


def is_trivial(value: Value) -> bool:
    """Whether a value is a public one in the form of a secret one."""
    return isinstance(value.owner, Op) and value.owner.name == "vec.trivial"


def public_row(value: Value) -> Op | None:
    """The `vec.row` that a value is, also in the form of a secret one: which of its constants, is known at run time."""
    owner = value.owner
    while isinstance(owner, Op) and owner.name == "vec.trivial":
        owner = owner.operands[0].owner
    return owner if isinstance(owner, Op) and owner.name == "vec.row" else None


def is_free_factor(factor: complex) -> bool:
    """Whether multiplying by this constant costs no level: small integers."""
    return complex(factor).imag == 0 and float(complex(factor).real).is_integer() and abs(factor) <= MAX_FREE_FACTOR


def is_public(op: Op) -> bool:
    """Whether an op without encrypted operands needs no ciphertext; `vec.trivial` is encrypted where it is used."""
    return op.name == "vec.trivial" or not any(v.is_secret for v in op.results)
