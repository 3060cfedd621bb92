"""type-match: all that a loop carries is bootstrapped when an iteration starts, so that its types are the same there.

In/out: vec IR, same cleartext meaning. For loops that spend levels; each iteration starts with the same levels then,
whatever the one before has left. Values that are public in every iteration stay as they are.
Source: HALO (ASPLOS'25), algorithm 1. Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.loops.iteration_levels import spends, stays_plain
from latticework.compiler.levels.loops.writing import (
    LoopWriter,
    TripCount,
    ValueFacts,
    arguments_of,
    inits_of,
    rewrite_loops,
)
from latticework.ir import Module, Op, Pass, Value


def type_match(module: Module, residual: int, facts: ValueFacts) -> Module:
    """The module with bootstraps at the heads of loops, on a chain where they leave `residual` levels."""

    def rewrite(loop: Op, writer: LoopWriter) -> Sequence[Value] | None:
        if not spends(loop, residual):
            return None
        plain = stays_plain(loop, residual)

        def body(inside: LoopWriter, index: Value, carried: list[Value]) -> list[Value]:
            fresh = [
                value if stays else bootstrap_to(inside, [value], residual)[0]
                for value, stays in zip(carried, plain, strict=True)
            ]
            return inside.iteration(loop, index, fresh)

        return writer.loop(TripCount.of(loop), inits_of(loop), arguments_of(loop), body)

    return rewrite_loops(module, facts, rewrite)


def bootstrap_to(writer: LoopWriter, values: Sequence[Value], target: int) -> list[Value]:
    """One value or two after a bootstrap."""
    exponent = max(0, *(writer.facts.exponents.get(v, 0) for v in values))
    attrs = {"target": target, "exponent": exponent, "iterations": 1}
    results = list(writer.builder.create("vec.bootstrap", values, attrs).results)
    for old, new in zip(values, results, strict=True):
        writer.facts.hand_on(old, new)
        new.origin = old.origin
    return results


def matching(residual: int) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave `residual` levels."""
    return Pass(
        "type-match", lambda module, _cost: type_match(module, residual, ValueFacts()),
        reads=("vec", "loop"), writes=("vec.bootstrap",),
    )  # fmt: skip
