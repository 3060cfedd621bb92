"""Complex packing: bootstraps shared by any two values of a kind, for a lower bound and a first placement.

Who refreshes a value pays for a whole bootstrap and may leave half of it to one that is refreshed later, which pays
only for a higher target. A few halves of each kind are kept track of, by their targets; where there are more, all
values pay half a bootstrap from there on. So no placement takes less, in whatever order it is carried out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels.placement.problem import Problem

Floats = npt.NDArray[np.float64]
Levels = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

KEPT = 3  # halves of each kind
NONE = 127  # less the target of a half: the smaller, the better


class SharedBootstraps:
    """The kinds of a problem whose values may share bootstraps, each with columns of states: halves, the highest first,
    and whether all pay half (0 if so).

    alone  seconds of refreshing one value, by target;  more  what two of one target take more at least
    """

    def __init__(self, problem: Problem) -> None:
        self.alone: dict[Hashable, Floats] = {}
        self.more: dict[Hashable, float] = {}
        for value in problem.refreshable:
            prices = problem.values[value]
            if prices.shared is not None and prices.alone is not None:
                alone, kind = np.asarray(prices.alone, dtype=np.float64), prices.kind
                more = max(float(np.min((np.asarray(prices.shared) - alone)[1:])), 0.0)
                self.alone[kind] = np.minimum(self.alone.get(kind, alone), alone)
                self.more[kind] = min(self.more.get(kind, more), more)
        self.kinds = list(self.alone)

    def least(self, kind: Hashable) -> Floats:
        """Seconds that a value of a kind adds at least, by target: half of what two take."""
        return np.minimum(self.alone[kind], (self.alone[kind] + self.more[kind]) / 2)

    def start(self) -> Levels:
        """The columns of the first state."""
        return np.array([[*[NONE] * KEPT, 1] * len(self.kinds)], dtype=np.uint8)

    def refreshes(self, kind: Hashable, target: Levels, columns: Levels) -> Iterator[tuple[Numbers, Floats, Levels]]:
        """Yield choices to refresh a value: the states that may take each, its seconds, and their columns then.

        target   of the value, by state;  columns  of all kinds, by state
        """
        for seconds, then, is_way in self._all_refreshes(kind, target, columns):
            rows = np.flatnonzero(is_way & (target > 0))
            yield rows, seconds[rows], then[rows]

    def _all_refreshes(
        self, kind: Hashable, target: Levels, columns: Levels
    ) -> Iterator[tuple[Floats, Levels, npt.NDArray[np.bool_]]]:
        first = self.kinds.index(kind) * (KEPT + 1)
        mine, lawless = slice(first, first + KEPT), first + KEPT
        alone = self.alone[kind]
        is_lawless = columns[:, lawless] == 0
        is_full = columns[:, first + KEPT - 1] != NONE
        opened = columns.copy()
        opened[:, first + KEPT - 1] = NONE - target
        opened[:, mine] = np.sort(opened[:, mine], axis=1)
        yield alone[target], opened, ~is_lawless & ~is_full
        freed = columns.copy()
        freed[:, lawless] = 0
        yield self.least(kind)[target], freed, is_lawless | is_full
        for number in range(first, first + KEPT):
            has = NONE - columns[:, number].astype(np.int64)
            closed = columns.copy()
            closed[:, number] = NONE
            closed[:, mine] = np.sort(closed[:, mine], axis=1)
            seconds = alone[np.maximum(has, target)] - alone[has] + self.more[kind]
            yield np.minimum(seconds, alone[target]), closed, has > 0

    def worth_left(self, columns: Levels) -> Floats:
        """The most that halves which nobody has taken are worth, by state: so much of what was paid may serve later."""
        result = np.zeros(len(columns))
        for place, kind in enumerate(self.kinds):
            worth = self.alone[kind] - self.least(kind)
            worth[0] = 0.0
            for number in range(place * (KEPT + 1), place * (KEPT + 1) + KEPT):
                result += worth[NONE - columns[:, number].astype(np.int64)]
        return result
