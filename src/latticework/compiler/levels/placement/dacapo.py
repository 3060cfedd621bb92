"""The placer of DaCapo, as a baseline: all live values at chosen points, always to the top.

Points stand behind operations that spend levels. A point's set is what is live there, without values that are not read
before half of the levels are spent. Points are grouped by the ciphertexts in their sets; of the smallest group with
which the program can be run, dynamic programming over points takes the cheapest plan.
Source: DaCapo (USENIX Security'24), as in its public code.
"""

from __future__ import annotations

from collections.abc import Iterator

from latticework.compiler.levels.placement.problem import OUTPUT, BootstrapPlacement, OpPrices, Problem, check, evaluate
from latticework.lazy_dataclass import dataclass
from latticework.values.sums import add_up

AHEAD = 0.5  # of the levels: what is first read later than that bypasses a point
START = -1


def place_by_points(problem: Problem) -> BootstrapPlacement:
    """Refreshes at points of the program. LevelError if no placement is possible."""
    check(problem)
    points = _Points(problem)
    for limit in sorted({points.counts[p] for p in points.sets}) or [0]:
        plan = points.plan(limit)
        if plan is not None:
            placement = evaluate(problem, points.refreshed_values(plan), full=True)
            if placement is not None:
                return placement
    everything = evaluate(problem, dict.fromkeys(problem.refreshable, frozenset[int]()), full=True)
    assert everything is not None, "a problem without a placement passed its check"
    return everything


@dataclass(frozen=True)
class _Plan:
    """The cheapest path to a point.

    levels   of live values, before what stands at the point
    raised   the point at which each value was refreshed
    """

    seconds: float
    levels: dict[int, int]
    raised: dict[int, int]


class _Points:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.last = {v: _end(problem, v) for v in range(len(problem.values))}
        self.sets: dict[int, list[int]] = {}
        self.counts: dict[int, int] = {}
        depth = self._depths()
        for point in (START, *(n for n, op in enumerate(problem.ops) if op.enters[0] > 0)):
            here = max((depth[v] for v in problem.ops[point].results), default=0) if point != START else 0
            self.sets[point] = [v for v in self._live(point) if self._is_read_soon(v, point, here, depth)]
            self.counts[point] = sum(problem.values[v].count for v in self.sets[point])

    def plan(self, limit: int) -> _Plan | None:
        """Return the cheapest path to the end over points with at most `limit` ciphertexts."""
        problem = self.problem
        given = {v: p.available for v, p in enumerate(problem.values) if p.available is not None}
        best = {START: _Plan(0.0, given, {})}
        ends: list[_Plan] = []
        points = {point for point, count in self.counts.items() if count <= limit}
        for point in sorted(points | {START}):
            starts = [self._refresh(best[point], point)] if point in points and point in best else []
            for start in (*starts, *([best[START]] if point == START else [])):
                for reached, plan in self._run(start, point, points):
                    if reached == len(problem.ops):
                        ends.append(plan)
                    elif reached not in best or plan.seconds < best[reached].seconds:
                        best[reached] = plan
        return min(ends, key=lambda plan: plan.seconds, default=None)

    def refreshed_values(self, plan: _Plan) -> dict[int, frozenset[int]]:
        """The values of a plan, with the readers before the point of each."""
        return {
            v: frozenset(r for r in self.problem.readers[v] if r != OUTPUT and r <= point)
            for v, point in plan.raised.items()
        }

    def _refresh(self, plan: _Plan, point: int) -> _Plan:
        """All values of a point's set at the top."""
        top = self.problem.residual
        values = [v for v in self.sets[point] if plan.levels[v] < top]
        seconds = plan.seconds + add_up((self.problem.values[v].alone or ())[top] for v in values)
        return _Plan(seconds, plan.levels | dict.fromkeys(values, top), plan.raised | dict.fromkeys(values, point))

    def _run(self, plan: _Plan, point: int, points: set[int]) -> Iterator[tuple[int, _Plan]]:
        """Those of some points, and the end, that are reached without another refresh."""
        problem, levels, seconds = self.problem, dict(plan.levels), plan.seconds
        for number in range(point + 1, len(problem.ops)):
            op = problem.ops[number]
            highest = _highest_result(op, min((levels[v] for v in op.operands), default=problem.residual))
            if highest is None:
                return
            seconds += op.seconds[highest]
            levels.update(dict.fromkeys(op.results, highest))
            if number in points:
                live = {v: level for v, level in levels.items() if self.last[v] > number}
                yield number, _Plan(seconds, live, plan.raised)
        if all(levels[v] >= level for v, level in problem.wanted.items()):
            yield len(problem.ops), _Plan(seconds, levels, plan.raised)

    def _live(self, point: int) -> list[int]:
        """Values that were made and are still read, and may be refreshed."""
        makers = self.problem.makers
        return [
            v for v in self.problem.refreshable
            if (START if (maker := makers[v]) is None else maker) <= point < self.last[v]
        ]  # fmt: skip

    def _depths(self) -> list[int]:
        """Levels spent from the inputs to each value."""
        depth = [0] * len(self.problem.values)
        for op in self.problem.ops:
            result_depth = max((depth[v] for v in op.operands), default=0) + op.enters[0]
            for v in op.results:
                depth[v] = result_depth
        return depth

    def _is_read_soon(self, value: int, point: int, here: int, depth: list[int]) -> bool:
        """Whether a value is read after a point before half of the levels are spent."""
        later = [r for r in self.problem.readers[value] if r > point]
        ahead = [max(depth[v] for v in self.problem.ops[r].operands) - here for r in later]
        return not ahead or min(ahead) <= AHEAD * self.problem.residual


def _highest_result(op: OpPrices, level: int) -> int | None:
    """The highest level of the results of an operation that enters at a level."""
    return max((need for need, enters in enumerate(op.enters) if enters <= level), default=None)


def _end(problem: Problem, value: int) -> int:
    """The last reader of a value."""
    readers = problem.readers[value]
    return len(problem.ops) if OUTPUT in readers else max(readers, default=START)
