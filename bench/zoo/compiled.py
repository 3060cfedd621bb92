"""What is told of a model that has been compiled."""

from __future__ import annotations

from typing import Any

import latticework as lw
from bench.compiling import peak_bytes
from latticework.plan.analysis.estimate import CostEstimate


def compile_figures(model: lw.Model, cost: CostEstimate, seconds: float, before: int) -> dict[str, Any]:
    """By name: what compiling took, and what the plan takes.

    before  peak memory of the process until then, in bytes
    """
    chain, counts = model.plan.chain, cost.counts
    return {
        "seconds": seconds, "peak": peak_bytes(), "before": before, "ring": chain.ring_degree,
        "levels": chain.main.top, "bootstraps": counts.bootstraps, "rotations": counts.rotations,
        "keys": len(model.plan.keys), "key bytes": model.plan.client.manifest.total_stored_bytes,
        "predicted": cost.warm_seconds, "memory": cost.memory.total,
        "functions": [f"{a.function} {a.degree}" for a in model.plan.approximations], "said": model.plan.loss,
    }  # fmt: skip
