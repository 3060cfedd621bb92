"""An order of operations and bootstraps in which a placement can run: each bootstrap as soon as its values are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from latticework.compiler.levels.placement.problem import Problem

Step = int | tuple[int, ...]  # an operation by its number, or the values of one bootstrap


def schedule(
    problem: Problem, refreshed: Mapping[int, frozenset[int]], pairs: Sequence[tuple[int, int]]
) -> list[Step] | None:
    """Operations as far as possible in their own order, or None if two that are refreshed together wait for each other.

    refreshed  for each value the readers that bypass its refresh
    """
    together = {v: tuple(sorted(pair)) for pair in pairs for v in pair}
    groups = {v: together.get(v, (v,)) for v in refreshed}
    after: dict[Step, list[Step]] = {}
    waiting: dict[Step, int] = {number: 0 for number in range(len(problem.ops))} | dict.fromkeys(groups.values(), 0)

    def wait(step: Step, earlier: Step) -> None:
        after.setdefault(earlier, []).append(step)
        waiting[step] += 1

    for number, op in enumerate(problem.ops):
        for v in dict.fromkeys(op.operands):
            maker = problem.makers[v]
            if v in groups and number not in refreshed[v]:
                wait(number, groups[v])
            elif maker is not None:
                wait(number, maker)
    for v, group in groups.items():
        maker = problem.makers[v]
        if maker is not None:
            wait(group, maker)
    ready: list[tuple[int, Step]] = []

    def start(step: Step) -> None:
        heappush(ready, (step if isinstance(step, int) else -1 - step[0], step))

    for step, count in waiting.items():
        if count == 0:
            start(step)
    steps: list[Step] = []
    while ready:
        step = heappop(ready)[1]
        steps.append(step)
        for later in after.get(step, ()):
            waiting[later] -= 1
            if waiting[later] == 0:
                start(later)
    return steps if len(steps) == len(waiting) else None
