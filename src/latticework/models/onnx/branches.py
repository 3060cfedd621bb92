"""Trees of ONNX files as leaves: branches of all modes as comparisons with thresholds, from the root down."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.models.trees.leaves import MAX_LEAVES, Leaf, Reals, Refuse, TreeSplit, check_path
from latticework.values.inputs.reading_budget import current_budget, limit_remedy

ORDERS = ("LEQ", "LT", "GTE", "GT")
EQUALITIES = ("EQ", "NEQ", "MEMBER")
_DAMAGED = "export it again"


@dataclass(frozen=True)
class TreeBranch:
    """A node that compares: where a row goes if that holds, and where if not.

    mode    of ORDERS or EQUALITIES
    values  one, or of MEMBER any number
    """

    mode: str
    feature: int
    values: tuple[float, ...]
    yes: Hashable
    no: Hashable


@dataclass(frozen=True)
class TreeFeatures:
    """Facts about the features that trees compare.

    whole      (features,): which of them are whole numbers
    declared   all of them are whole numbers, as the file declares; then thresholds lie in the middle between two
    is_single  they are float32
    """

    whole: Sequence[bool]
    declared: bool
    is_single: bool

    def threshold(self, mode: str, value: float) -> float:
        """The number above which a feature makes LEQ and LT fail, and GT and GTE hold."""
        strict = mode in ("LT", "GTE")
        if self.declared:
            return float(np.ceil(value) - 0.5 if strict else np.floor(value) + 0.5)
        if not strict:
            return value
        return float(np.nextafter(np.float32(value), np.float32(-np.inf)) if self.is_single
                     else np.nextafter(value, -np.inf))  # fmt: skip


def check_trees(branches: Mapping[Hashable, TreeBranch], roots: Sequence[Hashable], refuse: Refuse) -> None:
    """Refuse nodes that several lead to: such a graph has as many leaves as it has paths. Leaves may be shared."""
    led_to = [child for branch in branches.values() for child in (branch.yes, branch.no)]
    inner = [name for name in (*roots, *led_to) if name in branches]
    if len(set(inner)) < len(inner):
        refuse("a tree of it is none: several nodes, or trees, lead to one node", _DAMAGED)


@dataclass
class TreeReader:
    """Reads trees one after the other; of all the features that are compared for equality are noted.

    branches  by their names;  leaf  the value of what is none
    seen      nodes on all paths until now: values that are compared for equality lead to one node on several
    """

    features: TreeFeatures
    branches: Mapping[Hashable, TreeBranch]
    leaf: Callable[[Hashable], Reals]
    refuse: Refuse
    equal: set[int]
    seen: int = 0

    def leaves(self, root: Hashable) -> tuple[Leaf, ...]:
        """Those that a row can come to, of one tree."""
        found: list[Leaf] = []
        unseen: list[tuple[Hashable, tuple[TreeSplit, ...], int]] = [(root, (), 0)]
        while unseen:
            name, path, depth = unseen.pop()
            self.seen += 1
            budget = current_budget()
            if (
                self.seen > 2 * len(self.branches) + len(found) + 1
                and budget is not None
                and not budget.take_running(10)
            ):
                self.refuse("its comparisons for equality make too many paths", limit_remedy("work"))
            if depth > len(self.branches):
                self.refuse("a tree of it is none: its nodes refer to each other", _DAMAGED)
            if len(found) > MAX_LEAVES:
                self.refuse(f"a tree of it has more than {MAX_LEAVES} leaves", _DAMAGED)
            check_path(path, self.refuse)
            branch = self.branches.get(name)
            if branch is None:
                found.append(Leaf(path, self.leaf(name)))
                continue
            if not 0 <= branch.feature < len(self.features.whole):
                self.refuse(
                    f"it compares feature {branch.feature}, and its input has {len(self.features.whole)}", _DAMAGED
                )
            unseen += [(child, longer, depth + 1) for child, longer in self._ways(branch, path)]
        return tuple(found)

    def _ways(self, branch: TreeBranch, path: tuple[TreeSplit, ...]) -> list[tuple[Hashable, tuple[TreeSplit, ...]]]:
        """The children of a branch with their longer paths, by the thresholds that rows are above."""
        if branch.mode in ORDERS:
            threshold = self.features.threshold(branch.mode, branch.values[0])
            below, above = (branch.yes, branch.no) if branch.mode in ("LEQ", "LT") else (branch.no, branch.yes)
            cuts, children = [threshold], [below, above]
        else:
            cuts, children = self._equal(branch)
        low, high = -np.inf, np.inf  # what the path says of the feature: above low, and not above high
        for split in path:
            if split.feature == branch.feature:
                low, high = (max(low, split.threshold), high) if split.is_above else (low, min(high, split.threshold))
        ways = []
        for cut, child in zip([*cuts, np.inf], children, strict=True):
            if cut <= low:
                continue  # all rows are above
            if cut >= high:
                ways.append((child, path))  # no row is
                break
            ways.append((child, (*path, TreeSplit(branch.feature, cut, False))))
            path, low = (*path, TreeSplit(branch.feature, cut, True)), cut
        return ways

    def _equal(self, branch: TreeBranch) -> tuple[list[float], list[Hashable]]:
        """Thresholds around the values, in order, and where rows between them go."""
        if not self.features.whole[branch.feature]:
            self.refuse(
                f"it compares feature {branch.feature} for equality, which is exact for whole numbers alone",
                'take trees="exact" with samples= of whole numbers in that feature, or export the model with inputs of '
                "int64",
            )
        self.equal.add(branch.feature)
        yes, no = (branch.no, branch.yes) if branch.mode == "NEQ" else (branch.yes, branch.no)
        cuts: list[float] = []
        for value in sorted({v for v in branch.values if v == np.rint(v) and np.isfinite(v)}):
            if cuts and cuts[-1] == value - 0.5:
                cuts[-1] = value + 0.5
            else:
                cuts += [value - 0.5, value + 0.5]
        return cuts, [no, *(child for _ in range(len(cuts) // 2) for child in (yes, no))]
