"""What vec code with bootstraps takes in a straight line, by prices handed in."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.ir import Module
from latticework.levels.bootstraps import ciphertexts
from latticework.levels.depth import is_public, levels_of
from latticework.levels.placement.vec_problem import VecPrices


def line_seconds(module: Module, starts: Sequence[int | None], residual: int, prices: VecPrices) -> float:
    """Seconds of a module without loops, from inputs at these levels."""
    of = levels_of(module, starts, residual).of
    total = 0.0
    for op in module.body.ops[:-1]:
        if op.name == "vec.bootstrap":
            target = op.attrs["target"]
            total += sum(prices.bootstrap(target, real=each.real, count=each.number) for each in ciphertexts(op))
        elif op.name.startswith("vec.") and not is_public(op):
            read = min((level for v in op.operands if (level := of[v]) is not None), default=0)
            total += prices.operation(op, read + residual)
    return total
