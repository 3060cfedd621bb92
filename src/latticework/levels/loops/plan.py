"""plan-loops: where programs with loops bootstrap, by one of several ways.

In: a vec module in which loops may spend levels, of trip counts known or not. Out: the same with bootstraps, in which
no loop does, so that `decide_levels` finds types for all that loops carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from latticework.ir import INDEX, Block, Module, Value
from latticework.ir.live import erase_dead
from latticework.levels.loops.blocks import BlockPlanner
from latticework.levels.loops.candidates import worthwhile
from latticework.levels.loops.flatten import flatten_inner
from latticework.levels.loops.halo import BASELINES, plan_halo
from latticework.levels.loops.period import MOST_POINTS
from latticework.levels.loops.rounds import Written
from latticework.levels.loops.run import Placed
from latticework.levels.loops.seconds import line_seconds
from latticework.levels.loops.target_level import target_level
from latticework.levels.loops.writing import LoopWriter, ValueCopies, ValueFacts
from latticework.levels.place_bootstrap import place_bootstraps
from latticework.levels.placement.condense import place_condensed
from latticework.levels.placement.vec_problem import VecPrices

OURS = "ours"
MODES = (OURS, *BASELINES)


def plan_loops(
    module: Module,
    residual: int,
    prices: VecPrices,
    exponents: Mapping[Value, int | None],
    *,
    mode: str = OURS,
    starts: Sequence[int | None] | None = None,
    iterations: int = 1,
) -> Module:
    """The module with bootstraps, in its loops and outside of them, on a chain where they leave `residual` levels.

    exponents   k where elements of a value lie within [-2^k, 2^k]; a value without one is not bootstrapped
    mode        "ours", or one of the baselines
    starts      level of each input, counted down from 0 at the top; the top if not given
    iterations  of every bootstrap
    raises      LevelError with the line of what spends more than a bootstrap leaves
    """
    facts = ValueFacts({value: k for value, k in exponents.items() if k is not None})
    if mode != OURS:
        return plan_halo(module, residual, prices, facts, mode)

    def place(run: Module, levels: Sequence[int | None], wanted: Sequence[int], known: Mapping[Value, int]) -> Placed:
        above = [residual if level is None else level + residual for level in levels]
        ends = [level + residual for level in wanted]
        few = worthwhile(run)
        able = {value: k for value, k in known.items() if value in few}
        made = place_bootstraps(
            run, residual, prices, able, starts=above, wanted=ends, iterations=iterations, placer=place_condensed
        )
        return Placed(made, line_seconds(made, levels, residual, prices))

    module = flatten_inner(module, residual, facts, MOST_POINTS)
    body, at = Block(), ValueCopies(facts)
    levels = Written()
    for value, level in zip(module.inputs, starts or [0] * len(module.inputs), strict=True):
        at[value] = body.add_arg(value.type, value.origin)
        levels[at[value]] = None if value.type is INDEX else level
    writer = LoopWriter(body, None, facts)
    outputs = module.body.terminator.operands
    ends = BlockPlanner(module, residual, place, writer, at, levels).block(module.body, [-residual] * len(outputs))
    writer.builder.create("loop.yield", ends, loc=module.body.terminator.loc)
    made = module.empty_like(body)
    erase_dead(made)
    return target_level(made, residual)
