"""state-reasons: every bootstrap says why it stands where it does.

In/out: vec IR with bootstraps placed, same operations. What is said follows from the levels that were decided: how
many the bootstrapped value has left, and along which operations its readers spend what the bootstrap leaves. How many
iterations lie between two bootstraps of a loop is what the planner of the loop has noted (`every`, `ways`).
Cost: O(ops), times the operations between two bootstraps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from latticework.compiler.levels.depth import Levels, Needs, carried_operands, levels_of, spent_by
from latticework.ir import Module, Op, Value
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.reason import RefreshReason

_SPENDING = {"vec.mul": "product", "vec.linear_transform": "linear map", "vec.polynomial": "polynomial"}


def state_reasons(module: Module, residual: int) -> Module:
    """The module, whose bootstraps have the attribute `why`, on a chain where they leave at most `residual` levels."""
    result = module.clone()
    levels = levels_of(result, residual=residual)
    needs = Needs(levels, residual)
    needs.block(result.body, [-residual] * len(result.body.terminator.operands))
    readers = _Readers(levels, needs)
    for op in result.walk():
        if op.name == "vec.bootstrap":
            attributes = {key: value for key, value in op.attrs.items() if key not in ("every", "ways")}
            reason = readers.reason(op, op.attrs.get("every", 1))
            op.attrs = {**attributes, "why": replace(reason, ways=op.attrs.get("ways", ()))}
    return result


@dataclass(frozen=True)
class _Readers:
    """Readers of values, and how high these have to lie for them."""

    levels: Levels
    needs: Needs

    def reason(self, op: Op, every: int) -> RefreshReason:
        """The reason why a bootstrap is there."""
        residual = self.needs.depth
        left = min((self.levels.of[v] or 0) for v in op.operands) + residual
        value = max(op.results, key=self.needs.of)
        first, end = self.follow(value)
        around = _loop_around(op)
        return RefreshReason(
            left, residual, self.needs.of(value) + residual, *self.end(end),
            *(("", 0) if first is None else (_SPENDING[first.name], first.loc.line)),
            loop=0 if around is None else around.loc.line, every=every,
            carried=around is not None and self.is_carried(op, around),
        )  # fmt: skip

    def follow(self, value: Value) -> tuple[Op | None, Value]:
        """The first operation that spends levels, on the way that spends most; where that way ends.

        It ends at the floor, where a value is bootstrapped or a block ends, or where an iteration was followed already.
        """
        first: Op | None = None
        seen = set[Value]()
        while value not in seen and (self.needs.of(value) > -self.needs.depth or not _ends(value)):
            seen.add(value)
            ways = list(self.steps(value))
            if not ways:
                break
            op, value = max(ways, key=lambda way: self.wanted_level(*way))
            if first is None and spent_by(op):
                first = op
        return first, value

    def wanted_level(self, op: Op, value: Value) -> int:
        """The level that a reader wants a value to have, for what it makes of it."""
        return self.needs.of(value) + spent_by(op)

    def steps(self, value: Value) -> Iterator[tuple[Op, Value]]:
        """The readers of a value, each with every value that goes on from it there."""
        for op, number in value.uses:
            if op.name == "loop.yield":
                yield from ((op, after) for after in _after(op, number))
            elif op.regions:
                outside = len(op.operands) - len(carried_operands(op)) if op.name == "loop.for" else 1
                for region in op.regions:
                    yield op, region.block.args[number - outside + (op.name == "loop.for")]
            elif op.name != "vec.bootstrap":
                yield from ((op, result) for result in op.results)

    def end(self, value: Value) -> tuple[str, int]:
        """The end of a path, and its line."""
        ends = [op for op, _ in value.uses if op.name in _ENDS]
        op = min(ends, key=lambda each: each.name != "vec.bootstrap", default=None)
        if op is None or op.name == "vec.bootstrap":
            return ("result", 0) if op is None else ("bootstrap", op.loc.line)
        around = _around(op)
        return ("result", op.loc.line) if around is None else (_KINDS[around.name], around.loc.line)

    def is_carried(self, op: Op, loop: Op) -> bool:
        """Whether a bootstrap is that of what a loop carries: as an iteration gets it, or as the next one does.

        There may be operations between that spend no level.
        """
        block, waiting, seen = loop.regions[0].block, list(op.results), set[Value]()
        if any(v in block.args for v in op.operands):
            return True
        while waiting:
            each = waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            for reader, _ in each.uses:
                if reader is block.terminator:
                    return True
                if reader.block is block and reader.name not in _ENDS and not reader.regions and not spent_by(reader):
                    waiting += reader.results
        return False


_KINDS = {"loop.for": "iteration", "loop.if": "condition"}
_ENDS = ("vec.bootstrap", "loop.yield")


def _ends(value: Value) -> bool:
    """Whether something bootstraps a value, or it is what a block ends with."""
    return any(op.name in _ENDS for op, _ in value.uses)


def _after(end: Op, number: int) -> list[Value]:
    """The values that a yielded value becomes: of a loop the argument of the next iteration, and the result."""
    around = _around(end)
    if around is None:
        return []
    if around.name == "loop.for":
        return [around.regions[0].block.args[1 + number], around.results[number]]
    return [around.results[number]]


def _loop_around(op: Op) -> Op | None:
    """The innermost loop that an operation stands in."""
    around = _around(op)
    while around is not None and around.name != "loop.for":
        around = _around(around)
    return around


def _around(op: Op) -> Op | None:
    """The operation that another is nested in."""
    return op.block.parent_op if op.block is not None else None
