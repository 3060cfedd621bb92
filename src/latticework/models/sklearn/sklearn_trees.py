"""Trees of scikit-learn as leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latticework.errors.remedies import REMEDIES
from latticework.models.sklearn.fitted_step import FIT_HERE, FittedStep
from latticework.models.trees.leaves import MAX_LEAVES, Leaf, Reals, TreeSplit, check_path


def leaves_of_tree(step: FittedStep, tree: Any, values: Reals) -> tuple[Leaf, ...]:
    """The leaves of a tree of scikit-learn.

    tree    its `tree_`
    values  (nodes, outputs): of every node
    """
    names = ("children_left", "children_right", "feature", "threshold")
    if not all(hasattr(tree, name) for name in names):
        step.refuse("a tree of it has other attributes", FIT_HERE)
    left, right, feature = (np.asarray(getattr(tree, name)) for name in names[:3])
    threshold = np.asarray(tree.threshold, dtype=np.float64)
    return _leaves(step, left, right, feature, threshold, left < 0, values)


def leaves_of_predictor(step: FittedStep, nodes: Any) -> tuple[Leaf, ...]:
    """The leaves of a tree of histograms.

    nodes  a structured array
    """
    wanted = ("value", "feature_idx", "num_threshold", "left", "right", "is_leaf", "is_categorical")
    if not set(wanted) <= set(nodes.dtype.names or ()):
        step.refuse("a tree of it has other fields", FIT_HERE)
    if nodes["is_categorical"].any():
        step.refuse("it compares categories", f"{REMEDIES['category'].outside}, and fit it on numbers")
    value = step.check_numbers(nodes["value"], "values of leaves", len(nodes))[:, None]
    left, right, feature = (nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
    return _leaves(step, left, right, feature, nodes["num_threshold"], nodes["is_leaf"].astype(bool), value)


def _leaves(
    step: FittedStep, left: Any, right: Any, feature: Any, threshold: Any, is_leaf: Any, values: Reals
) -> tuple[Leaf, ...]:
    found: list[Leaf] = []
    open_paths: list[tuple[int, tuple[TreeSplit, ...]]] = [(0, ())]
    seen: set[int] = set()
    while open_paths:
        node, path = open_paths.pop()
        if not 0 <= node < len(left) or node in seen:
            step.refuse("a tree of it is none: its nodes refer to each other", "fit it again")
        seen.add(node)
        if len(found) > MAX_LEAVES:
            step.refuse(f"a tree of it has more than {MAX_LEAVES} leaves", "fit it with max_leaf_nodes=")
        check_path(path, step.refuse)
        if is_leaf[node]:
            found.append(Leaf(path, values[node]))
            continue
        if not 0 <= feature[node] < step.width or not np.isfinite(threshold[node]):
            step.refuse("a tree of it compares a feature that is not there, or with no number", "fit it again")
        split = TreeSplit(int(feature[node]), float(threshold[node]), True)
        open_paths.append((int(right[node]), (*path, split)))
        open_paths.append((int(left[node]), (*path, replace(split, is_above=False))))
    return tuple(found)
