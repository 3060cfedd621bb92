"""peel: the first iteration of a loop that starts from public numbers stands before it.

In/out: vec IR, same cleartext meaning. What starts public is secret once an iteration has met it with something secret,
and secret from there on; without its first iteration the loop carries ciphertexts alone, which can be bootstrapped, and
that iteration computes with public numbers, which spends fewer levels. Of a trip count known at run time the iteration
runs if there is one.
Source: HALO (ASPLOS'25), section 4. Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.depth import is_trivial
from latticework.compiler.levels.loops.iteration_levels import fits_once, spends, stays_plain
from latticework.compiler.levels.loops.writing import (
    LoopWriter,
    TripCount,
    ValueFacts,
    arguments_of,
    inits_of,
    rewrite_loops,
)
from latticework.ir import Module, Op, Pass, Value

WRITES = ("loop.for", "loop.if", "loop.index_constant", "loop.index_less", "loop.index_min",
          "loop.index_sub", "loop.index_add")  # fmt: skip


def peel(module: Module, residual: int, facts: ValueFacts) -> Module:
    """The module with peeled loops, on a chain whose bootstraps leave `residual` levels."""

    def rewrite(loop: Op, writer: LoopWriter) -> Sequence[Value] | None:
        return _peel(loop, writer) if is_peeled(loop, residual) else None

    return rewrite_loops(module, facts, rewrite)


def is_peeled(loop: Op, residual: int) -> bool:
    """Whether a loop that spends levels carries something that starts public and does not stay it."""
    if not any(map(is_trivial, inits_of(loop))) or not spends(loop, residual):
        return False
    plain = stays_plain(loop, residual)
    if loop.attrs.get("static_trip") is None and not fits_once(loop, residual):
        return False  # what runs on a condition has no bootstraps
    return any(is_trivial(v) and not stays for v, stays in zip(inits_of(loop), plain, strict=True))


def _peel(loop: Op, writer: LoopWriter) -> list[Value]:
    trip_count, inits = TripCount.of(loop), inits_of(loop)
    if not trip_count.is_static:
        first = writer.when(writer.is_above(trip_count, 0), inits, lambda inside: inside.iteration(loop, 0, inits))
    elif trip_count.static == 0:
        return inits
    else:
        first = writer.iteration(loop, 0, inits)
    counts = bool(loop.regions[0].block.args[0].uses)

    def body(inside: LoopWriter, index: Value, carried: list[Value]) -> list[Value]:
        return inside.iteration(loop, inside.shift_index(index, 1) if counts else index, carried)

    return writer.loop(writer.after(trip_count, 1), first, arguments_of(loop), body)


def peeling(residual: int) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave `residual` levels."""
    return Pass(
        "peel", lambda module, _cost: peel(module, residual, ValueFacts()), reads=("vec", "loop"), writes=WRITES
    )  # fmt: skip
