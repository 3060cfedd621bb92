"""Orders in which operations are visited from the outputs up, so that few values are live at a time."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.placement.problem import OUTPUT, Problem


def visiting_orders(problem: Problem) -> list[list[int]]:
    """Orders of operations, readers before makers, the one with the fewest ways for levels of live values first."""
    orders = {
        tuple(order): None for order in (_narrow(problem), list(reversed(range(len(problem.ops)))), _even(problem))
    }
    return sorted(map(list, orders), key=lambda order: live_values(problem, order))


def live_values(problem: Problem, order: Sequence[int]) -> tuple[int, int]:
    """The most live values at a time, and their sum over time."""
    live, most, area = set(problem.wanted), 0, 0
    for number in order:
        op = problem.ops[number]
        live.difference_update(op.results)
        live.update(op.operands)
        most, area = max(most, len(live)), area + len(live)
    return most, area


def _narrow(problem: Problem) -> list[int]:
    """An order that visits the ready operation that adds the fewest live values, the latest of several."""
    waiting = [sum(len([r for r in problem.readers[v] if r != OUTPUT]) for v in op.results) for op in problem.ops]
    ready = {number for number, count in enumerate(waiting) if count == 0}
    live = set(problem.wanted)
    order = []
    while ready:
        number = min(ready, key=lambda n: (_count_added(problem, n, live), -n))
        ready.remove(number)
        order.append(number)
        op = problem.ops[number]
        live.difference_update(op.results)
        for value in dict.fromkeys(op.operands):
            live.add(value)
            maker = problem.makers[value]
            if maker is not None:
                waiting[maker] -= 1
                if waiting[maker] == 0:
                    ready.add(maker)
    return order


def _count_added(problem: Problem, number: int, live: set[int]) -> int:
    op = problem.ops[number]
    inputs = sum(problem.makers[v] is None for v in set(op.operands))  # stay live to the end, so they are no reason
    return len(set(op.operands) - live) - inputs - sum(v in live for v in op.results)


def _even(problem: Problem) -> list[int]:
    """An order by levels spent from the inputs, the deepest first: what may be refreshed together is live together."""
    depths, by_depth = [0] * len(problem.values), []
    for number, op in enumerate(problem.ops):
        depth = max((depths[v] for v in op.operands), default=0) + op.enters[0]
        for value in op.results:
            depths[value] = depth
        by_depth.append((depth, number))
    return [number for _, number in sorted(by_depth, reverse=True)]
