"""Rules of loading and clearing at each operation that takes keys, by the counters of its loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from math import prod
from typing import Any, Generic, TypeVar

from latticework.frontend.heir.keys.key_live_ranges import KeyLives, Life, neighbours
from latticework.frontend.heir.keys.trace import KeySite, RotationUse
from latticework.lazy_dataclass import dataclass

MOST_ENTRIES = 1 << 16  # of a table by counters: operations with larger ones load and clear whatever they use
T = TypeVar("T")
Turns = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ByTurns(Generic[T]):
    """A value that depends on some of the counters of an operation's loops.

    loops  their numbers, from outside;  values  by the counters of these, None where it makes no difference
    """

    loops: tuple[int, ...]
    values: Mapping[Turns, T | None]

    @property
    def always(self) -> T | None:
        """The value, if it depends on none."""
        return None if self.loops else self.values[()]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a table with all counters from 0."""
        return tuple(max(turns[i] for turns in self.values) + 1 for i in range(len(self.loops)))


@dataclass(frozen=True, slots=True)
class SiteRules:
    """The rules of one operation.

    keys      of each that it takes the index, None where that depends on the counters
    loaded, cleared  of each, whether it is loaded before and cleared after;  requests  what is asked for after that
    partners  of each, the only other operation that uses it before this one does, if it is the only one
    is_whole  it takes keys whenever it is carried out, and never turns by 0
    """

    site: KeySite
    keys: tuple[int | None, ...]
    loaded: tuple[ByTurns[bool], ...]
    cleared: tuple[ByTurns[bool], ...]
    requests: ByTurns[tuple[int, ...]]
    partners: tuple[KeySite | None, ...]
    is_whole: bool


def barred_lives(uses: Sequence[RotationUse]) -> Set[Life]:
    """Lives that no rule could say: from one call of a function that is called repeatedly to another, or to elsewhere,
    and of operations whose counters are no index of a table."""
    befores, nexts = neighbours([use.keys for use in uses])
    calls: dict[str, set[int]] = defaultdict(set)
    by_site: dict[int, list[RotationUse]] = defaultdict(list)
    for use in uses:
        calls[use.site.function.name].add(use.call)
        by_site[id(use.site.operation)].append(use)
    untabled = {site for site, own in by_site.items() if not _has_table([use.turns for use in own])}
    barred: set[Life] = set()
    for number, use in enumerate(uses):
        for key in use.keys:
            if id(use.site.operation) in untabled:
                barred |= {(number, key)} | ({(befores[number][key], key)} if key in befores[number] else set())
            other = uses[nexts[number][key]] if key in nexts[number] else use
            several = any(len(calls[one.site.function.name]) > 1 for one in (use, other))
            if several and other.call != use.call:
                barred.add((number, key))
    return barred


def _has_table(turns: Sequence[Turns]) -> bool:
    columns = list(zip(*turns, strict=True))
    return min(map(min, columns), default=0) >= 0 and prod(max(c) + 1 for c in columns) <= MOST_ENTRIES


def mixed_lives(uses: Sequence[RotationUse]) -> Callable[[KeyLives], Set[Life]]:
    """Lives that differ between calls of a function, at one operation and with the same counters."""
    groups: dict[tuple[int, Turns], list[int]] = defaultdict(list)
    for number, use in enumerate(uses):
        if use.keys:
            groups[id(use.site.operation), use.turns].append(number)
    several = [numbers for numbers in groups.values() if len(numbers) > 1]

    def find(lives: KeyLives) -> Set[Life]:
        mixed: set[Life] = set()
        for numbers in several:
            for keys in zip(*(uses[n].keys for n in numbers), strict=True):
                pairs = list(zip(numbers, keys, strict=True))
                if len({lives.is_cleared(*pair) for pair in pairs}) > 1:
                    mixed |= set(pairs)
                if len({lives.is_loaded(*pair) for pair in pairs}) > 1:
                    mixed |= {(lives.befores[n][key], key) for n, key in pairs if key in lives.befores[n]}
        return mixed

    return find


def rules_of(uses: Sequence[RotationUse], lives: KeyLives) -> list[SiteRules]:
    """Return the rules of every operation that takes keys, in the order of the first use."""
    numbers: dict[int, list[int]] = defaultdict(list)
    for number, use in enumerate(uses):
        numbers[id(use.site.operation)].append(number)
    return [_rules(uses, lives, own) for own in numbers.values() if any(uses[n].keys for n in own)]


def _rules(uses: Sequence[RotationUse], lives: KeyLives, own: list[int]) -> SiteRules:
    taking = [n for n in own if uses[n].keys]
    places = range(len(uses[taking[0]].keys))
    keys: list[int | None] = []
    for place in places:
        found = {uses[n].keys[place] for n in taking}
        keys.append(found.pop() if len(found) == 1 else None)

    def by_turns(value: Callable[[int, int], bool], place: int) -> ByTurns[bool]:
        nothing: dict[Turns, bool | None] = {uses[n].turns: None for n in own}
        return drop_idle_counters(nothing | {uses[n].turns: value(n, uses[n].keys[place]) for n in taking})

    asked: dict[Turns, tuple[int, ...]] = {}
    for n in own:
        found_here = tuple(lives.requests.get(n, ()))
        asked[uses[n].turns] = found_here if asked.get(uses[n].turns, found_here) == found_here else ()
    if not _has_table(list(asked)):
        asked = dict.fromkeys(asked, ())
    return SiteRules(
        uses[own[0]].site,
        tuple(keys),
        tuple(by_turns(lives.is_loaded, place) for place in places),
        tuple(by_turns(lives.is_cleared, place) for place in places),
        drop_idle_counters(asked),
        tuple(_partner(uses, lives, taking, place) for place in places),
        len(taking) == len(own),
    )


def _partner(uses: Sequence[RotationUse], lives: KeyLives, taking: Sequence[int], place: int) -> KeySite | None:
    """The operation, before this one wherever control may come from, whose key this one always finds."""
    here = uses[taking[0]].site
    found: dict[int, KeySite] = {}
    for n in taking:
        before = lives.befores[n].get(uses[n].keys[place])
        if before is None:
            return None
        site = uses[before].site
        if site is not here:
            found[id(site)] = site
    if len(found) != 1:
        return None
    site = next(iter(found.values()))
    *outer, (region, at) = site.path
    if site.function is not here.function or len(here.path) < len(site.path):
        return None
    there = here.path[len(outer)]
    return site if list(here.path[: len(outer)]) == outer and there[0] == region and there[1] > at else None


def drop_idle_counters(values: Mapping[Turns, T | None]) -> ByTurns[T]:
    """The same by as few counters as it depends on; None: it makes no difference."""
    count = len(next(iter(values)))
    loops = list(range(count))
    for loop in range(count):
        fewer = [one for one in loops if one != loop]
        if _at(values, fewer) is not None:
            loops = fewer
    found: Any = _at(values, loops)
    return ByTurns(tuple(loops), found)


def _at(values: Mapping[Turns, T | None], loops: Sequence[int]) -> dict[Turns, T | None] | None:
    found: dict[Turns, T | None] = {}
    for turns, value in values.items():
        at = tuple(turns[i] for i in loops)
        known = found.setdefault(at, value)
        if known is None:
            found[at] = value
        elif value is not None and value != known:
            return None
    return found
