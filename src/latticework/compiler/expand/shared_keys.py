"""Strategies for all linear maps of a program at once, so that they share keys: a key in use costs nothing more.

Each map has strategies of different time with different keys; a key is stored at the highest level at which it is used,
by whatever uses it. Wanted is the least sum of what all maps take and what all different keys cost. Each map is decided
anew with those of the others as they are, until none changes: a descent, from several beginnings, one of which are the
strategies that are cheapest each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.loop_nests.baby_giant import BlockMapPrices, Choice, Places, required_keys
from latticework.values.packing.loop_nests.map_terms import Baby
from latticework.values.sums import add_up

STARTS = (1.0, 0.5, 0.25, 0.0)  # shares of the prices of keys, by which descents begin
ROUNDS = 8  # at most; two or three are usual
MOST_WEIGHED = 48  # strategies of a map, of those with the least price by themselves


@dataclass(frozen=True, slots=True)
class PricedStrategy:
    """One strategy for a map: what it takes each time, and the Galois elements of its keys."""

    choice: Choice
    seconds: float
    keys: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapSite:
    """A map in its place.

    strategies  the cheapest by itself first
    key   what a key costs at its level
    runs  how often it is run
    """

    strategies: tuple[PricedStrategy, ...]
    key: float
    runs: float = 1.0

    def price(self, strategy: PricedStrategy, present: Mapping[int, float]) -> float:
        """The cost of a strategy if keys in `present` are there, each up to a level at which it costs that much."""
        return self.runs * strategy.seconds + add_up(
            max(0.0, self.key - present.get(key, 0.0)) for key in strategy.keys
        )


def site(
    where: Places, options: Iterable[Choice], prices: BlockMapPrices, ring_degree: int, runs: float = 1.0
) -> MapSite:
    """A map and its strategies, without those that take longer than one costs with its keys."""
    key = prices.key + prices.stored
    known = sorted(((runs * c.time(prices) + key * c.counts.keys, n, c) for n, c in enumerate(options)))
    least = known[0][0]
    choices = [choice for _, _, choice in known if runs * choice.time(prices) <= least][:MOST_WEIGHED]
    strategies = tuple(PricedStrategy(c, c.time(prices), elements(where, c, ring_degree)) for c in choices)
    return MapSite(strategies, key, runs)


def elements(where: Places, choice: Choice, ring_degree: int) -> frozenset[int]:
    """The Galois elements of the keys of a strategy."""
    return frozenset(
        Baby(conj, steps).element(where.slots, ring_degree) for conj, steps in required_keys(where, choice)
    )


def settle(sites: Sequence[MapSite], present: Mapping[int, float]) -> list[Choice]:
    """The strategy for each: the best of what descents from several beginnings end at.

    present  keys that are there anyway -> what they cost at their levels
    """
    candidates = [_descend(sites, present, share) for share in STARTS]
    return [strategy.choice for strategy in min(candidates, key=lambda chosen: total(sites, chosen, present))]


def total(sites: Sequence[MapSite], chosen: Sequence[PricedStrategy], present: Mapping[int, float]) -> float:
    """Total cost: the work of all maps, and their different keys beyond those in `present`."""
    costs = _keys_of(sites, chosen, present)
    keys = add_up(cost - present.get(key, 0.0) for key, cost in costs.items())
    return keys + add_up(of.runs * strategy.seconds for of, strategy in zip(sites, chosen, strict=True))


def _keys_of(
    sites: Sequence[MapSite], chosen: Sequence[PricedStrategy], present: Mapping[int, float]
) -> dict[int, float]:
    costs = dict(present)
    for of, strategy in zip(sites, chosen, strict=True):
        for key in strategy.keys:
            costs[key] = max(costs.get(key, 0.0), of.key)
    return costs


def _descend(sites: Sequence[MapSite], present: Mapping[int, float], share: float) -> list[PricedStrategy]:
    """Improve one map after the other, from strategies that are each cheapest if keys cost `share` of their price."""
    chosen = [min(of.strategies, key=lambda w: of.runs * w.seconds + share * of.key * len(w.keys)) for of in sites]
    for _ in range(ROUNDS):
        before = list(chosen)
        for n, of in enumerate(sites):
            others = _keys_of([*sites[:n], *sites[n + 1 :]], [*chosen[:n], *chosen[n + 1 :]], present)
            best = min(of.strategies, key=lambda strategy: of.price(strategy, others))
            if of.price(best, others) < of.price(chosen[n], others) * (1 - 1e-9):
                chosen[n] = best
        if chosen == before:
            break
    return chosen
