"""Levels that one iteration of a loop makes of those of what it carries.

Inner loops that spend levels are taken as if they ran once: how many levels they leave is known when they bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.depth import Env, Levels, LoopPlan, carried_operands, is_trivial
from latticework.compiler.levels.loops.writing import arguments_of, inits_of, yielded_by
from latticework.ir import INDEX, Op, Value


class Outside(dict[Value, "int | None"]):
    """Levels, at the top where a value is not there; None: public."""

    def __missing__(self, value: Value) -> int | None:
        return 0 if value.is_secret and not is_trivial(value) else None


class Written(dict[Value, "int | None"]):
    """Levels of what is written; numbers have none."""

    def __missing__(self, value: Value) -> int | None:
        if value.type is INDEX:
            return None
        raise KeyError(value)


class IterationLevels(Levels):
    """Levels in which loops are only gone round once where they spend levels."""

    def loop(self, op: Op) -> LoopPlan:
        """Plan a loop as one iteration: what settles stays, what does not is one iteration further down."""
        carried = tuple(self.of[v] or 0 for v in carried_operands(op))
        for _ in range(len(carried) + 1):
            lowered = tuple(map(min, carried, self.body(op, carried)))
            if lowered == carried:
                break
            carried = lowered
        return LoopPlan(carried, carried)


def iteration_levels(loop: Op, carried: Sequence[int | None], residual: int, outside: Env | None = None) -> Levels:
    """Levels in an iteration.

    carried  level of each carried value at its start; None: public
    outside  levels of values that the body reads from outside; the top where they are not there
    """
    levels = IterationLevels(Outside(outside or {}), residual=residual)
    block = loop.regions[0].block
    levels.of[block.args[0]] = None
    for argument, level in zip(arguments_of(loop), carried, strict=True):
        levels.of[argument] = level
    levels.block(block)
    return levels


def ends_of(loop: Op, carried: Sequence[int | None], residual: int) -> list[int | None]:
    """Levels of what an iteration yields; arguments as of `iteration_levels`."""
    levels = iteration_levels(loop, carried, residual)
    return [levels.of[v] for v in yielded_by(loop)]


def stays_plain(loop: Op, residual: int) -> list[bool]:
    """Whether each carried value starts public and is public in every iteration."""
    plain = [is_trivial(v) for v in inits_of(loop)]
    while True:
        ends = ends_of(loop, [None if each else 0 for each in plain], residual)
        still_plain = [each and end is None for each, end in zip(plain, ends, strict=True)]
        if still_plain == plain:
            return plain
        plain = still_plain


def iteration_depth(loop: Op, residual: int) -> int:
    """Levels between carried values and what an iteration makes of them, at most: all at the top when it starts."""
    plain = stays_plain(loop, residual)
    ends = ends_of(loop, [None if each else 0 for each in plain], residual)
    return -min((end for end in ends if end is not None), default=0)


def spends(loop: Op, residual: int) -> bool:
    """Whether every iteration leaves carried values lower, so that no type goes round the loop without a bootstrap."""
    plain = stays_plain(loop, residual)
    carried = [None if each else 0 for each in plain]
    for _ in range(len(carried) + 1):
        ends = ends_of(loop, carried, residual)
        lowered = [a if a is None or b is None else min(a, b) for a, b in zip(carried, ends, strict=True)]
        if lowered == carried:
            return False
        carried = lowered
    return True


def fits_once(loop: Op, residual: int) -> bool:
    """Whether an iteration from the top stays above the floor."""
    plain = stays_plain(loop, residual)
    return stays_above(iteration_levels(loop, [None if each else 0 for each in plain], residual), residual)


def stays_above(levels: Levels, residual: int) -> bool:
    """Whether no value lies below the floor."""
    return min((level for level in levels.of.values() if level is not None), default=0) >= -residual


def has_spending_loop(loop: Op, residual: int) -> bool:
    """Whether a loop that spends levels is nested in it."""
    return any(
        op.name == "loop.for" and (spends(op, residual) or has_spending_loop(op, residual))
        for op in loop.regions[0].block.ops
    )
