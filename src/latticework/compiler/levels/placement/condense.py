"""Smaller problems with the same answers: without operations behind which nobody would bootstrap.

What is made of one value alone without spending a level, as by rotations and sums of them, lies as high as that one. If
it may not be bootstrapped itself, its readers can as well read the one that it is made from, and what makes that takes
so much longer. Sums over slots are most of what training loops do, and vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.compiler.levels.placement.execution_order import schedule
from latticework.compiler.levels.placement.placer import place
from latticework.compiler.levels.placement.problem import OUTPUT, BootstrapPlacement, OpPrices, Problem, evaluate

FEW_STATES = 64  # that the search keeps: more are not worth their time where many lines are looked at


def place_condensed(problem: Problem, states: int = FEW_STATES) -> BootstrapPlacement:
    """Place bootstraps by `place` in a smaller problem; its bound is that of the smaller one.

    raises  LevelError if no placement is possible
    """
    small, op_numbers = condense(problem)
    placement = place(small, states)
    bypassing = {v: _bypassing(problem, v, refresh.bypassing, op_numbers) for v, refresh in placement.refreshes.items()}
    whole = evaluate(problem, bypassing, placement.pairs)
    if whole is None or schedule(problem, bypassing, placement.pairs) is None:
        return place(problem, states)  # readers of what was left out want it both as it was made and refreshed
    return replace(whole, bound=min(placement.bound, whole.seconds))


def _bypassing(problem: Problem, value: int, small: frozenset[int], op_numbers: Sequence[int]) -> frozenset[int]:
    """Readers of a value that bypass its refresh: those that do in the smaller problem, and what only they read."""
    number = {old: new for new, old in enumerate(op_numbers)} | {OUTPUT: OUTPUT}

    def bypasses(reader: int) -> bool:
        if reader in number:
            return number[reader] in small
        (result,) = problem.ops[reader].results
        return all([bypasses(each) for each in problem.readers[result]])

    return frozenset(reader for reader in problem.readers[value] if bypasses(reader))


def condense(problem: Problem) -> tuple[Problem, list[int]]:
    """The smaller problem, with the same values, and the operations that it has."""
    made_from = list(range(len(problem.values)))
    extra: dict[int, list[float]] = {}
    op_numbers: list[int] = []
    for number, op in enumerate(problem.ops):
        sources = {made_from[v] for v in op.operands}
        if len(sources) == 1 and len(op.results) == 1 and _keeps_levels(op) and not _may_refresh(problem, op):
            (source,) = sources
            made_from[op.results[0]] = source
            maker = problem.makers[source]
            if maker is not None:
                before = extra.get(maker, [0.0] * len(op.seconds))
                extra[maker] = [a + b for a, b in zip(before, op.seconds, strict=True)]
        else:
            op_numbers.append(number)
    ops = [_over(problem.ops[number], made_from, extra.get(number)) for number in op_numbers]
    wanted: dict[int, int] = {}
    for value, level in problem.wanted.items():
        wanted[made_from[value]] = max(wanted.get(made_from[value], 0), level)
    return Problem(problem.residual, problem.values, ops, wanted), op_numbers


def _keeps_levels(op: OpPrices) -> bool:
    return all(level == need for need, level in enumerate(op.enters))


def _may_refresh(problem: Problem, op: OpPrices) -> bool:
    return len(op.results) != 1 or problem.values[op.results[0]].alone is not None


def _over(op: OpPrices, made_from: Sequence[int], extra: Sequence[float] | None) -> OpPrices:
    """An operation that reads what stands for its operands, and takes longer."""
    operands = tuple(dict.fromkeys(made_from[v] for v in op.operands))
    seconds = op.seconds if extra is None else [a + b for a, b in zip(op.seconds, extra, strict=True)]
    return replace(op, operands=operands, seconds=tuple(seconds))
