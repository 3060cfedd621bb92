"""Run counts of a plan's blocks: trip counts known before the run, or their limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from latticework.plan.instructions.walk import Body, Site, Valueless, Walk
from latticework.plan.schema.bootstraps import steps_of
from latticework.plan.schema.schema import IndexInput, Plan

UNBOUNDED = 1 << 62  # a limit of trip counts from here on is none


class TripCounts:
    """Trip counts, as far as they are known before a run.

    indices    an item for each input: its value if it is a public integer and known; one that is not given counts as
               its limit
    assumed    these values by name;  unbounded  lines of loops whose trip count has no limit: they count as one trip
    """

    def __init__(self, plan: Plan, values: Mapping[str, int] | None = None) -> None:
        self.assumed: dict[str, int] = {}
        self.unbounded: set[int] = set()
        chosen = dict(values or {})
        for spec in plan.client.inputs:
            value = chosen.get(spec.name, spec.limit) if isinstance(spec, IndexInput) else None
            if value is not None:
                self.assumed[spec.name] = value
        named = [self.assumed.get(spec.name) for spec in plan.client.inputs]
        self.indices = named or [None] * len(plan.blocks[0].arguments)  # bare plans describe no inputs

    def of(self, loop: Site, known: int | None) -> int:
        """Return the trip count of a `for`: known, or at most its limit."""
        limit = loop.instruction.immediate[1]
        if known is not None:
            return max(0, min(known, limit))
        if limit < UNBOUNDED:
            return limit
        self.unbounded.add(loop.instruction.location)
        return 1


class Once(Valueless):
    """Looks at every block once, at both branches too, and knows how often it runs; values are not followed.

    times  that the block runs which is followed
    """

    def __init__(self, plan: Plan, counts: TripCounts) -> None:
        self.plan = plan
        self.trips = counts
        self.times = 1

    def follow(self) -> None:
        """Look at all code that runs."""
        Walk(self.plan, self.plan.chain, self).run(0, self.trips.indices)

    def loop(self, site: Site, trip_count: int | None, carried: Sequence[Any], body: Body) -> Sequence[None]:
        """Follow the body once, as one that runs in every iteration of every run of the loop."""
        outside = self.times
        self.times *= self.trips.of(site, trip_count)
        body(None, [None] * len(carried))
        self.times = outside
        return [None] * len(carried)


class _Count(Once):
    """A count of the instructions that run."""

    total = 0
    steps: Collection[int] = ()  # blocks that are not followed

    def call(self, site: Site, _operands: Sequence[Any], follow: Callable[[], list[Any]]) -> Sequence[Any]:
        """A block is followed but for those that are one step."""
        return [None] * len(site.instruction.results) if site.instruction.immediate[0] in self.steps else follow()

    def visit(self, site: Site) -> None:
        """Count an instruction as often as it runs."""
        self.total += self.times


def instructions_run(plan: Plan, *, into_bootstraps: bool = True) -> int:
    """Instructions that a run executes, both branches of every `if`, each loop with its largest trip count.

    into_bootstraps  False: a bootstrap is one, where the plan says what it leaves
    """
    count = _Count(plan, TripCounts(plan))
    count.steps = () if into_bootstraps else steps_of(plan)
    count.follow()
    return count.total
