"""The costs of a plan's bootstraps: one row for each call, however often it runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.step_prices import Step
from latticework.plan.instructions.reason import RefreshReason
from latticework.plan.parameters.bootstrap_chain import failure_log2
from latticework.plan.schema.bootstraps import Bootstrap, bootstraps_of
from latticework.plan.schema.schema import Plan
from latticework.values.sums import add_up


@dataclass(frozen=True, slots=True)
class BootstrapCost:
    """The bootstraps that one call makes in a run.

    location  of the call;  kind  of each;  reason  why it stands there; None: nothing was noted
    times     that it runs: once for every iteration of the loops around it
    seconds   of all of them, matrices encoded;  encode_seconds  for the matrices that it is the first to use
    """

    location: int
    kind: Bootstrap
    times: int
    seconds: float
    encode_seconds: float
    reason: RefreshReason | None = None


@dataclass(frozen=True, slots=True)
class BootstrapCosts:
    """All bootstraps of a run.

    calls         in the order in which they first run
    seconds       of all of them in a later run, matrices encoded
    keys          numbers of the keys that nothing but bootstraps reads
    failure_log2  log2 of the probability that one of them gives a wrong slot: of all of them together at most that
    """

    calls: tuple[BootstrapCost, ...]
    seconds: float
    keys: tuple[int, ...]
    failure_log2: float


def bootstrap_costs(plan: Plan, steps: Sequence[Step]) -> BootstrapCosts | None:
    """Return what the bootstraps among `steps` cost; None where there are none."""
    kinds = bootstraps_of(plan, plan.chain)
    groups: list[list[Step]] = []
    for step in steps:
        if step.bootstrap is not None:
            if "bootstraps" in step.counts:  # the call itself
                groups.append([])
            groups[-1].append(step)
    if not groups:
        return None
    calls = tuple(_cost(plan, kinds, group) for group in groups)
    outside = {key for step in steps if step.bootstrap is None for key in step.keys}
    inside = {key for group in groups for step in group for key in step.keys}
    failing = add_up(call.times * _failing(plan, call.kind) for call in calls)
    return BootstrapCosts(
        calls,
        add_up(call.seconds for call in calls),
        tuple(sorted(inside - outside)),
        log2(failing) if failing > 0 else float("-inf"),
    )


def _cost(plan: Plan, kinds: dict[int, Bootstrap], group: list[Step]) -> BootstrapCost:
    call = group[0]
    assert call.bootstrap is not None
    repeated = add_up(step.seconds for step in group if not step.is_encoding)
    encoding = add_up(step.seconds for step in group if step.is_encoding)
    reason = next((each.reason for each in plan.reasons if (each.block, each.place) == (call.block, call.index)), None)
    return BootstrapCost(call.location, kinds[call.bootstrap], call.trips, repeated, encoding, reason)


def _failing(plan: Plan, kind: Bootstrap) -> float:
    """The probability that one call gives a wrong slot."""
    one: float = 2.0 ** failure_log2(plan.chain, kind.slots * (1 if kind.real else 2))
    return kind.count * kind.iterations * one
