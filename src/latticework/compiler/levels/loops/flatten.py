"""flatten-inner: short inner loops that spend levels become copies in the bodies of the loops around them.

In/out: vec IR, same cleartext meaning. Of a body in a straight line every operation is a place for a bootstrap, and
what an inner loop leaves need not be what it starts from. For known trip counts, as far as the copies are few.
Cost: O(ops), times the copies.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.depth import spent_by
from latticework.compiler.levels.loops.iteration_levels import spends
from latticework.compiler.levels.loops.writing import LoopWriter, TripCount, ValueFacts, inits_of, rewrite_loops
from latticework.ir import Module, Op, Pass, Value
from latticework.ir.core import walk_regions


def flatten_inner(module: Module, residual: int, facts: ValueFacts, most: int) -> Module:
    """The module without inner loops whose copies have at most `most` operations that spend levels."""

    def rewrite(loop: Op, writer: LoopWriter) -> Sequence[Value] | None:
        trip_count = TripCount.of(loop)
        if not writer.is_nested or not trip_count.is_static or not spends(loop, residual):
            return None
        if trip_count.static * sum(1 for op in walk_regions(loop.regions) if spent_by(op)) > most:
            return None
        carried = inits_of(loop)
        for number in range(trip_count.static):
            carried = writer.iteration(loop, number, carried)
        return carried

    return rewrite_loops(module, facts, rewrite)


def flattening(residual: int, most: int) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave `residual` levels."""
    return Pass(
        "flatten-inner", lambda module, _cost: flatten_inner(module, residual, ValueFacts(), most),
        reads=("vec", "loop"), writes=("loop.index_constant",),
    )  # fmt: skip
