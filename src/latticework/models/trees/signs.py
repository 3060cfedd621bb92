"""Sums of trees by composite signs: every comparison of every path in one array, then products along the paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from latticework.errors.remedies import CALIBRATE_APART
from latticework.frontend.functions.comparing import apply_sign
from latticework.frontend.recording.tracing import Traced
from latticework.functions.approximation.real_functions import sign_from
from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import ModelNode
from latticework.models.trees.leaves import Reals, Refuse, TreeSum
from latticework.models.trees.tree_options import GIVE_APART, UNSEEN
from latticework.values.inputs.reading_budget import current_budget, limit_remedy

LEAST_GAP = 2.0**-16  # of a threshold, on the way of a row, by the range of the feature
CLEAR = 4.0  # for each tree: results are precise to a part of their largest, and doubts need two bits fewer than others
KEPT = 0.9  # of the smallest distance of samples: others that come as close are as good
MARGIN_OPTIONS = ("feature", "threshold", "side", "scale", "is_single")
_ROWS = 64  # whose distances are in memory at once,
_DISTANCES = 1 << 21  # or as many as make so many distances
_COPIES = 8  # of the table of comparisons: its parts, and what is computed of them


def sign_options(
    trees: TreeSum,
    samples: Reals | None,
    gap: float | None,
    refuse: Refuse,
    note: Callable[[str], None],
    *,
    column: bool = False,
) -> dict[str, Any]:
    """Options of `sum_of_trees` for a sum of trees, by name; then it makes (rows, outputs), or (rows,) of one output.

    A row is right where its features keep the gap from the thresholds of its own paths: where it leaves the path to
    another leaf, that comparison is one of its own, and is 0 there, whatever those further on are.
    gap     as far as all samples keep if not given
    refuse  called without samples, and where one of them is so close to a threshold that no sign tells it
    note    told what there is to say of the trees
    column  whether one output has an axis of its own: (rows, 1)
    """
    if samples is None:
        refuse(UNSEEN, GIVE_APART)
    depth = max(1, *(len(leaf.splits) for leaf in trees.leaves))
    shape = depth, len(trees.leaves)
    _check_room(depth * len(trees.leaves), samples.shape[1], refuse)
    feature, threshold, side, scale = np.zeros(shape, int), np.zeros(shape), np.zeros(shape), np.ones(shape)
    reach = _reach(trees, samples)
    for place, leaf in enumerate(trees.leaves):
        for level, split in enumerate(leaf.splits):
            feature[level, place], threshold[level, place] = split.feature, split.threshold
            side[level, place], scale[level, place] = (1 if split.is_above else -1), 1 / reach[split.feature]
    own, _ = margins(samples, feature, threshold, side, scale, trees.is_single)
    gap = gap or KEPT * min(1.0, float(own.min()))
    if gap < LEAST_GAP:
        refuse(
            f"{int(np.sum(own < LEAST_GAP))} of the samples have a feature closer than 2^-16 of its range to a "
            f"threshold that decides about them (the first is row {int(own.argmin())})",
            'take trees="exact", leave these samples out, or give the gap from which on results are to be right: '
            f"{np.mean(own >= 2.0**-10):.1%} of the samples keep gap=2**-10; then compile with {CALIBRATE_APART}",
        )
    note(
        f"{len(trees.splits)} comparisons, {len(trees.leaves)} leaves, {depth} comparisons on the longest path; right "
        f"for rows whose features keep {gap:.2g} of their range from the thresholds on their paths, as "
        f"{np.mean(own >= gap):.1%} of the samples do"
    )
    _refuse_coarse(refuse, trees, reach, gap)
    values, constant, spread = _centre_leaves(trees)
    is_one = len(values) == 1 and not column
    return {
        "feature": feature, "threshold": threshold, "side": side, "scale": scale,
        "weight": values[0] if is_one else values, "bias": constant[0] if is_one else constant, "gap": gap,
        "is_single": trees.is_single, "clear": CLEAR * len(trees.trees), "spread": spread[0] if is_one else spread,
    }  # fmt: skip


def _check_room(comparisons: int, features: int, refuse: Refuse) -> None:
    """Refuse tables of all comparisons, and what picks the features of each, that take too much memory."""
    budget = current_budget()
    if budget is not None and comparisons * (features + _COPIES) * 8 > 2 * budget.limits.memory_bytes:
        refuse(
            f"{comparisons} comparisons on all paths, of {features} features, take too much memory",
            f"fit fewer or smaller trees; {limit_remedy('memory_bytes')}",
        )


def is_by_signs(node: ModelNode) -> bool:
    """Whether a node is a sum of trees, with the options that are made here."""
    return node.options.keys() >= {field.name for field in fields(SignedTrees)}


def _centre_leaves(trees: TreeSum) -> tuple[Reals, Reals, Reals]:
    """Values of leaves less the middle of those of their tree, (outputs, leaves), with a constant that makes up for it.

    The third is the most that two leaves of one tree differ, (outputs,).
    """
    ends = [(np.min([f.value for f in tree], axis=0), np.max([f.value for f in tree], axis=0)) for tree in trees.trees]
    middles = [np.where(high > low, (high + low) / 2, 0.0) for low, high in ends]
    values = [leaf.value - middle for tree, middle in zip(trees.trees, middles, strict=True) for leaf in tree]
    spread = np.max([high - low for low, high in ends], axis=0)
    return np.array(values).T, trees.constant + np.sum(middles, axis=0), spread


def _refuse_coarse(refuse: Refuse, trees: TreeSum, reach: dict[int, float], gap: float) -> None:
    """Refuse trees whose gap is finer than float32, to which features are rounded before they are compared."""
    if not trees.is_single:
        return
    for split in trees.splits:
        if np.spacing(np.float32(abs(split.threshold))) > gap * reach[split.feature]:
            refuse(
                f"feature {split.feature} is compared with {split.threshold:.9g} in float32, which is coarser there "
                f"than the gap, {gap * reach[split.feature]:.2g}",
                "subtract a constant from the feature before fitting, or give a larger gap=",
            )


def _reach(trees: TreeSum, samples: Reals) -> dict[int, float]:
    """The largest distance of a sample from a threshold, by feature: so that one further on a path is no closer."""
    found: dict[int, float] = {}
    for split in trees.splits:
        farthest = float(np.abs(samples[:, split.feature] - split.threshold).max())
        found[split.feature] = max(found.get(split.feature, 0.0), farthest)
    return {feature: farthest or 1.0 for feature, farthest in found.items()}


def margins(x: Reals, feature: Any, threshold: Any, side: Any, scale: Any, is_single: bool) -> tuple[Reals, Reals]:
    """The distance of each row to the nearest threshold, by its range: on the row's paths, and of all thresholds."""
    found = []
    at_once = max(1, min(_ROWS, _DISTANCES // max(side.size, 1)))
    for rows in np.array_split(x, max(1, -(-len(x) // at_once))):
        apart = np.abs(_as_compared(rows, is_single)[:, feature] - threshold) * scale
        apart[:, side == 0] = np.inf
        closest = apart.min(axis=1)
        comes = _exactly(rows, feature, threshold, side, is_single) > 0
        found.append((np.where(comes, closest, np.inf).min(axis=1), closest.min(axis=1)))
    own, everywhere = zip(*found, strict=True)
    return np.concatenate(own), np.concatenate(everywhere)


@dataclass(frozen=True, kw_only=True)
class SignedTrees:
    """Trees whose comparisons are signs.

    feature, threshold, side, scale  (depth, leaves): what is compared on the path to each leaf; side 1: above, -1: not
                                     above, 0: nothing; differences times scale lie between -1 and 1
    weight, bias                     (outputs, leaves) and (outputs,), or (leaves,) and a number
    gap                              the distance from a threshold from which on a sign is right
    spread                           the most that two leaves of one tree differ, for each output
    """

    feature: Any
    threshold: Any
    side: Any
    scale: Any
    weight: Any
    bias: Any
    gap: float
    is_single: bool
    clear: float
    spread: Any


def sum_of_trees(x: Any, *, trees: SignedTrees) -> tuple[Any, Any]:
    """Sum the values of leaves, weighted by whether a row comes there; also return `clear` less what is undecided.

    A tree is decided where one leaf has indicator 1 and the others 0. What is undecided is the sum of i * (1 - i)
    of all indicators i, (rows,); `threshold_margin` says what it bounds.
    """
    comes = _indicators(x, trees) if isinstance(x, Traced) else _exactly(
        x, trees.feature, trees.threshold, trees.side, trees.is_single)  # fmt: skip
    return comes @ trees.weight.T + trees.bias, np.sum(np.square(comes) - comes, axis=1) + trees.clear


def _indicators(x: Any, trees: SignedTrees) -> Any:
    """Indicators (rows, leaves): near 1 where a row comes to a leaf, near 0 elsewhere."""
    feature, threshold, side, scale = trees.feature, trees.threshold, trees.side, trees.scale
    depth, leaves = side.shape
    numbers = np.arange(side.size)
    apart = np.zeros((x.shape[1], side.size))
    apart[feature.reshape(-1), numbers] = (side * scale).reshape(-1)
    offset = np.where(side == 0, 1.0, -threshold * side * scale).reshape(-1)
    bits = 0.5 + 0.5 * apply_sign(x @ apart + offset, sign_from(float(trees.gap), told=True))
    return np.prod(np.reshape(bits, (x.shape[0], depth, leaves)), axis=1)


def _exactly(x: Reals, feature: Any, threshold: Any, side: Any, is_single: bool) -> Reals:
    """1 where a row comes to a leaf, 0 elsewhere, (rows, leaves)."""
    above = _as_compared(x, is_single)[:, feature] > threshold
    comes: Reals = np.all(np.where(side > 0, above, ~above) | (side == 0), axis=1).astype(np.float64)
    return comes


def _as_compared(x: Reals, is_single: bool) -> Reals:
    return x.astype(np.float32).astype(np.float64) if is_single else x
