"""Seconds that vec code with bootstraps takes, by prices handed in."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.bootstrap_calls import ciphertexts
from latticework.compiler.levels.depth import Env, is_public, levels_of
from latticework.compiler.levels.loops.executed import executions
from latticework.compiler.levels.placement.vec_problem import VecPrices
from latticework.ir import INDEX, Module, Op
from latticework.values.sums import add_up

USUAL_TRIPS = 40  # of loops of which nobody knows


def line_seconds(module: Module, starts: Sequence[int | None], residual: int, prices: VecPrices) -> float:
    """Seconds of a module without loops, from inputs at these levels."""
    of = levels_of(module, starts, residual).of
    return add_up(_op_seconds(op, of, residual, prices) for op in module.body.ops[:-1])


def _op_seconds(op: Op, of: Env, residual: int, prices: VecPrices) -> float:
    if op.name == "vec.bootstrap":
        target = op.attrs["target"]
        return add_up(prices.bootstrap(target, real=each.real, count=each.number) for each in ciphertexts(op))
    if not op.name.startswith("vec.") or is_public(op):
        return 0.0
    read = min((level for v in op.operands if (level := of[v]) is not None), default=0)
    return prices.operation(op, read + residual)


def module_seconds(module: Module, starts: Sequence[int | None] | None, residual: int, prices: VecPrices) -> float:
    """Seconds of a module in which no loop spends levels, from inputs at these levels; every run-time number is 40."""
    of = levels_of(module, starts, residual).of
    pairs = zip(module.input_names, module.inputs, strict=True)
    trip_counts = {name: USUAL_TRIPS for name, value in pairs if value.type is INDEX}
    total = 0.0
    for op, number in executions(module, trip_counts).items():
        total += number * _op_seconds(op, of, residual, prices)
    return total
