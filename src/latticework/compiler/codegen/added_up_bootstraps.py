"""Seconds that the operations of a bootstrap add up to: from a shipped table, or from its code.

They depend on the chain, the cost table and the kind of bootstrap alone, but to find them a bootstrap has to be
expanded to code, a tenth of a second for each. So the package has them for its sets and its own cost table
(`tools/add_up_bootstraps.py` writes them), just as they would be found; for others they are found anew.
"""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from latticework.compiler.codegen.bootstrap_plans import bootstrap_plan
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.parameters import ModulusChain

TABLE = "added_up_bootstraps.json"


def priced_targets(chain: ModulusChain) -> tuple[int, ...]:
    """Targets whose operations are added up, ascending; what lies between is near the line through them."""
    most = chain.main.top - chain.floor
    return tuple(sorted({1, (most + 1) // 2, most}))


@lru_cache(maxsize=256)
def added_up_seconds(costs: CostModel, chain: ModulusChain, slots: int, target: int, real: bool) -> float:
    """Return the seconds of a bootstrap's operations to one of the priced targets.

    costs by identity: a table is read once.
    """
    widths = _read_stored(costs.table_hash).get(name_chain(chain), {})
    if str(slots) in widths:
        return float(widths[str(slots)][real][priced_targets(chain).index(target)])
    return find_seconds((costs,), chain, slots, target, real)[0]


def find_seconds(
    costs: tuple[CostModel, ...], chain: ModulusChain, slots: int, target: int, real: bool
) -> tuple[float, ...]:
    """Expand a bootstrap, and add up its operations by each of some cost tables."""
    plan = bootstrap_plan(chain, slots, target, real=real)
    return tuple(estimate(plan, model).warm_seconds for model in costs)


@lru_cache(maxsize=16)
def name_chain(chain: ModulusChain) -> str:
    """Return a hash of all that a chain is, its circuit too."""
    return sha256(repr(chain).encode()).hexdigest()


def _read_stored(table_hash: str) -> dict[str, Any]:
    """Return what is stored for a cost table: seconds by chain, width, whether real, and priced target."""
    found: dict[str, Any] = _load().get(table_hash, {})
    return found


@lru_cache(maxsize=1)
def _load() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files(__package__).joinpath(TABLE).read_text(encoding="utf-8"))["tables"]
    return content
