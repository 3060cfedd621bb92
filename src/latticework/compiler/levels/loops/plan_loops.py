"""plan-loops: where programs with loops bootstrap, by one of several strategies.

In: a vec module in which loops may spend levels, of trip counts known or not. Out: the same with bootstraps, in which
no loop does, so that `decide_levels` finds types for all that loops carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from latticework.compiler.levels.loops.block_planner import BlockPlanner
from latticework.compiler.levels.loops.bootstrap_period import MOST_COPIED, note_period
from latticework.compiler.levels.loops.candidates import worthwhile
from latticework.compiler.levels.loops.executed import bootstraps_run
from latticework.compiler.levels.loops.flatten import flatten_inner
from latticework.compiler.levels.loops.halo_baseline import BASELINES, plan_halo
from latticework.compiler.levels.loops.iteration_levels import Written
from latticework.compiler.levels.loops.pack_carried import MASK_AND_MASK, pack_carried, packed_values
from latticework.compiler.levels.loops.peel import peel
from latticework.compiler.levels.loops.seconds import USUAL_TRIPS, line_seconds, module_seconds
from latticework.compiler.levels.loops.slot_periods import carried_periods
from latticework.compiler.levels.loops.straight_run import PlacedRun
from latticework.compiler.levels.loops.target_level import target_level
from latticework.compiler.levels.loops.unroll_groups import factor_of, unroll_groups
from latticework.compiler.levels.loops.writing import LoopWriter, ValueCopies, ValueFacts
from latticework.compiler.levels.place_bootstrap import place_bootstraps
from latticework.compiler.levels.placement.condense import place_condensed
from latticework.compiler.levels.placement.vec_problem import VecPrices
from latticework.errors import LevelError
from latticework.ir import INDEX, Block, Loc, Module, Op, Value
from latticework.ir.live import erase_dead
from latticework.lazy_dataclass import dataclass

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

    def facts() -> ValueFacts:
        return ValueFacts({value: k for value, k in exponents.items() if k is not None})

    if mode != OURS:
        return plan_halo(module, residual, prices, facts(), mode)
    planner = _Planner(residual, prices, starts, iterations)
    result = planner.plan(module, facts())
    packed_facts = facts()
    named = zip(module.input_names, module.inputs, strict=True)
    had = bootstraps_run(result, {name: USUAL_TRIPS for name, value in named if value.type is INDEX})
    packing = packed_loops(module, residual, packed_facts, had)
    if packing is None:
        return result
    packed, factors = packing
    with suppress(LevelError):
        other = planner.plan(packed, packed_facts)
        for loop in other.walk():
            if loop.name == "loop.for" and loop.loc in factors:
                note_period(loop.regions[0].block, factors[loop.loc])
        if planner.seconds(other) < planner.seconds(result):
            return other
    return result


def packed_loops(module: Module, residual: int, facts: ValueFacts, had: int) -> tuple[Module, dict[Loc, int]] | None:
    """The module with loops that carry several small values in one ciphertext, as many iterations at a time as fit.

    Beside it how many these are, by the lines of the loops.

    had  bootstraps that are run without
    None where no loop carries more than two, for these share a bootstrap without masks, or where packing takes as many.
    """
    loops = [op for op in module.walk() if op.name == "loop.for"]
    if all(len(op.results) <= 2 for op in loops):
        return None
    facts.periods.update(carried_periods(module))
    small = [op for op in loops if len(packed_values(op, residual, facts)) > 2]
    if not small or any(op.attrs.get("static_trip") is None for op in loops):
        return None  # iterations left over of a number known at run time would be conditions in a loop

    def factor(loop: Op) -> int:
        is_packed = len(packed_values(loop, residual, facts)) > 2
        return max(factor_of(loop, residual, overhead=MASK_AND_MASK), 1) if is_packed else 1

    if had <= sum(op.attrs["static_trip"] // factor(op) for op in small):
        return None
    factors = {op.loc: factor(op) for op in loops}
    module = unroll_groups(peel(module, residual, facts), facts, factor)
    return pack_carried(module, residual, facts, refresh=False), factors


@dataclass(frozen=True)
class _Planner:
    """Our own strategy, with the arguments of `plan_loops`."""

    residual: int
    prices: VecPrices
    starts: Sequence[int | None] | None
    iterations: int

    def place(
        self, run: Module, levels: Sequence[int | None], wanted: Sequence[int], known: Mapping[Value, int]
    ) -> PlacedRun:
        """A run with its bootstraps."""
        residual = self.residual
        above = [residual if level is None else level + residual for level in levels]
        ends = [level + residual for level in wanted]
        few = worthwhile(run)
        able = {value: k for value, k in known.items() if value in few}
        with_bootstraps = place_bootstraps(
            run, residual, self.prices, able, starts=above, wanted=ends, iterations=self.iterations,
            placer=place_condensed,
        )  # fmt: skip
        return PlacedRun(with_bootstraps, line_seconds(with_bootstraps, levels, residual, self.prices))

    def plan(self, module: Module, facts: ValueFacts) -> Module:
        """The module with bootstraps."""
        residual = self.residual
        module = flatten_inner(module, residual, facts, MOST_COPIED)
        body, at = Block(), ValueCopies(facts)
        levels = Written()
        for value, level in zip(module.inputs, self.starts or [0] * len(module.inputs), strict=True):
            at[value] = body.add_arg(value.type, value.origin)
            levels[at[value]] = None if value.type is INDEX else level
        writer = LoopWriter(body, None, facts)
        outputs = module.body.terminator.operands
        around = BlockPlanner(module, residual, self.place, writer, at, levels)
        ends = around.block(module.body, [-residual] * len(outputs))
        writer.builder.create("loop.yield", ends, loc=module.body.terminator.loc)
        planned = module.empty_like(body)
        erase_dead(planned)
        return target_level(planned, residual)

    def seconds(self, module: Module) -> float:
        """Seconds that a planned module takes."""
        starts = None if self.starts is None else list(self.starts)
        return module_seconds(module, starts, self.residual, self.prices)
