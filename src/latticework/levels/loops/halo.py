"""HALO's plan for loops, and what it is made of: the baselines that others are measured by.

In: a vec module in which loops spend levels. Out: one in which every loop bootstraps all that it carries at its head,
in one ciphertext where that is asked for and possible, as seldom as the unrolling rule says.
Source: HALO (ASPLOS'25).
"""

from __future__ import annotations

from latticework.ir import Module, Op
from latticework.ir.live import erase_dead
from latticework.levels.loops.pack_carried import MASK_AND_MASK, pack_carried, packed_values
from latticework.levels.loops.peel import peel
from latticework.levels.loops.periods import carried_periods
from latticework.levels.loops.target_level import target_level
from latticework.levels.loops.type_match import type_match
from latticework.levels.loops.unroll_groups import factor_of, unroll_groups
from latticework.levels.loops.writing import ValueFacts

TYPE_MATCHED, PACKING, PACKING_UNROLLING, HALO = "type-matched", "packing", "packing-unrolling", "halo"
BASELINES = (TYPE_MATCHED, PACKING, PACKING_UNROLLING, HALO)


def plan_halo(module: Module, residual: int, facts: ValueFacts, mode: str = HALO) -> Module:
    """The module with loops as HALO plans them, or without some of its steps.

    residual  levels that a bootstrap leaves at most
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
    return target_level(module, residual) if mode == HALO else module
