"""Ensembles of trees as ONNX files have them: attributes of a node as sums of leaves, checked.

Where runtimes compute different things, the classes and scores here are those of onnxruntime, or the node is refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.models.onnx.branches import TreeBranch, TreeFeatures, TreeReader, check_trees
from latticework.models.onnx.refused_operators import APPLY_AFTER, LEAVE_CLASS_OUT
from latticework.models.onnx.size_limits import check_size
from latticework.models.trees.leaves import Leaf, Reals, Refuse, TreeSum

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")  # their numbers in TreeEnsemble
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_DAMAGED = "export it again"
_DIFFER = "runtimes compute different things there: "


@dataclass(frozen=True)
class OnnxEnsemble:
    """One node.

    trees      with the base values as their constant
    aggregate  of AGGREGATES, where there are several trees, else SUM
    post       NONE, SOFTMAX or LOGISTIC of the outputs
    shift      of the outputs, before the class of the largest of them is taken: (outputs,); None: of what they are
    no_label   why the class is none that runtimes agree on, and what to do; None: it is one
    """

    trees: TreeSum
    aggregate: str = "SUM"
    post: str = "NONE"
    shift: Reals | None = None
    no_label: tuple[str, str] | None = None


@dataclass(frozen=True)
class _Forest:
    """Trees by their roots; of leaves what they add to which outputs."""

    branches: Mapping[Hashable, TreeBranch]
    roots: Sequence[Hashable]
    entries: Mapping[Hashable, Sequence[tuple[int, float]]]

    def read(self, features: TreeFeatures, outputs: int, refuse: Refuse) -> TreeSum:
        if outputs < 1:
            refuse(f"it has {outputs} outputs", _DAMAGED)
        check_size((len(self.entries) + len(self.roots), outputs))
        check_trees(self.branches, self.roots, refuse)
        equal: set[int] = set()

        def value(name: Hashable) -> Reals:
            found = np.zeros(outputs)
            for output, weight in self.entries.get(name, ()):
                if not 0 <= output < outputs or not np.isfinite(weight):
                    refuse(f"a leaf of it gives {weight} to output {output} of {outputs}", _DAMAGED)
                found[output] += weight
            return found

        reader = TreeReader(features, self.branches, value, refuse, equal)
        read = tuple(reader.leaves(root) for root in self.roots)
        return TreeSum(read, np.zeros(outputs), len(read), features.is_single, frozenset(equal))

    def always(self, output: int) -> bool:
        """Whether a tree gives something to an output at each of its leaves."""
        return any(all(self._gives(leaf, output) for leaf in self._leaves(root)) for root in self.roots)

    def everywhere(self, output: int) -> bool:
        """Whether all trees do."""
        return all(all(self._gives(leaf, output) for leaf in self._leaves(root)) for root in self.roots)

    def _gives(self, leaf: Hashable, output: int) -> bool:
        return any(each == output for each, _ in self.entries.get(leaf, ()))

    def _leaves(self, root: Hashable) -> list[Hashable]:
        return [name for name in self.below(root) if name not in self.branches]

    def below(self, root: Hashable) -> list[Hashable]:
        """All nodes of a tree."""
        unseen, seen = [root], dict[Hashable, None]()
        while unseen:
            name = unseen.pop()
            if name not in seen:
                seen[name] = None
                branch = self.branches.get(name)
                unseen += [branch.yes, branch.no] if branch else []
        return list(seen)


def regressor(options: Mapping[str, Any], features: TreeFeatures, refuse: Refuse) -> OnnxEnsemble:
    """A TreeEnsembleRegressor."""
    outputs = int(options.get("n_targets", 1))
    forest = _of_columns(options, "target", refuse)
    base = _numbers(options, "base_values")
    if len(base) not in (0, outputs):
        refuse(f"it has {len(base)} base_values for {outputs} targets", _DAMAGED)
    return _aggregate_trees(forest, features, outputs, base, str(options.get("aggregate_function", "SUM")),
                     str(options.get("post_transform", "NONE")), refuse)  # fmt: skip


def ensemble(options: Mapping[str, Any], features: TreeFeatures, refuse: Refuse) -> OnnxEnsemble:
    """A TreeEnsemble."""
    columns = [
        np.asarray(options[name]).reshape(-1)
        for name in ("nodes_modes", "nodes_featureids", "nodes_splits", "nodes_truenodeids", "nodes_falsenodeids",
                     "nodes_trueleafs", "nodes_falseleafs")
    ]  # fmt: skip
    if len(set(map(len, columns))) != 1 or columns[0].max(initial=0) >= len(MODES):
        refuse("its lists of nodes are of different lengths, or it has a mode that is none", _DAMAGED)
    if np.isnan(columns[2][columns[0] != MODES.index("MEMBER")].astype(np.float64)).any():
        refuse("its nodes_splits hold NaN where something is compared with it", _DAMAGED)
    members = _members(options.get("membership_values"), int(np.sum(columns[0] == MODES.index("MEMBER"))), refuse)
    branches: dict[Hashable, TreeBranch] = {}
    for number, (mode, feature, split, yes, no, is_yes_leaf, is_no_leaf) in enumerate(zip(*columns, strict=True)):
        name = MODES[int(mode)]
        values = next(members) if name == "MEMBER" else (float(split),)
        branches["node", number] = TreeBranch(
            name, int(feature), values, ("leaf" if is_yes_leaf else "node", int(yes)),
            ("leaf" if is_no_leaf else "node", int(no)),
        )  # fmt: skip
    weights, targets = (np.asarray(options[name]).reshape(-1) for name in ("leaf_weights", "leaf_targetids"))
    if len(weights) != len(targets):
        refuse(f"it has {len(weights)} leaf_weights for {len(targets)} leaf_targetids", _DAMAGED)
    entries: dict[Hashable, Sequence[tuple[int, float]]] = {
        ("leaf", i): [(int(t), float(w))] for i, (t, w) in enumerate(zip(targets, weights, strict=True))
    }
    roots = []
    for root in options["tree_roots"]:
        branch = branches.get(("node", int(root)))
        is_leaf = branch is not None and branch.yes == branch.no and str(branch.yes[0]) == "leaf"  # type: ignore[index]
        roots.append(branch.yes if is_leaf and branch else ("node", int(root)))
    known = {*branches, *entries}
    if not roots or not known.issuperset([*roots, *(c for b in branches.values() for c in (b.yes, b.no))]):
        refuse("its nodes name others that are not there, or it has no trees", _DAMAGED)
    return _aggregate_trees(
        _Forest(branches, roots, entries), features, int(options.get("n_targets", 1)), np.zeros(0),
        AGGREGATES[int(options.get("aggregate_function", 1))], POSTS[int(options.get("post_transform", 0))], refuse,
    )  # fmt: skip


def _members(given: Any, count: int, refuse: Refuse) -> Any:
    """Sets of MEMBER nodes, in order; each ends with NaN."""
    found: list[tuple[float, ...]] = []
    current: list[float] = []
    for value in [] if given is None else np.asarray(given, np.float64).reshape(-1):
        if np.isnan(value):
            found.append(tuple(current))
            current = []
        else:
            current.append(float(value))
    if len(found) != count or current:
        refuse(f"it has {len(found)} sets of membership_values for {count} nodes that ask for members", _DAMAGED)
    return iter(found)


def _aggregate_trees(
    forest: _Forest, features: TreeFeatures, outputs: int, base: Reals, aggregate: str, post: str, refuse: Refuse
) -> OnnxEnsemble:
    """Sums, means, or the largest or smallest of trees, with base values."""
    if aggregate not in AGGREGATES:
        refuse(f"aggregate_function={aggregate}; there are {', '.join(AGGREGATES)}", _DAMAGED)
    trees = forest.read(features, outputs, refuse)
    count = len(trees.trees)
    if count == 1:
        aggregate = "SUM"
    if aggregate in ("MIN", "MAX") and not all(map(forest.everywhere, range(outputs))):
        refuse(f"aggregate_function={aggregate} of leaves without a value for some target", f"{_DIFFER}sum them up")
    if len(base) and outputs > 1 and not all(map(forest.always, range(outputs))):
        refuse("it has base_values of targets that some rows get nothing for", f"{_DIFFER}add them after decryption")
    if aggregate == "AVERAGE":
        trees, aggregate = replace(trees, trees=tuple(_divide_leaves(tree, count) for tree in trees.trees)), "SUM"
    trees = replace(trees, constant=base if len(base) else np.zeros(outputs))
    if outputs == 1 and post != "NONE":
        refuse(f"post_transform={post} of one target", f"{_DIFFER}leave it out, and apply it after decryption")
    return OnnxEnsemble(trees, aggregate, _post(post, refuse))


def _divide_leaves(tree: tuple[Leaf, ...], count: int) -> tuple[Leaf, ...]:
    return tuple(replace(leaf, value=leaf.value / count) for leaf in tree)


def _post(post: str, refuse: Refuse) -> str:
    if post not in ("NONE", "SOFTMAX", "LOGISTIC"):
        refuse(
            f"post_transform={post}; NONE, SOFTMAX and LOGISTIC are known",
            APPLY_AFTER,
        )
    return post


def classifier(options: Mapping[str, Any], features: TreeFeatures, refuse: Refuse) -> OnnxEnsemble:
    """A TreeEnsembleClassifier."""
    labels = max(len(options.get(f"classlabels_{kind}") or ()) for kind in ("int64s", "strings"))
    forest, base = _of_columns(options, "class", refuse), _numbers(options, "base_values")
    post = str(options.get("post_transform", "NONE"))
    weights = np.array([weight for entries in forest.entries.values() for _, weight in entries])
    used = {output for entries in forest.entries.values() for output, _ in entries}
    if labels < 2:
        refuse(f"it has {labels} names of classes", f"{_DIFFER}export it with both")
    if labels == 2 and len(used) == 1:
        return _pair(forest, features, base, post, bool((weights >= 0).all()), used == {0}, refuse)
    if labels == 2 and len(base):
        refuse("it has base_values of two classes", f"{_DIFFER}export it with one score")
    if len(base) not in (0, labels):
        refuse(f"it has {len(base)} base_values for {labels} classes", _DAMAGED)
    found = OnnxEnsemble(forest.read(features, labels, refuse), post=_post(post, refuse))
    found = replace(found, trees=replace(found.trees, constant=base if len(base) else np.zeros(labels)))
    if labels == 2:
        return replace(found, no_label=(f"{_DIFFER}the class of two that have a score each", LEAVE_CLASS_OUT))
    if not len(base) and (weights < 0).any() and not all(map(forest.always, range(labels))):
        return replace(found, no_label=(f"{_DIFFER}the class where some have no score", LEAVE_CLASS_OUT))
    return found


def _pair(
    forest: _Forest, features: TreeFeatures, base: Reals, post: str, is_chance: bool, is_first: bool, refuse: Refuse
) -> OnnxEnsemble:
    """One score, of the second of two classes: a probability, or a number below 0 for the first."""
    if not is_first or len(base) > 1 or post not in ("NONE", "LOGISTIC"):
        what = "its one score is of the second class" if not is_first else f"{len(base)} base_values, or {post}"
        refuse(f"it has two classes and one score, and {what}", f"{_DIFFER}export it with a score for each class")
    trees = forest.read(features, 1, refuse)
    trees = replace(
        trees,
        trees=tuple(tuple(replace(f, value=np.array([-1.0, 1.0]) * f.value) for f in tree) for tree in trees.trees),
        constant=np.array([-1.0, 1.0]) * (base[0] if len(base) else 0.0),
    )
    chances = np.array([1.0, 0.0])
    if is_chance and post == "NONE":
        return OnnxEnsemble(replace(trees, constant=trees.constant + chances))
    return OnnxEnsemble(trees, post=post, shift=chances if is_chance else None)


def _numbers(options: Mapping[str, Any], name: str) -> Reals:
    """A list of numbers, or the tensor that stands for it."""
    given = options.get(f"{name}_as_tensor")
    return np.asarray(options.get(name, ()) if given is None else given, np.float64).reshape(-1)


def is_double(options: Mapping[str, Any]) -> bool:
    """Whether thresholds are of float64."""
    given = [options.get(name) for name in ("nodes_values_as_tensor", "nodes_splits")]
    return any(np.asarray(each).dtype == np.float64 for each in given if each is not None)


def _of_columns(options: Mapping[str, Any], what: str, refuse: Refuse) -> _Forest:
    """Nodes of versions 1 to 4: one row of several lists each; what leaves give is in further lists.

    what  "class" or "target"
    """
    trees, numbers, modes, features, yes, no = (
        tuple(options.get(f"nodes_{name}") or ())
        for name in ("treeids", "nodeids", "modes", "featureids", "truenodeids", "falsenodeids")
    )
    values = _numbers(options, "nodes_values")
    of_leaves = [tuple(options.get(f"{what}_{name}") or ()) for name in ("treeids", "nodeids", "ids")]
    weights = _numbers(options, f"{what}_weights")
    lengths = {len(each) for each in (trees, numbers, modes, features, yes, no, values)}
    if len(lengths) != 1 or {len(each) for each in of_leaves} != {len(weights)} or not trees:
        refuse("its lists of nodes or of leaves are empty, or of different lengths", _DAMAGED)
    names = list(zip(trees, numbers, strict=True))
    branches: dict[Hashable, TreeBranch] = {}
    for place, (tree, number) in enumerate(names):
        mode = str(modes[place]).removeprefix("BRANCH_")
        if mode not in ("LEAF", *MODES[:-1]):
            refuse(f"it has a node of mode {modes[place]}", _DAMAGED)
        if mode != "LEAF":
            branches[tree, number] = TreeBranch(
                mode, int(features[place]), (float(values[place]),), (tree, yes[place]), (tree, no[place])
            )
    children = {child for branch in branches.values() for child in (branch.yes, branch.no)}
    roots = [name for name in names if name not in children]
    if len(set(names)) < len(names) or not children <= set(names) or len(roots) != len(set(trees)):
        refuse("its nodes stand twice, or name others that are not there, or a tree has no root or several", _DAMAGED)
    if sum(len(_Forest(branches, (), {}).below(root)) for root in roots) != len(names):
        refuse("not all of its nodes belong to a tree that begins at a root", _DAMAGED)
    entries: dict[Hashable, list[tuple[int, float]]] = {}
    for tree, number, output, weight in zip(*of_leaves, weights, strict=True):
        entries.setdefault((tree, number), []).append((int(output), float(weight)))
    return _Forest(branches, roots, entries)
