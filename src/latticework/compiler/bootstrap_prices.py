"""Prices of operations and bootstraps on one chain with bootstraps, by level."""

from __future__ import annotations

from dataclasses import field, replace
from math import ceil
from typing import Any

import numpy as np

from latticework.compiler.codegen.added_up_bootstraps import added_up_seconds, priced_targets
from latticework.compiler.layout_choice import CodeCost
from latticework.compiler.layout_choice.prices import Seconds
from latticework.compiler.levels import ciphertexts
from latticework.compiler.levels.depth import levels_of, spent_by
from latticework.compiler.levels.loops.executed import executions
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.ir import Module, Op
from latticework.lazy_dataclass import dataclass
from latticework.plan.cost import CostModel, Shape
from latticework.plan.instructions.value_shapes import level_shape
from latticework.plan.parameters import ModulusChain


@dataclass
class ChainSeconds(Seconds):
    """Prices at the levels of one chain; what is spent is counted from its top."""

    chain: ModulusChain = field(kw_only=True)

    def shape(self, spent: int, p: bool = True, polys: int = 2, dropped: int = 0) -> Shape:
        """The shape of an operation."""
        level = self.chain.main.top - spent
        target = len(self.chain.main.basis(level - dropped)) if dropped else None
        return replace(level_shape(self.chain, level, over_p=p), target=target, polys=polys)


@dataclass
class BootstrapPrices:
    """Prices of a program of vectors of one width on a chain.

    iterations  of every bootstrap
    """

    costs: CostModel
    chain: ModulusChain
    slots: int
    techniques: Techniques = ALL
    iterations: int = 1
    _code: CodeCost = field(init=False)

    def __post_init__(self) -> None:
        self._code = CodeCost(
            ChainSeconds(self.costs, self.chain.ring_degree, self.residual, self.techniques, chain=self.chain), 0.0
        )

    @property
    def residual(self) -> int:
        """Levels that a bootstrap leaves at most."""
        return self.chain.main.top - self.chain.floor

    def operation(self, op: Op, level: int) -> float:
        """Price an operation of a `vec` module whose operands are read at a level above the floor, in seconds."""
        if not any(value.is_secret for value in op.results):
            return 0.0
        spent = self.residual - level
        seconds = self._code.operation(op, spent)
        if op.name == "vec.mul" and all(value.is_secret for value in op.operands):
            kind: Any = op.result.type
            seconds += kind.count * self._code.vectors.relinearization(spent)
        return seconds

    def bootstrap(self, target: int, *, real: bool, count: int = 1) -> float:
        """Price bootstraps of a number of ciphertexts to a target, in seconds."""
        once = bootstrap_seconds(self.costs, self.chain, self.slots, target, real=real)
        return count * self.iterations * once


def program_seconds(module: Module, prices: BootstrapPrices, trip_counts: dict[str, int]) -> float:
    """Seconds of a `vec` module with its bootstraps.

    trip_counts  run-time integers by the names of inputs
    """
    is_refreshed = prices.chain.bootstrap is not None
    levels = levels_of(module, residual=prices.residual if is_refreshed else None).of
    seconds = 0.0
    for op, count in executions(module, trip_counts).items():
        if op.name == "vec.bootstrap":
            target = op.attrs["target"]
            once = sum(prices.bootstrap(target, real=g.real, count=g.number) for g in ciphertexts(op))
        elif op.results:
            read = [levels[v] or 0 for v in op.operands if v.is_secret]
            once = prices.operation(op, prices.residual + min(read, default=0))
        else:
            once = 0.0
        seconds += count * once
    return seconds


def rough_seconds(module: Module, depth: int, prices: BootstrapPrices, trip_counts: dict[str, int]) -> float:
    """Estimate the seconds of a `vec` module with bootstraps before they are placed: operations at half the levels,
    bootstraps one after the other on a deepest path.

    depth  levels that it spends, of one iteration of each loop
    """
    middle, residual, work, rounds = prices.residual // 2, prices.residual, 0.0, 1
    for op, count in executions(module, trip_counts).items():
        if op.results:
            work += count * prices.operation(op, max(middle, min(spent_by(op), residual)))
            rounds = max(rounds, count if spent_by(op) else 1)
    refreshes = ceil(rounds * depth / residual) - 1
    return work + max(refreshes, 0) * prices.bootstrap(residual, real=True)


def bootstrap_seconds(costs: CostModel, chain: ModulusChain, slots: int, target: int, *, real: bool) -> float:
    """Seconds of a bootstrap of one ciphertext to a target.

    Where none was measured, operations are added up at a few targets, and what lies between is taken from lines.
    """
    targets = priced_targets(chain)

    def added_up() -> float:
        if target in targets:
            return added_up_seconds(costs, chain, slots, target, real)
        low, high = max(t for t in targets if t < target), min(t for t in targets if t > target)
        ends = (added_up_seconds(costs, chain, slots, end, real) for end in (low, high))
        return float(np.interp(target, (low, high), tuple(ends)))

    return costs.bootstrap_seconds(chain, target, slots, added_up, real=real)
