"""What bootstraps take on one chain, by target: as measured, or as their operations add up to."""

from __future__ import annotations

from functools import lru_cache

from latticework.analysis.estimate import estimate
from latticework.codegen.bootstraps import bootstrap_plan
from latticework.cost import CostModel
from latticework.params import ModulusChain

ESTIMATED = 4  # targets at which operations are added up; between them on lines


@lru_cache(maxsize=64)
def bootstrap_prices(
    costs: CostModel, chain: ModulusChain, slots: int, *, real: bool, iterations: int = 1
) -> tuple[float, ...]:
    """Seconds of a bootstrap of one ciphertext to each target from 0 (which is none, and free) to the highest.

    costs  by identity: a table is read once
    """
    most = chain.main.top - chain.floor
    steps = min(ESTIMATED, most)
    targets = sorted({1 + round((most - 1) * step / max(steps - 1, 1)) for step in range(steps)})
    known: dict[int, float] = {}

    def added_up(target: int) -> float:
        if target not in known:
            known[target] = estimate(bootstrap_plan(chain, slots, target, real=real), costs).warm_seconds
        return known[target]

    def between(target: int) -> float:
        if target in targets:
            return added_up(target)
        low, high = max(t for t in targets if t < target), min(t for t in targets if t > target)
        return added_up(low) + (target - low) / (high - low) * (added_up(high) - added_up(low))

    def seconds(target: int) -> float:
        return costs.bootstrap_seconds(chain, target, slots, lambda: between(target), real=real, iterations=iterations)

    return (0.0, *map(seconds, range(1, most + 1)))
