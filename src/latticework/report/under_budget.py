"""Memory of a server under a budget, over the time of a run and beside other budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from latticework.plan.analysis.memory_plan import MemoryPlan, MemoryPlanner
from latticework.plan.cost import CostModel
from latticework.plan.key_schedule.key_eviction import RowTraffic
from latticework.plan.key_schedule.keys_over_time import Stretch, Trace, merge_stretches
from latticework.plan.machine.shown_prices import shown_costs
from latticework.plan.schema.amounts import checked_runs, parse_bytes
from latticework.plan.schema.schema import Plan
from latticework.report.budget_records import KeyLine, KeyLoop, KeyStretch, UnderBudget
from latticework.report.source_places import where_text

CURVE_POINTS, FEWEST_POINTS = 14, 6
CURVE_WINDOWS = 1 << 12  # of loops that turn often, that are looked at one by one for each of these points
MOST_STRETCHES = 480  # of a run


def under_budget(
    plan: Plan,
    memory: str | int,
    model: CostModel | None = None,
    trips: Mapping[str, int] | None = None,
    *,
    runs: int = 1,
) -> UnderBudget:
    """Share memory out as a server of the plan does, and predict what a run then does.

    runs    at the same time, that there has to be room for
    raises  UserError for what is no amount; BudgetError for one that is too small
    """
    budget_bytes = parse_bytes(memory)
    planner = MemoryPlanner(plan, shown_costs(model), trips, runs=checked_runs(runs, memory))
    made = planner.share(budget_bytes)
    trace, least = planner.trace(made), made.least
    point = planner.point(made, CURVE_WINDOWS)
    windows = max(point.later.windows, 1)  # more than CURVE_WINDOWS only where there are no loops to cut short
    return UnderBudget(
        point,
        planner.curve(max(FEWEST_POINTS, min(CURVE_POINTS, CURVE_POINTS * CURVE_WINDOWS // windows)), CURVE_WINDOWS),
        None if least is None else (least.op, where_text(plan.locations[least.line])),
        tuple(_lines(made, plan)),
        tuple(_stretches(made, plan, trace)),
        tuple(_loops(trace)),
    )


def _lines(made: MemoryPlan, plan: Plan) -> list[KeyLine]:
    """Those that read most first; places of one line together."""
    found: dict[tuple[str, str], RowTraffic] = {}
    for location, reading in sorted(made.keys.residency.by_line.items()):
        for line, share in plan.shares(location):
            where = plan.locations[line]
            found.setdefault((where_text(where), where.text.strip()), RowTraffic()).include(reading, share)
    lines = [KeyLine(*line, r.wanted, r.loaded, r.stalls, r.stall_seconds) for line, r in found.items()]
    return sorted(lines, key=lambda line: -line.loads)


def _stretches(made: MemoryPlan, plan: Plan, trace: Trace) -> Iterator[KeyStretch]:
    """The run in as many stretches as can be told apart."""
    row, buffers, start = made.keys.row_bytes, made.keys.buffer_bytes, 0.0
    bootstraps, called = {each.block for each in plan.bootstraps}, dict[int, int]()
    for one in merge_stretches(trace.stretches, MOST_STRETCHES):
        where, text = _largest_line(plan, one)
        number, block = one.call or (0, -1)
        bootstrap = called.setdefault(number, len(called)) if block in bootstraps else None
        each = row / one.seconds if one.seconds else 0.0
        yield KeyStretch(
            start, one.seconds, one.waiting, where, text, "" if one.site is None else one.site.record.name, bootstrap,
            one.most_rows * row + buffers, one.held * each + buffers, one.unread * each,
            (one.held - one.claimed - one.spent) * each, one.spent * each, one.loaded, one.stalls,
        )  # fmt: skip
        start += one.seconds


def _largest_line(plan: Plan, one: Stretch) -> tuple[str, str]:
    """The line that has the largest share in what is at a location."""
    if one.line is None:
        return "", ""
    place = plan.locations[max(plan.shares(one.line), key=lambda share: share[1])[0]]
    return where_text(place), place.text.strip()


def _loops(trace: Trace) -> Iterator[KeyLoop]:
    starts = list(accumulate((one.seconds for one in trace.stretches), initial=0.0))
    for loop in trace.loops:
        start, alike, until, end = (starts[number] for number in (loop.first, *loop.middle, loop.end))
        yield KeyLoop(loop.trips, start, alike, until, end, loop.depth)
