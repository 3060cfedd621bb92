"""The critical path of a program: the lines that spend its levels, operation by operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from latticework.compiler.levels.depth import Env, levels_of, outer_values
from latticework.ir import Loc, Module, Op, Value
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Spent:
    """The levels that one line spends on a longest path.

    operations    that spend levels, of which polynomials spend several
    polynomials   of them
    """

    loc: Loc
    levels: int
    operations: int
    polynomials: int


@dataclass(frozen=True)
class LoopSpending:
    """The levels that a loop spends of which every iteration spends levels.

    iterations  that are compiled: its number, or at_most
    """

    loc: Loc
    levels: int
    iterations: int


def spending(module: Module) -> list[Spent]:
    """Levels by line on a longest path of a `vec` module, those that spend most first."""
    env = levels_of(module).of
    lowest = min((v for v in outer_values(module) if env[v] is not None), key=lambda v: env[v] or 0, default=None)
    return spent_by_line(() if lowest is None else _path(lowest, env))


def spent_by_line(path: Iterable[tuple[Op, int]]) -> list[Spent]:
    """Levels by line of operations that each spend so many, those that spend most first."""
    lines: dict[Loc, list[tuple[Op, int]]] = {}
    for op, spent in path:
        lines.setdefault(Loc(op.loc.file, op.loc.line, op.loc.text), []).append((op, spent))
    by_line = [
        Spent(loc, sum(spent for _, spent in each), len(each), sum(op.name.endswith(".polynomial") for op, _ in each))
        for loc, each in lines.items()
    ]
    return sorted(by_line, key=lambda s: -s.levels)


def loop_spending(module: Module, lines: Sequence[Spent]) -> list[LoopSpending]:
    """The loops of a `vec` module that are not unrolled yet and spend levels, those that spend most first.

    lines  by which `spending` explains the module without such loops
    """
    return loops_by_levels(module, {op: plan.copies or 0 for op, plan in levels_of(module).loops.items()}, lines)


def loops_by_levels(module: Module, copies: Mapping[Op, int], lines: Sequence[Spent]) -> list[LoopSpending]:
    """The loops of a module that are to become copies, those that spend most first."""
    loops = []
    for op, number in copies.items():
        if number and op.block is module.body:
            inside = {(inner.loc.file, inner.loc.line) for inner in _inside(op)}
            spent = sum(s.levels for s in lines if (s.loc.file, s.loc.line) in inside)
            loops.append(LoopSpending(op.loc, spent, number))
    return sorted(loops, key=lambda loop: -loop.levels)


def _inside(op: Op) -> Iterator[Op]:
    for region in op.regions:
        for inner in region.block.ops:
            yield inner
            yield from _inside(inner)


def _path(value: Value, env: Env) -> Iterator[tuple[Op, int]]:
    """Operations that spend levels on the way to a value, the last first, each with how many."""
    outside: dict[Value, Value] = {}  # what goes into arguments of branches
    while True:
        value = outside.get(value, value)
        op = value.owner
        if not isinstance(op, Op):
            return
        if op.name == "loop.if":
            value = _in_branch(op, value, env, outside)
            continue
        operands = [v for v in op.operands if env[v] is not None]
        lowest = min(operands, key=lambda v: env[v] or 0, default=None)
        if lowest is None:
            return
        spent = (env[lowest] or 0) - (env[value] or 0)
        if spent:
            yield op, spent
        value = lowest


def _in_branch(op: Op, result: Value, env: Env, outside: dict[Value, Value]) -> Value:
    """The value that the branch which spends more levels yields as a result of a condition."""
    for region in op.regions:
        outside.update(zip(region.block.args, op.operands[1:], strict=True))
    number = op.results.index(result)
    return min((region.block.terminator.operands[number] for region in op.regions), key=lambda v: env[v] or 0)
