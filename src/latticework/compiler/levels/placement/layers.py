"""The placer of Orion, as a baseline: a shortest path over (layer, level), with branches folded into one step.

A value between layers has a level; an edge to a layer that enters higher costs a bootstrap to the top. What lies
between a fork and its join becomes one step from every level to every level: the sum of the shortest paths through its
branches. Graphs whose branches do not part and meet that way are refused, as they are there.
Source: Orion (ASPLOS'25), as in its public code.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.placement.problem import OUTPUT, BootstrapPlacement, Problem, check, evaluate
from latticework.errors import UnsupportedError

Edges = tuple["Edges", "Edges"] | tuple[int, int] | None  # refreshed edges (value, reader), joined as trees
Path = tuple[float, Edges]  # seconds, and what is refreshed on the way
NOWHERE: Path = (float("inf"), None)


def place_by_layers(problem: Problem) -> BootstrapPlacement:
    """Refreshes on a shortest path.

    raises  LevelError if no placement is possible
            UnsupportedError for more than one input or output, or branches that are not nested
    """
    check(problem)
    inputs = [v for v, prices in enumerate(problem.values) if prices.available is not None]
    if len(inputs) != 1 or len(problem.wanted) != 1:
        raise UnsupportedError("shortest path over layers: needs a program of one input and one output")
    start, (end, level) = inputs[0], next(iter(problem.wanted.items()))
    layers = _Layers(problem)
    ends = layers.through(start, end, layers.at(problem.values[start].available or 0))
    path = min((layers.edge(end, OUTPUT, ends, level), NOWHERE), key=lambda p: p[0])
    edges = _flat(path[1])
    refreshed = {
        v: frozenset(r for r in problem.readers[v] if (v, r) not in edges) for v in dict.fromkeys(v for v, _ in edges)
    }
    placement = evaluate(problem, refreshed, full=True)
    assert placement is not None, "levels on a path are levels of the program"
    return placement


class _Layers:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.levels = range(problem.residual + 1)
        self.meets = _meeting_values(problem)

    def at(self, level: int) -> Sequence[Path]:
        """The paths to a value that is there at `level`, and at lower ones."""
        return [(0.0, None) if n <= level else NOWHERE for n in self.levels]

    def edge(self, value: int, reader: int, paths: Sequence[Path], level: int) -> Path:
        """The shortest path to where a reader has a value at a level."""
        best = min(paths[level:], key=lambda path: path[0])
        alone = self.problem.values[value].alone
        if alone is not None:
            seconds, edges = min(paths, key=lambda path: path[0])
            refreshed = seconds + alone[self.problem.residual], _both(edges, (value, reader))
            best = min(best, refreshed, key=lambda path: path[0])
        return best

    def through(self, start: int, end: int, paths: Sequence[Path], entry: int | None = None) -> Sequence[Path]:
        """Shortest paths to a value by its level, from those to another, whose reader on the way may be `entry`."""
        value = start
        while value != end:
            if entry is not None:
                reader, entry = entry, None
                if len(set(self.problem.ops[reader].operands)) == 1:
                    value, paths = self._layer(value, reader, paths)
                    continue
            value, paths = self._fork(value, paths)
        return paths

    def _layer(self, value: int, reader: int, paths: Sequence[Path]) -> tuple[int, Sequence[Path]]:
        """An operation on one value."""
        op = self.problem.ops[reader]
        outgoing = []
        for need in self.levels:
            if op.enters[need] > self.problem.residual:
                outgoing.append(NOWHERE)
            else:
                seconds, edges = self.edge(value, reader, paths, op.enters[need])
                outgoing.append((seconds + op.seconds[need], edges))
        return op.results[0], outgoing

    def _fork(self, value: int, paths: Sequence[Path]) -> tuple[int, Sequence[Path]]:
        """All branches from a value to where they meet."""
        problem, meet = self.problem, self.meets[value]
        if meet is None:
            raise _not_nested()
        join = problem.makers[meet]
        assert join is not None
        op = problem.ops[join]
        operands = list(dict.fromkeys(op.operands))
        if operands == [value]:
            return self._layer(value, join, paths)
        outgoing: list[Path] = []
        by_level = [self._branches(value, join, operands, level) for level in self.levels]
        for need in self.levels:
            best = NOWHERE
            if op.enters[need] <= problem.residual:
                for level, (seconds, edges) in enumerate(paths):
                    total, all_edges = seconds + op.seconds[need], edges
                    for operand, ends in zip(operands, by_level[level], strict=True):
                        more, inside = self.edge(operand, join, ends, op.enters[need])
                        total, all_edges = total + more, _both(all_edges, inside)
                    if total < best[0]:
                        best = total, all_edges
            outgoing.append(best)
        return meet, outgoing

    def _branches(self, value: int, join: int, operands: Sequence[int], level: int) -> list[Sequence[Path]]:
        """Shortest paths to each operand of a join, by its level, when the fork lies at a level."""
        start = self.at(level)
        readers = [r for r in self.problem.readers[value] if r not in (OUTPUT, join)]
        branches: list[Sequence[Path]] = []
        for operand in operands:
            if operand == value:
                branches.append(start)
                continue
            firsts = [r for r in readers if self._leads(self.problem.ops[r].results[0], operand)]
            if len(firsts) != 1 or len(set(self.problem.ops[firsts[0]].operands)) != 1:
                raise _not_nested()
            branches.append(self.through(value, operand, start, firsts[0]))
        return branches

    def _leads(self, value: int | None, end: int) -> bool:
        """Whether all ways from a value go through another."""
        while value is not None and value != end:
            value = self.meets[value]
        return value == end


def _not_nested() -> UnsupportedError:
    return UnsupportedError("shortest path over layers: branches do not part and meet in one value each")


def _meeting_values(problem: Problem) -> list[int | None]:
    """The next value that all ways from each go through, None where they end apart."""
    meets: list[int | None] = [None] * len(problem.values)
    depth: dict[int, int] = {}

    def common(a: int | None, b: int | None) -> int | None:
        while a != b:
            if a is None or b is None:
                return None
            if depth[a] >= depth[b]:
                a = meets[a]
            else:
                b = meets[b]
        return a

    inputs = [v for v, maker in enumerate(problem.makers) if maker is None]
    for value in [v for op in reversed(problem.ops) for v in op.results] + inputs:
        following = [problem.ops[r].results[0] for r in problem.readers[value] if r != OUTPUT]
        meet = None if OUTPUT in problem.readers[value] or not following else following[0]
        for other in following[1:] if meet is not None else ():
            meet = common(meet, other)
        meets[value] = meet
        depth[value] = 0 if meet is None else depth[meet] + 1
    return meets


def _both(a: Edges, b: Edges) -> Edges:
    return b if a is None else a if b is None else (a, b)


def _flat(edges: Edges) -> set[tuple[int, int]]:
    """All edges of a tree."""
    result: set[tuple[int, int]] = set()
    waiting = [edges]
    while waiting:
        match waiting.pop():
            case (int(value), int(reader)):
                result.add((value, reader))
            case (a, b):
                waiting += [a, b]
    return result
