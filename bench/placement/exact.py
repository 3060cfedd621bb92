"""BootstrapPlacement as a model for CP-SAT: levels, readers and partners are all chosen by the solver, with a proof.

For small graphs only, as the check of the placer: the model knows nothing of what it goes by. Needs the extra `exact`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.exact_solver import cp_model, solve
from latticework.compiler.levels.placement.problem import OUTPUT, Problem

UNIT = 1e-6  # seconds


@dataclass(frozen=True)
class Exact:
    """seconds: of the best placement that was found;  bound: no other takes less."""

    seconds: float | None
    bound: float
    is_optimal: bool


def solve_exactly(problem: Problem, effort: float = 10.0) -> Exact:
    """The optimum of a problem, as far as it is found by this much work (about seconds of one core)."""
    model = _Model(problem)
    model.cp.minimize(model.seconds)
    answer = solve(model.cp, effort, seed=0)
    seconds = None if answer.value is None else answer.value * UNIT
    return Exact(seconds, answer.bound * UNIT, answer.is_optimal)


def exists_below(problem: Problem, seconds: float, effort: float = 10.0) -> bool | None:
    """Whether a placement takes at most so long, None where this much work does not tell: easier than the optimum."""
    model = _Model(problem)
    is_none = model.cp.new_bool_var("there is none")
    model.cp.add(model.seconds <= int(seconds / UNIT)).only_enforce_if(is_none.negated())
    model.cp.minimize(is_none)
    answer = solve(model.cp, effort, seed=0)
    return False if answer.bound == 1 else True if answer.value == 0 else None


class _Model:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.cp = cp_model().CpModel()
        top, values = problem.residual, range(len(problem.values))
        self.level = [self.cp.new_int_var(0, top, f"level {v}") for v in values]
        self.target = [self.cp.new_int_var(1, top, f"target {v}") for v in values]
        self.is_refreshed = [self.cp.new_bool_var(f"refreshed {v}") for v in values]
        last = 2 * len(problem.ops) + len(problem.values) + 1
        self.time = [self.cp.new_int_var(0, last, f"time of {number}") for number in range(len(problem.ops))]
        self.refreshing = [self.cp.new_int_var(0, last, f"time of refreshing {v}") for v in values]
        costs: list[Any] = []
        for number in range(len(problem.ops)):
            costs.append(self._operation(number))
        for v, level in problem.wanted.items():
            self._read(v, OUTPUT, level)
        for v in values:
            self._value(v)
        costs += self._refreshes()
        self.seconds = sum(costs)

    def _operation(self, number: int) -> Any:
        """Its operands lie high enough for its results; returns what it takes."""
        op, top = self.problem.ops[number], self.problem.residual
        possible = [n for n in range(top + 1) if op.enters[n] <= top]
        need = self.cp.new_int_var(0, possible[-1], f"need {number}")
        for v in op.results:
            self.cp.add(self.level[v] <= need)
        entered = self.cp.new_int_var(0, top, f"entered {number}")
        self.cp.add_element(need, [op.enters[n] for n in possible], entered)
        for v in dict.fromkeys(op.operands):
            self._read(v, number, entered)
        return self._element(need, [op.seconds[n] for n in possible])

    def _read(self, v: int, reader: int, level: Any) -> None:
        """A reader takes the value as it was made or refreshed, and this level is there."""
        refreshed = self.cp.new_bool_var(f"{reader} reads {v} refreshed")
        self.cp.add_implication(refreshed, self.is_refreshed[v])
        self.cp.add(self.target[v] >= level).only_enforce_if(refreshed)
        self.cp.add(self.level[v] >= level).only_enforce_if(refreshed.negated())
        if reader == OUTPUT:
            return
        self.cp.add(self.time[reader] > self.refreshing[v]).only_enforce_if(refreshed)
        maker = self.problem.makers[v]
        if maker is not None:
            self.cp.add(self.time[reader] > self.time[maker])

    def _value(self, v: int) -> None:
        prices, maker = self.problem.values[v], self.problem.makers[v]
        if prices.available is not None:
            self.cp.add(self.level[v] <= prices.available)
        if prices.alone is None:
            self.cp.add(self.is_refreshed[v] == 0)
        if maker is not None:
            self.cp.add(self.refreshing[v] > self.time[maker])

    def _refreshes(self) -> list[Any]:
        """Each refreshed value alone or as one of a pair; returns what they take."""
        costs, pairs = [], [[] for _ in self.problem.values]
        able = self.problem.refreshable
        for i, a in enumerate(able):
            for b in able[:i]:
                prices = self.problem.values[a]
                if prices.shared is not None and prices.kind == self.problem.values[b].kind:
                    together = self.cp.new_bool_var(f"{a} with {b}")
                    self.cp.add(self.refreshing[a] == self.refreshing[b]).only_enforce_if(together)
                    target = self.cp.new_int_var(1, self.problem.residual, f"target of {a} with {b}")
                    self.cp.add(target >= self.target[a]).only_enforce_if(together)
                    self.cp.add(target >= self.target[b]).only_enforce_if(together)
                    costs.append(self._if(together, self._element(target, (0.0, *prices.shared[1:])), prices.shared))
                    pairs[a].append(together)
                    pairs[b].append(together)
        for v in able:
            alone = self.cp.new_bool_var(f"{v} alone")
            self.cp.add(alone + sum(pairs[v]) == self.is_refreshed[v])
            prices = self.problem.values[v].alone
            costs.append(self._if(alone, self._element(self.target[v], (0.0, *prices[1:])), prices))
        return costs

    def _element(self, index: Any, seconds: Sequence[float]) -> Any:
        table = [round(s / UNIT) for s in seconds]
        found = self.cp.new_int_var(min(table), max(table), "")
        self.cp.add_element(index, table, found)
        return found

    def _if(self, condition: Any, cost: Any, seconds: Sequence[float]) -> Any:
        """The cost where a condition holds, else nothing."""
        found = self.cp.new_int_var(0, round(max(seconds) / UNIT), "")
        self.cp.add(found >= cost).only_enforce_if(condition)
        self.cp.add(found >= round(min(seconds[1:]) / UNIT) * condition)
        return found
