"""Timing of rescales: two plans of one program are compared by what they take, region by region.

In one plan everything is computed as high as its operands lie, in the other as low as its readers allow. Where they
differ, the second computes with fewer limbs and brings values down before they are read, the first afterwards, or not
at all, as outputs may lie high. Differences that meet in no value do not depend on each other: each such region is
decided by itself, and no choice between whole regions takes less.
Cost: O(ops).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Protocol

from latticework.compiler.levels.groups import Groups
from latticework.compiler.levels.level_plan import TOP, Drop, LevelPlan, Settle, State, after
from latticework.ir import Block, Op, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.sums import add_up


class LevelPrices(Protocol):
    """Prices of `vec` code, in seconds, by the levels that lie above what is read."""

    def operation(self, op: Op, spent: int) -> float:
        """An operation, with the rescale of a product with a public vector."""

    def settle_seconds(self, spent: int) -> float:
        """One ciphertext, relinearised and rescaled."""

    def drop_seconds(self, spent: int) -> float:
        """One ciphertext brought down from here by a product with an integer, and a rescale."""


def worth_lowering(high: LevelPlan, low: LevelPlan, prices: LevelPrices) -> set[Value]:
    """The values of all regions in which the lower plan takes less.

    high, low  plans of one module, on as many levels
    """
    regions: Groups[Hashable] = Groups()
    saved: dict[Hashable, float] = defaultdict(float)
    first, second = _Priced(high, prices), _Priced(low, prices)
    every = list(_operations(high.module.body, 1))
    changed = [(op, times) for op, times in every if _differs(op, high, low)]
    for op, _ in every:
        if not _differs(op, high, low):
            first.seconds(op), second.seconds(op)  # their steps are there in any case
    for op, times in changed:
        before = zip(first.steps(op), second.steps(op), strict=True)
        for number, (value, (late, early)) in enumerate(zip(op.operands, before, strict=True)):
            use = op, number
            saved[use] = times * (late - early)
            if not op.name.startswith("loop."):
                regions.join(op, use)  # ends of blocks, and loops, read each value by itself
            if high.states[value] != low.states[value] or _comes_down(op, number, high, low):
                regions.join(use, value)
        saved[op] = times * (first.own(op) - second.own(op))
        for value in op.results:
            regions.join(op, value)
    by_region: dict[Hashable, float] = defaultdict(float)
    for member, seconds in saved.items():
        by_region[regions.of(member)] += seconds
    return {value for op, _ in changed for value in op.results if by_region[regions.of(op)] > 0}


def plan_seconds(plan: LevelPlan, prices: LevelPrices) -> float:
    """Seconds that a plan takes, bootstraps left out; loops by the trips that are known of."""
    priced = _Priced(plan, prices)
    return add_up(times * priced.seconds(op) for op, times in _operations(plan.module.body, 1))


def _operations(block: Block, times: int) -> Iterator[tuple[Op, int]]:
    """Operations in order, nested ones too, ends of blocks included, and how often each is run as far as is known."""
    for op in block.ops:
        yield op, times
        trip_count = (op.attrs.get("static_trip") or op.attrs.get("at_most") or 1) if op.name == "loop.for" else 1
        for region in op.regions:
            yield from _operations(region.block, times * trip_count)


def _differs(op: Op, high: LevelPlan, low: LevelPlan) -> bool:
    return high.ops[op] != low.ops[op] or any(high.states[v] != low.states[v] for v in op.results)


def _comes_down(op: Op, number: int, *plans: LevelPlan) -> bool:
    """Whether an operand is brought down in one of the plans."""
    return any(at == number and isinstance(step, Drop) for plan in plans for at, step in plan.ops[op].before)


class _Priced:
    """Seconds of operations of a plan; steps that several readers share are counted for the first."""

    def __init__(self, plan: LevelPlan, prices: LevelPrices) -> None:
        self.plan, self.prices = plan, prices
        self.had: set[tuple[Value, State, State]] = set()

    def seconds(self, op: Op) -> float:
        """An operation with the steps on its operands."""
        return add_up(self.steps(op)) + self.own(op)

    def steps(self, op: Op) -> list[float]:
        """The steps on each operand."""
        result, states = [0.0] * len(op.operands), [self.plan.states[v] for v in op.operands]
        for number, step in self.plan.ops[op].before:
            before, states[number] = states[number], after(states[number], step)
            shared = (op.operands[number], before, states[number])
            if shared not in self.had:
                self.had.add(shared)
                result[number] += _count(op.operands[number]) * self._step(before, step)
        return result

    def own(self, op: Op) -> float:
        """An operation, on operands as they are after steps, with what settles its result."""
        planned, states = self.plan.ops[op], [self.plan.states[v] for v in op.operands]
        if not planned.writes or not op.name.startswith("vec."):
            return 0.0
        for number, step in planned.before:
            states[number] = after(states[number], step)
        spent = TOP - min((state.level for state in states if state is not None), default=TOP)
        settles = planned.after is not None and planned.after.relinearize
        return self.prices.operation(op, spent) + (
            _count(op.result) * self.prices.settle_seconds(spent) if settles else 0.0
        )

    def _step(self, before: State, step: object) -> float:
        if before is None:
            return 0.0
        match step:
            case Settle(relinearize=True):
                return self.prices.settle_seconds(TOP - before.level)
            case Drop(level):
                return self.prices.drop_seconds(TOP - level - 1)
        return 0.0


def _count(value: Value) -> int:
    return value.type.count if isinstance(value.type, VecType) else 0
