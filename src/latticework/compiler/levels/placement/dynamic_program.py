"""The cheapest bootstraps by dynamic programming over the levels of live values.

Operations are visited from the outputs up. What is still to be decided depends on what was decided only by the levels
that live values must have, so of two states the one that needs no less anywhere and has cost no less is forgotten. A
value whose readers are all seen is refreshed, and needs no level from there on, or not; two of a kind that are live
at one time may be refreshed together then, for those that read them later. With few values live at a time, as between
the blocks of a network, few states are left, and nothing else is lost: the result is the best for this order, and for
all orders where no two values are of a kind. Else states that promise least are dropped, and what they might have led
to bounds the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels.placement.complex_packing import SharedBootstraps
from latticework.compiler.levels.placement.packed_pairs import Pairs
from latticework.compiler.levels.placement.problem import OUTPUT, Problem
from latticework.lazy_dataclass import dataclass
from latticework.values.sums import add_up

Floats = npt.NDArray[np.float64]
Levels = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

WORD = 8  # levels compared at a time, a byte each
HIGH = np.uint64(0x8080808080808080)
BLOCK = 256
TOLERANCE = 1e-9  # of seconds that are added in another order
MANY = 8  # times as many states as are kept are compared
KEEP, ALONE = -2, -1  # choices; else the value that it is refreshed with


@dataclass(frozen=True)
class SearchResult:
    """The end of a search.

    refreshed  values, each with the readers that bypass it;  pairs  of them that are refreshed together
    seconds    None: no state was left
    bound      no placement in this order takes less
    """

    refreshed: dict[int, frozenset[int]]
    pairs: Pairs
    seconds: float | None
    bound: float


@dataclass(frozen=True)
class _Stage:
    """A step of the search.

    value    about which something was decided
    parents  where each state comes from;  choices  and what was decided
    visited  operations by then: those that are visited later read what was made
    """

    value: int
    parents: Numbers
    choices: Numbers | None = None
    visited: frozenset[int] = frozenset()


def least_ahead(problem: Problem, alone: Sequence[Floats | None]) -> list[Floats]:
    """Seconds that levels of each value take at least: refreshes and higher levels on the dearest path to an input.

    alone  seconds of a refresh by target, None where there may be none
    """
    top = problem.residual
    result: list[Floats] = [np.zeros(0)] * len(problem.values)

    def keep(value: int, seconds: Floats) -> None:
        refresh = alone[value]
        result[value] = seconds if refresh is None else np.minimum(seconds, refresh + seconds[0])

    for value, prices in enumerate(problem.values):
        if prices.available is not None:
            keep(value, np.where(np.arange(top + 1) > prices.available, np.inf, 0.0))
    for op in problem.ops:
        enters = np.minimum(np.asarray(op.enters), top + 1)
        below = np.zeros(top + 2)
        for operand in op.operands:
            below[: top + 1] = np.maximum(below[: top + 1], result[operand])
        below[top + 1] = np.inf
        seconds = np.where(enters > top, np.inf, np.asarray(op.seconds) - min(op.seconds))
        for value in op.results:
            keep(value, seconds + below[enters])
    return result


def dearest_path(problem: Problem, alone: Sequence[Floats | None]) -> float:
    """Least seconds of any placement, in any order: two values on one path are never refreshed together."""
    ahead = least_ahead(problem, alone)
    dearest = max((ahead[v][level] for v, level in problem.wanted.items()), default=0.0)
    return float(dearest) + add_up(min(op.seconds) for op in problem.ops)


class Search:
    """One run over the operations in a visiting order.

    alone   seconds of a refresh of each value by target, that of 0 being 0; None where there may be none
    paired  whether values of a kind may be refreshed two at a time
    states  most of them that are kept
    shared  what is left of bootstraps that any value of a kind may share; None: nothing is shared so
    limit   seconds of a placement that is known: only what may take less is looked for
    """

    def __init__(
        self, problem: Problem, order: Sequence[int], alone: Sequence[Floats | None], *, paired: bool, states: int,
        limit: float = np.inf, shared: SharedBootstraps | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.order, self.alone, self.paired = problem, order, alone, paired
        self.states, self.limit = states, limit
        self.ahead = least_ahead(problem, alone)
        self.rest = add_up(min(op.seconds) for op in problem.ops)  # of operations not yet visited, at least
        self.live: list[int] = list(problem.wanted)
        self.needs: Levels = np.array([list(problem.wanted.values())], dtype=np.uint8).reshape(1, -1)
        self.seconds: Floats = np.zeros(1)
        self.shared = shared
        self.columns: Levels = np.zeros((1, 0), dtype=np.uint8) if shared is None else shared.start()
        self.dropped = np.inf  # what dropped states promise
        self.stages: list[_Stage] = []
        self.visited = {OUTPUT}

    def run(self) -> SearchResult:
        """Visit all operations."""
        for value in list(self.live) if self.paired else ():
            self._refresh_together(value)
        for number in self.order:
            self._visit(number)
            if not len(self.seconds):
                break
        for value in list(self.live):
            self._choose(value)
            available = self.problem.values[value].available
            assert available is not None or not len(self.seconds)
            if available is not None:
                self._select(np.flatnonzero(self._column(value) <= available))
        if not len(self.seconds):
            return SearchResult({}, [], None, min(self.dropped, self.limit))
        best = int(np.argmin(self.seconds))
        seconds = float(self.seconds[best])
        refreshed, pairs = self._trace(best)
        return SearchResult(refreshed, pairs, seconds, min(seconds, self.dropped, self.limit))

    def _visit(self, number: int) -> None:
        op = self.problem.ops[number]
        results = [v for v in op.results if v in self.live]
        for value in results:
            self._choose(value)
        need = np.max([self._column(v) for v in results], axis=0) if results else np.zeros(len(self.seconds), np.uint8)
        level = np.asarray(op.enters)[need]
        self.seconds = self.seconds + np.asarray(op.seconds)[need]
        for value in results:
            self._forget(value)
        for value in dict.fromkeys(op.operands):
            self._want(value, level)
        self._select(np.flatnonzero(level <= self.problem.residual))
        self.rest -= min(op.seconds)
        self._reduce()
        self.visited.add(number)
        for value in dict.fromkeys(op.operands) if self.paired else ():
            self._refresh_together(value)

    # -- live values -------------------------------------------------------------------------------

    def _column(self, value: int) -> Levels:
        return self.needs[:, self.live.index(value)]

    def _forget(self, value: int) -> None:
        self.needs = np.delete(self.needs, self.live.index(value), axis=1)
        self.live.remove(value)

    def _want(self, value: int, level: Numbers) -> None:
        level = np.minimum(level, 255).astype(np.uint8)
        if value in self.live:
            column = self._column(value)
            np.maximum(column, level, out=column)
        else:
            self.live.append(value)
            self.needs = np.column_stack([self.needs, level])

    # -- choices -----------------------------------------------------------------------------------

    def _choose(self, value: int) -> None:
        """A value is refreshed by itself, or not."""
        alone = self.alone[value]
        if alone is None:
            return
        column, kind = self._column(value), self.problem.values[value].kind
        if self.shared is not None and kind in self.shared.kinds:
            branches = self.shared.refreshes(kind, column, self.columns)
            self._branch(value, [(rows, seconds, ALONE, then) for rows, seconds, then in branches])
        else:
            rows = np.flatnonzero(column)
            self._branch(value, [(rows, alone[column[rows]], ALONE, self.columns[rows])])

    def _refresh_together(self, value: int) -> None:
        """Refresh a value together with another, or not, for all that has read it so far."""
        values = self.problem.values
        shared = values[value].shared
        branches = []
        for other in self.live if shared is not None else ():
            if other != value and values[other].kind == values[value].kind and self.alone[other] is not None:
                one, two = self._column(value), self._column(other)
                rows = np.flatnonzero(np.minimum(one, two))
                branches.append((rows, np.asarray(shared)[np.maximum(one, two)[rows]], other, self.columns[rows]))
        if branches:
            self._branch(value, branches)
            self._reduce()

    def _branch(self, value: int, branches: Sequence[tuple[Numbers, Floats, int, Levels]]) -> None:
        """States in which a value was not refreshed, and those in which it was."""
        parents = [np.arange(len(self.seconds)), *(rows for rows, *_ in branches)]
        seconds = [self.seconds, *(self.seconds[rows] + added for rows, added, *_ in branches)]
        needs, columns, choices = [self.needs], [self.columns], [np.full(len(self.seconds), KEEP)]
        for rows, _, other, then in branches:
            taken = self.needs[rows]
            taken[:, self.live.index(value)] = 0
            if other != ALONE:
                taken[:, self.live.index(other)] = 0
            needs.append(taken)
            columns.append(then)
            choices.append(np.full(len(rows), other))
        self.needs, self.columns = np.concatenate(needs), np.concatenate(columns)
        self.seconds = np.concatenate(seconds)
        visited = frozenset(self.visited)
        self.stages.append(_Stage(value, np.concatenate(parents), np.concatenate(choices), visited))

    def _trace(self, state: int) -> tuple[dict[int, frozenset[int]], Pairs]:
        """Trace the choices that led to a state; of a value that was refreshed twice the refresh that more read."""
        refreshed: dict[int, frozenset[int]] = {}
        pairs: Pairs = []
        for stage in reversed(self.stages):
            choice = KEEP if stage.choices is None else int(stage.choices[state])
            together = () if choice == KEEP else (stage.value,) if choice == ALONE else (stage.value, choice)
            if any(v in refreshed for v in together):
                pairs = [pair for pair in pairs if not set(pair) & set(together)]
            elif choice >= 0:
                pairs.append((stage.value, choice))
            for v in together:
                refreshed.setdefault(v, frozenset(self.problem.readers[v]) - stage.visited)
            state = int(stage.parents[state])
        return refreshed, pairs

    # -- states ------------------------------------------------------------------------------------

    def _select(self, rows: Numbers) -> None:
        if len(rows) < len(self.seconds) or np.any(np.diff(rows) < 0):
            self.needs, self.columns, self.seconds = self.needs[rows], self.columns[rows], self.seconds[rows]
            self.stages.append(_Stage(-1, rows))

    def _lower_bounds(self) -> Floats:
        """A lower bound of the seconds that each state leads to."""
        ahead = np.zeros(len(self.seconds))
        for value in self.live:
            np.maximum(ahead, self.ahead[value][self._column(value)], out=ahead)
        left = 0.0 if self.shared is None else self.shared.worth_left(self.columns)
        return self.seconds - left + ahead + self.rest

    def _reduce(self) -> None:
        """Forget states that lead to nothing better, then those that promise least."""
        promised = self._lower_bounds()
        self._select(np.flatnonzero(promised < self.limit - TOLERANCE))
        self._drop(MANY * self.states)
        if len(self.seconds) > 1:
            self._select(_pareto_front(np.column_stack([self.needs, self.columns]), self.seconds))
        self._drop(self.states)

    def _drop(self, most: int) -> None:
        if len(self.seconds) > most:
            promised = self._lower_bounds()
            rows = np.argsort(promised, kind="stable")
            self.dropped = min(self.dropped, float(promised[rows[most]]))
            self._select(rows[:most])


def _pareto_front(needs: Levels, seconds: Floats) -> Numbers:
    """The states than which no other needs less and takes less."""
    width = -(-max(needs.shape[1], 1) // WORD) * WORD
    padded = np.zeros((len(needs), width), np.uint8)
    padded[:, : needs.shape[1]] = needs
    order = np.lexsort((padded.sum(axis=1), np.round(seconds, 9)))
    words = padded[order].view(np.uint64)
    front = np.zeros(0, np.int64)
    for start in range(0, len(words), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(words)))
        block = block[~_any_below(words[front], words[block])]
        own = _below(words[block], words[block])
        block = block[~np.any(np.triu(own, 1), axis=0)]
        front = np.concatenate([front, block])
    return order[front]


def _below(a: npt.NDArray[np.uint64], b: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Whether no byte of a row of `a` is above that of a row of `b`, for all pairs; bytes are below 128."""
    result = np.ones((len(a), len(b)), bool)
    for word in range(a.shape[1]):
        result &= (((b[None, :, word] | HIGH) - a[:, None, word]) & HIGH) == HIGH
    return result


def _any_below(a: npt.NDArray[np.uint64], b: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    result = np.zeros(len(b), bool)
    for start in range(0, len(a), BLOCK * 4):
        result |= np.any(_below(a[start : start + BLOCK * 4], b), axis=0)
    return result
