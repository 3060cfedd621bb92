"""Decision trees as leaves: what is compared on the way to each, and its value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.inputs.reading_budget import current_budget, limit_remedy

Reals = npt.NDArray[np.float64]
Refuse = Callable[[str, str], NoReturn]  # why, and what to do instead

MAX_LEAVES = 1 << 16


USUAL_DEPTH = 64  # of trees: longer paths are of trees that are chains, and count as work


def check_path(path: Sequence[TreeSplit], refuse: Refuse) -> None:
    """Count a path of a tree where it is long; all paths of a chain together grow with the square of its length."""
    budget = current_budget()
    beyond = len(path) - USUAL_DEPTH
    if beyond > 0 and budget is not None and not budget.take_running(beyond):
        refuse(f"its paths of {len(path)} comparisons and others take too much work", limit_remedy("work"))


@dataclass(frozen=True, slots=True)
class TreeSplit:
    """One comparison: whether a feature is above a threshold, or not."""

    feature: int
    threshold: float
    is_above: bool


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a path, whose comparisons all hold for the rows that come there.

    path    its comparisons from the root on
    value   (outputs,)
    """

    path: tuple[TreeSplit, ...]
    value: Reals

    @property
    def splits(self) -> tuple[TreeSplit, ...]:
        """Those that imply the others: of one feature on one side only one."""
        kept: dict[tuple[int, bool], TreeSplit] = {}
        for split in self.path:
            key = split.feature, split.is_above
            choose = max if split.is_above else min
            kept[key] = choose(split, kept.get(key, split), key=lambda s: s.threshold)
        return tuple(kept.values())


@dataclass(frozen=True)
class TreeSum:
    """A sum of trees: constant plus the values of the leaves that a row comes to.

    trees      the leaves of each
    count      of trees that add to one output
    is_single  features are rounded to float32 before they are compared
    whole      features that are whole numbers, and have to be: they are compared for equality
    """

    trees: tuple[tuple[Leaf, ...], ...]
    constant: Reals
    count: int
    is_single: bool = True
    whole: frozenset[int] = frozenset()

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Leaves of all trees, one after the other."""
        return tuple(leaf for tree in self.trees for leaf in tree)

    @property
    def splits(self) -> list[TreeSplit]:
        """All comparisons, each once, as `above`."""
        found = {TreeSplit(s.feature, s.threshold, True) for leaf in self.leaves for s in leaf.path}
        return sorted(found, key=lambda s: (s.feature, s.threshold))
