"""unroll-groups: a loop goes through several iterations at a time, as many as a bootstrap leaves levels for.

In/out: vec IR, same cleartext meaning. The iterations that are left over follow in a loop that is gone round at most
once; of a trip count known at run time each of them runs if there are so many. No type goes round these loops yet:
`type-match` or `pack-carried` bootstrap at their heads.
Source: HALO (ASPLOS'25): floor(L / depth) iterations, floor((L - 2) / (depth + 2)) where carried values are packed, and
unpacked, which takes a level each. Cost: O(ops), times the iterations of a group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from latticework.compiler.levels.loops.iteration_levels import has_spending_loop, iteration_depth, spends
from latticework.compiler.levels.loops.writing import (
    LoopWriter,
    TripCount,
    ValueFacts,
    arguments_of,
    inits_of,
    rewrite_loops,
)
from latticework.ir import Module, Op, Pass, Value

Factor = Callable[[Op], int]
WRITES = ("loop.for", "loop.if", "loop.index_constant", "loop.index_less", "loop.index_min",
          "loop.index_sub", "loop.index_add", "loop.index_mul", "loop.index_div")  # fmt: skip


def unroll_groups(module: Module, facts: ValueFacts, factor: Factor) -> Module:
    """The module with loops that take `factor` iterations at a time; where that is one they stay."""

    def rewrite(loop: Op, writer: LoopWriter) -> Sequence[Value] | None:
        size = factor(loop)
        return unroll_by(loop, writer, size) if size > 1 else None

    return rewrite_loops(module, facts, rewrite)


def factor_of(loop: Op, residual: int, *, overhead: int = 0) -> int:
    """Iterations of a loop for which a bootstrap leaves levels; 1 for a loop around one that has its own bootstraps.

    overhead  levels that are spent for the sake of a loop's carried values, in an iteration
    """
    if has_spending_loop(loop, residual) or not spends(loop, residual):
        return 1
    return (residual - overhead) // (iteration_depth(loop, residual) + overhead)


def unroll_by(loop: Op, writer: LoopWriter, size: int) -> list[Value]:
    """Groups of iterations, and what is left over."""
    counts = bool(loop.regions[0].block.args[0].uses)
    whole, rest = writer.groups(TripCount.of(loop), size)

    def group(inside: LoopWriter, index: Value, carried: list[Value]) -> list[Value]:
        first = inside.times(index, size) if counts else index
        for number in range(size):
            carried = inside.iteration(loop, inside.shift_index(first, number) if counts else first, carried)
        return carried

    def left_over(inside: LoopWriter, _index: Value, carried: list[Value]) -> list[Value]:
        most = rest.static if rest.is_static else size - 1
        first: Value | int = 0
        if counts:
            done = inside.index(size * whole.static) if whole.is_static else inside.times(whole.value, size)
            first = done
        for number in range(most):
            at = inside.shift_index(first, number) if isinstance(first, Value) else number
            if rest.is_static or number == 0:
                carried = inside.iteration(loop, at, carried)
            else:
                carried = guard_iteration(inside, loop, rest, number, at, carried)
        return carried

    carried = writer.loop(whole, inits_of(loop), arguments_of(loop), group)
    if rest.is_static:
        return writer.loop(TripCount(1), carried, arguments_of(loop), left_over) if rest.static else carried
    once = writer.builder.build("loop.index_min", [rest.value, writer.index(1)])
    return writer.loop(TripCount(once, 1), carried, arguments_of(loop), left_over)


def guard_iteration(
    writer: LoopWriter, loop: Op, trip_count: TripCount, number: int, index: Value | int, carried: Sequence[Value]
) -> list[Value]:
    """An iteration that runs if there are more trips than its number."""
    condition = writer.is_above(trip_count, number)
    return writer.when(condition, carried, lambda inside: inside.iteration(loop, index, carried))


def unrolling(residual: int) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave `residual` levels."""
    return Pass(
        "unroll-groups",
        lambda module, _cost: unroll_groups(module, ValueFacts(), lambda loop: factor_of(loop, residual)),
        reads=("vec", "loop"), writes=WRITES,
    )  # fmt: skip
