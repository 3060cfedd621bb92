"""HALO's plan for loops, and what it is made of: the baselines that others are measured by.

In: a vec module in which loops spend levels. Out: one in which every loop bootstraps all that it carries at its head,
in one ciphertext where that is asked for and possible, as seldom as the unrolling rule says.
Source: HALO (ASPLOS'25).
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.depth import Env, levels_of
from latticework.compiler.levels.loops.iteration_levels import iteration_levels, stays_above
from latticework.compiler.levels.loops.pack_carried import MASK_AND_MASK, pack_carried, packed_values
from latticework.compiler.levels.loops.peel import peel
from latticework.compiler.levels.loops.slot_periods import carried_periods
from latticework.compiler.levels.loops.straight_run import iterations_of
from latticework.compiler.levels.loops.target_level import target_level
from latticework.compiler.levels.loops.type_match import type_match
from latticework.compiler.levels.loops.unroll_groups import factor_of, unroll_groups
from latticework.compiler.levels.loops.writing import (
    LoopWriter,
    TripCount,
    ValueCopies,
    ValueFacts,
    arguments_of,
    captured_by,
    inits_of,
    rewrite_loops,
)
from latticework.compiler.levels.place_bootstrap import place_bootstraps
from latticework.compiler.levels.placement import place_by_points
from latticework.compiler.levels.placement.vec_problem import VecPrices
from latticework.ir import Module, Op, Value
from latticework.ir.live import erase_dead

TYPE_MATCHED, PACKING, PACKING_UNROLLING, HALO = "type-matched", "packing", "packing-unrolling", "halo"
BASELINES = (TYPE_MATCHED, PACKING, PACKING_UNROLLING, HALO)


def plan_halo(module: Module, residual: int, prices: VecPrices, facts: ValueFacts, mode: str = HALO) -> Module:
    """The module with loops as HALO plans them, or without some of its steps.

    residual  levels that a bootstrap leaves at most
    raises    LevelError with the line of what spends more than that
    """
    assert mode in BASELINES, mode
    if mode != TYPE_MATCHED:
        facts.periods.update(carried_periods(module))
    module = peel(module, residual, facts)

    def factor(loop: Op) -> int:
        is_packed = bool(packed_values(loop, residual, facts))
        return factor_of(loop, residual, overhead=MASK_AND_MASK if is_packed else 0)

    if mode in (PACKING_UNROLLING, HALO):
        module = unroll_groups(module, facts, factor)
    if mode != TYPE_MATCHED:
        module = pack_carried(module, residual, facts)
    module = type_match(module, residual, facts)
    erase_dead(module)
    module = place_in_bodies(module, residual, prices, facts)
    if not stays_above(levels_of(module, residual=residual), residual):
        module = place_bootstraps(module, residual, prices, facts.exponents, placer=place_by_points)
    return target_level(module, residual) if mode == HALO else module


def place_in_bodies(module: Module, residual: int, prices: VecPrices, facts: ValueFacts) -> Module:
    """More bootstraps in bodies that spend more than the one at the head leaves; inner loops are steps of a body."""

    def rewrite(loop: Op, writer: LoopWriter) -> Sequence[Value] | None:
        arguments, floor = arguments_of(loop), -residual
        if stays_above(iteration_levels(loop, [floor] * len(arguments), residual), residual):
            return None
        levels: Env = {**dict.fromkeys(captured_by(loop), 0), **dict.fromkeys(arguments, floor)}
        line = iterations_of(loop, 1, levels, facts, module)
        starts = [(level or 0) + residual for level in line.run.starts]
        placed = place_bootstraps(
            line.module, residual, prices, facts.exponents, starts=starts, placer=place_by_points
        )  # fmt: skip

        def body(inside: LoopWriter, index: Value, carried: list[Value]) -> Sequence[Value]:
            known = dict(zip(arguments, carried, strict=True)) | dict.fromkeys(line.indices, index)
            copies = ValueCopies(facts)
            copies.update((v, known.get(o, o)) for v, o in zip(placed.inputs, line.run.outside, strict=True))
            for op in placed.body.ops[:-1]:
                inside.builder.copy(op, copies)
            return [copies[v] for v in placed.body.terminator.operands]

        return writer.loop(TripCount.of(loop), inits_of(loop), arguments, body)

    return rewrite_loops(module, facts, rewrite)
