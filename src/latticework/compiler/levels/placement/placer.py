"""The placer: the best bootstraps that a bounded search finds, and a proven bound on how much better any could be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from latticework.compiler.levels.placement.complex_packing import SharedBootstraps
from latticework.compiler.levels.placement.dynamic_program import Floats, Search, SearchResult, dearest_path
from latticework.compiler.levels.placement.execution_order import schedule
from latticework.compiler.levels.placement.order import live_values, visiting_orders
from latticework.compiler.levels.placement.packed_pairs import Partners
from latticework.compiler.levels.placement.problem import (
    EVERY,
    OUTPUT,
    BootstrapPlacement,
    Problem,
    Refresh,
    check,
    evaluate,
    lowest_levels,
    placement_of,
)
from latticework.values.sums import add_up

FIRST_STATES, STATES, LEAST_STATES = 64, 1024, 16
WORK = 400_000  # states times live values times operations of one search: a second or two
ORDERS_UP_TO = 3_000  # live values times operations, above which one visiting order has to do
MOST_MOVES_BY_OPS = 150_000  # operations looked at while single refreshes are moved
FEW_MOVES_BY_OPS = 20_000  # where few states are kept, since many problems are looked at
TOLERANCE = 1e-9  # seconds


def place(problem: Problem, states: int = STATES) -> BootstrapPlacement:
    """The cheapest refreshes found.

    states  most of them that the search keeps: more find better placements, and prove more, in more time. With
            FIRST_STATES and fewer there is one search, and nothing is proved of values that may share a bootstrap
    raises  LevelError if no placement is possible
    """
    check(problem)
    return _PlacementSearch(problem, states).run()


class _PlacementSearch:
    def __init__(self, problem: Problem, states: int) -> None:
        self.problem, self.states = problem, states
        self.partners = Partners(problem)
        self.orders = visiting_orders(problem)
        self.is_brief = states <= FIRST_STATES
        if self.is_brief or live_values(problem, self.orders[0])[1] > ORDERS_UP_TO:
            del self.orders[1:]
        self.alone = refresh_tables(problem)
        self._known: dict[frozenset[int], BootstrapPlacement | None] = {}
        self._moves_left = (FEW_MOVES_BY_OPS if self.is_brief else MOST_MOVES_BY_OPS) // max(len(problem.ops), 1)
        everything = evaluate(problem, dict.fromkeys(problem.refreshable, EVERY))
        assert everything is not None, "a problem without a placement passed its check"
        self.best = everything

    def run(self) -> BootstrapPlacement:
        bound = dearest_path(self.problem, self.alone)
        for each in self._attempts():
            bound = max(bound, each)
            if self.best.seconds <= bound + TOLERANCE:
                break
        return _bypass_readers(self.problem, replace(self.best, bound=min(bound, self.best.seconds)))

    def _attempts(self) -> Iterator[float]:
        """One search after another; each says what it proved that any placement takes at least."""
        yield self._without()
        if not self.partners.exist:
            for most in (FIRST_STATES, self.states):
                result = self._search(self.alone, self.orders[0], most)
                self._take(result)
                yield result.bound
            return
        for order in self.orders:
            for paired in (True,) if self.is_brief else (True, False):
                result = self._search(self.alone, order, paired=True) if paired else self._search_shared(order)
                self._take(result)
                self._move(result.refreshed)
                yield 0.0 if paired else result.bound
        if self.is_brief:
            return
        for order in self.orders:
            limit = self.best.seconds
            self._take(self._search(self.alone, order, self.states, paired=True, limit=limit))
        self._move(self.best.refreshes)
        yield self._search_shared(self.orders[0], self.states, limit=self.best.seconds).bound

    def _without(self) -> float:
        """No refresh at all, which is best where one takes more than all higher levels together."""
        nothing = evaluate(self.problem, {})
        self._keep(nothing)
        values = [self.problem.values[v] for v in self.problem.refreshable]
        cheapest = min((min([*(v.alone or ())[1:], *(v.shared or ())[1:]]) for v in values), default=np.inf)
        once = add_up(min(op.seconds) for op in self.problem.ops) + cheapest
        return once if nothing is None else min(once, nothing.seconds)

    def _affordable(self, order: Sequence[int], states: int) -> int:
        """States for a search that takes no longer than others."""
        return max(min(states, self.states, WORK // (1 + live_values(self.problem, order)[1])), LEAST_STATES)

    def _search_shared(self, order: list[int], most: int = FIRST_STATES, *, limit: float = np.inf) -> SearchResult:
        """Search as if any two values of a kind could share a bootstrap."""
        shared, states = SharedBootstraps(self.problem), self._affordable(order, most)
        least = refresh_tables(self.problem, shared)
        return Search(self.problem, order, least, paired=False, states=states, limit=limit, shared=shared).run()

    def _search(
        self, alone: list[Floats | None], order: list[int], most: int = FIRST_STATES, *, paired: bool = False,
        limit: float = np.inf,
    ) -> SearchResult:  # fmt: skip
        states = self._affordable(order, most)
        return Search(self.problem, order, alone, paired=paired, states=states, limit=limit).run()

    def _take(self, result: SearchResult) -> None:
        """Keep what was found if it is better."""
        if result.seconds is not None:
            self._keep(evaluate(self.problem, result.refreshed, result.pairs))
            self._keep(self._place_matched(frozenset(result.refreshed)))

    def _keep(self, placement: BootstrapPlacement | None) -> bool:
        """Keep a placement if it is better than the best; whether it is."""
        if placement is None or placement.seconds >= self.best.seconds - TOLERANCE:
            return False
        self.best = placement
        return True

    def _place_matched(self, refreshed: frozenset[int]) -> BootstrapPlacement | None:
        """Refreshes that all readers read, with the pairs that save most."""
        if refreshed not in self._known:
            self._moves_left -= 1
            self._known[refreshed] = None
            lowest = lowest_levels(self.problem, dict.fromkeys(refreshed, EVERY))
            if lowest is not None:
                targets = {v: target for v, target in lowest.targets.items() if target > 0}
                pairs = self.partners.match(targets) if self.partners.exist else ()
                self._known[refreshed] = placement_of(self.problem, lowest, pairs)
        return self._known[refreshed]

    # -- one refresh at a time -----------------------------------------------------------------

    def _move(self, refreshed: Iterable[int]) -> None:
        """Add, leave out or move single refreshes, or refresh one more with another, as long as that is better."""
        current = self._place_matched(frozenset(refreshed))
        while current is not None:
            self._keep(current)
            better = (
                neighbour
                for neighbour in self._neighbours(current)
                if neighbour is not None and neighbour.seconds < current.seconds - TOLERANCE
            )
            current = next(better, None)

    def _neighbours(self, current: BootstrapPlacement) -> Iterator[BootstrapPlacement | None]:
        """Placements that differ little from one, nearer ones first, as many as there is time for."""
        for neighbour in self._all_neighbours(current):
            if self._moves_left <= 0:
                return
            yield neighbour

    def _all_neighbours(self, current: BootstrapPlacement) -> Iterator[BootstrapPlacement | None]:
        problem, refreshed = self.problem, frozenset(current.refreshes)
        able = set(problem.refreshable)
        for value in sorted(refreshed):
            yield self._place_matched(refreshed - {value})
            maker = problem.makers[value]
            near = set(() if maker is None else problem.ops[maker].operands)
            for reader in problem.readers[value]:
                if reader != OUTPUT:
                    near.update(problem.ops[reader].results)
            for other in sorted(near & able - refreshed):
                yield self._place_matched(refreshed - {value} | {other})
        for value in sorted(able - refreshed):
            yield self._place_matched(refreshed | {value})
        yield from self._join_pairs(current)
        for value in sorted(refreshed):
            for other in sorted(able - refreshed):
                yield self._place_matched(refreshed - {value} | {other})

    def _join_pairs(self, current: BootstrapPlacement) -> Iterator[BootstrapPlacement | None]:
        """One more pair, of which one value is made from the other as it was."""
        values = self.problem.values
        bypassing = {v: refresh.bypassing for v, refresh in current.refreshes.items()}
        together = {v for pair in current.pairs for v in pair}
        for a in sorted(bypassing.keys() - together):
            for b in self.problem.refreshable if values[a].shared is not None else ():
                if values[a].kind != values[b].kind or self.partners.are_independent(a, b) or b in {a, *together}:
                    continue
                early, late = (a, b) if self.partners.is_made_from(b, a) else (b, a)
                readers = self.partners.readers_between(early, late)
                refreshed = {b: EVERY} | bypassing
                refreshed[early] |= readers
                pairs = [*current.pairs, (early, late)]
                self._moves_left -= 1
                if schedule(self.problem, refreshed, pairs) is not None:
                    yield evaluate(self.problem, refreshed, pairs)


def refresh_tables(problem: Problem, shared: SharedBootstraps | None = None) -> list[Floats | None]:
    """Seconds of refreshing each value by itself, by target.

    shared  the least that a value can add, as one of two
    """
    result: list[Floats | None] = []
    for prices in problem.values:
        if prices.alone is None:
            result.append(None)
            continue
        is_half = shared is not None and prices.kind in shared.kinds and prices.shared is not None
        seconds = shared.least(prices.kind) if shared is not None and is_half else np.array(prices.alone, dtype=float)
        seconds[0] = 0.0
        result.append(seconds)
    return result


def _bypass_readers(problem: Problem, placement: BootstrapPlacement) -> BootstrapPlacement:
    """Readers that need no level read what was made: the same levels, and less noise."""
    entered = [op.enters[max((placement.needs[v] for v in op.results), default=0)] for op in problem.ops]
    refreshes = {}
    for value, refresh in placement.refreshes.items():
        level = {r: problem.wanted[value] if r == OUTPUT else entered[r] for r in problem.readers[value]}
        refreshes[value] = Refresh(refresh.target, refresh.bypassing | {r for r in level if level[r] == 0})
    return replace(placement, refreshes=refreshes)
