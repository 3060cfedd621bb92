"""Live ranges of keys: those that stay in memory from one use to the next, and those that are prefetched.

Keeping a key between two uses takes one place in between and saves one load. To keep as often as possible where no
place holds more than the capacity: go through the uses, and where there are too many let go of the key that is used
again last. Source: Belady, "A study of replacement algorithms for a virtual-storage computer" (1966); the same rule as
for rows of keys in `plan/key_schedule/key_eviction.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import field

from latticework.lazy_dataclass import dataclass

Life = tuple[int, int]  # a use, by number, and a key of it that stays until it is used again


@dataclass(frozen=True, slots=True)
class KeyLives:
    """The live ranges of all keys.

    kept      keys that stay after a use;  befores, nexts  by use, of each of its keys, the use before and after it
    requests  by use, keys that are asked for right after it; -1: before the first
    """

    uses: Sequence[tuple[int, ...]]
    kept: Set[Life]
    befores: Sequence[dict[int, int]]
    nexts: Sequence[dict[int, int]]
    requests: dict[int, list[int]] = field(default_factory=dict)

    def is_loaded(self, use: int, key: int) -> bool:
        """Whether a key has to be loaded for a use."""
        before = self.befores[use].get(key)
        return before is None or (before, key) not in self.kept

    def is_cleared(self, use: int, key: int) -> bool:
        """Whether a key goes after a use."""
        return (use, key) not in self.kept

    @property
    def loads(self) -> int:
        """The number of loads."""
        return sum(map(len, self.uses)) - len(self.kept)


def neighbours(uses: Sequence[tuple[int, ...]]) -> tuple[list[dict[int, int]], list[dict[int, int]]]:
    """Find by use, for each of its keys, the use before and the use after it."""
    befores: list[dict[int, int]] = []
    nexts: list[dict[int, int]] = [{} for _ in uses]
    last: dict[int, int] = {}
    for number, keys in enumerate(uses):
        befores.append({key: last[key] for key in keys if key in last})
        for key, before in befores[-1].items():
            nexts[before][key] = number
        last.update(dict.fromkeys(keys, number))
    return befores, nexts


def find_lives(
    uses: Sequence[tuple[int, ...]],
    capacity: int,
    barred: Set[Life] = frozenset(),
    more: Callable[[KeyLives], Set[Life]] = lambda _lives: frozenset(),
) -> KeyLives:
    """Find live ranges with the fewest loads that `capacity` keys in memory allow, where each use has all of its keys.

    barred  lives that may not be;  more  says which others may not be, until it finds none
    """
    befores, nexts = neighbours(uses)
    while True:
        found = KeyLives(uses, _choose_lives(uses, nexts, capacity, barred), befores, nexts)
        added = more(found) & found.kept
        if not added:
            return found
        barred = barred | added


def _choose_lives(
    uses: Sequence[tuple[int, ...]], nexts: Sequence[dict[int, int]], capacity: int, barred: Set[Life]
) -> set[Life]:
    held: dict[int, tuple[int, int]] = {}  # key -> its next use, and the use since which it is there
    kept: set[Life] = set()
    for number, keys in enumerate(uses):
        kept |= {(held.pop(key)[1], key) for key in keys if key in held}
        while len(held) + len(keys) > capacity:
            del held[max(held, key=lambda key: held[key][0])]
        held |= {key: (due, number) for key, due in nexts[number].items() if (number, key) not in barred}
    return kept


def ask_ahead(lives: KeyLives, capacity: int, ahead: int) -> None:
    """Fill in the requests: every load is asked for up to `ahead` uses before, as far as there is a place for it."""
    uses = lives.uses
    at, gap = [len(keys) for keys in uses], [0] * (len(uses) + 1)  # places taken at a use; after it, -1 last
    for use, key in lives.kept:
        _take(at, gap, use, lives.nexts[use][key])
    for use, keys in enumerate(uses):
        for key in keys:
            if not ahead or not lives.is_loaded(use, key):
                continue
            place = use - 1
            earliest = max(use - ahead, -1, lives.befores[use].get(key, -1))
            while place > earliest and at[place] < capacity and gap[place - 1] < capacity:
                place -= 1
            _take(at, gap, place, use)
            lives.requests.setdefault(place, []).append(key)


def _take(at: list[int], gap: list[int], first: int, last: int) -> None:
    for place in range(first, last):
        gap[place] += 1
        if place > first:
            at[place] += 1
