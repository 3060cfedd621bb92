"""Pair refreshed values, two to a bootstrap: those of a kind of which neither is made from the other."""

from __future__ import annotations

from collections.abc import Mapping

from latticework.compiler.levels.placement.problem import OUTPUT, Problem

Pairs = list[tuple[int, int]]


class Partners:
    """The values of a problem that may be refreshed together."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.below = [0] * len(problem.values)  # the values that each is made from, as bits
        for op in problem.ops:
            made_from = 0
            for value in op.operands:
                made_from |= self.below[value] | 1 << value
            for value in op.results:
                self.below[value] = made_from
        kinds = [problem.values[v].kind for v in problem.refreshable if problem.values[v].shared is not None]
        self.exist = len(set(kinds)) < len(kinds)  # whether any two values may be refreshed together

    def is_made_from(self, a: int, b: int) -> bool:
        """Whether `b` goes into `a`."""
        return bool(self.below[a] >> b & 1)

    def are_independent(self, a: int, b: int) -> bool:
        """Whether neither is made from the other."""
        return a != b and not self.is_made_from(a, b) and not self.is_made_from(b, a)

    def readers_between(self, early: int, late: int) -> frozenset[int]:
        """The readers of a value that another is made by."""
        ops = self.problem.ops
        return frozenset(
            r
            for r in self.problem.readers[early]
            if r != OUTPUT and any(v == late or self.is_made_from(late, v) for v in ops[r].results)
        )

    def match(self, targets: Mapping[int, int]) -> Pairs:
        """Pairs among refreshed values that save much, and can be refreshed one after the other."""
        before: dict[tuple[int, int], int] = {}  # what has to be made before each pair, by way of other pairs too
        taken: set[int] = set()
        for _, a, b in self._savings(targets):
            if a in taken or b in taken:
                continue
            both, earlier = 1 << a | 1 << b, self.below[a] | self.below[b]
            for (c, d), reached in before.items():
                if earlier & (1 << c | 1 << d):
                    earlier |= reached | 1 << c | 1 << d
            if earlier & both:
                continue  # they would wait for each other
            for pair, reached in before.items():
                if reached & both:
                    before[pair] = reached | earlier | both
            before[a, b] = earlier
            taken |= {a, b}
        return list(before)

    def _savings(self, targets: Mapping[int, int]) -> list[tuple[float, int, int]]:
        """Pairs by what they save, most first."""
        values = self.problem.values
        savings: list[tuple[float, int, int]] = []
        able = [v for v in targets if values[v].shared is not None]
        for i, a in enumerate(able):
            for b in able[:i]:
                if values[a].kind == values[b].kind and self.are_independent(a, b):
                    alone, other, shared = values[a].alone, values[b].alone, values[a].shared
                    assert alone is not None and other is not None and shared is not None
                    saving = alone[targets[a]] + other[targets[b]] - shared[max(targets[a], targets[b])]
                    if saving > 0:
                        savings.append((-saving, min(a, b), max(a, b)))
        return sorted(savings)
