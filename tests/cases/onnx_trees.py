"""Small ensembles of trees as ONNX models, drawn by chance."""

from itertools import pairwise

import numpy as np
import onnx_graphs
from onnx import TensorProto, helper, numpy_helper

ORDERED = ("LEQ", "LT", "GTE", "GT")
MODES = (*ORDERED, "EQ", "NEQ", "MEMBER")


def drawn(rng, depth, width, modes, levels):
    """A tree as (mode, feature, value, yes, no), leaves as numbers of theirs; thresholds are of `levels`."""
    count = iter(range(1 << depth))

    def node(left):
        if not left or rng.random() < 0.1:
            return next(count)
        value = rng.choice(levels, size=3, replace=False) if "MEMBER" in modes else rng.choice(levels, size=1)
        return rng.choice(modes), int(rng.integers(width)), value.tolist(), node(left - 1), node(left - 1)

    return node(depth)


def columns(trees):
    """The lists of nodes of versions 1 to 4, and (tree, node) of the leaves."""
    rows, leaves = [], []
    for number, tree in enumerate(trees):
        places = iter(range(1000))

        def write(node, number=number, places=places):
            place = next(places)
            if isinstance(node, tuple):
                mode, feature, value, yes, no = node
                at = len(rows)
                rows.append(None)
                rows[at] = (number, place, feature, value[0], f"BRANCH_{mode}", write(yes), write(no))
            else:
                rows.append((number, place, 0, 0.0, "LEAF", 0, 0))
                leaves.append((number, place))
            return place

        write(tree)
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    made = {f"nodes_{name}": list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    return made, leaves


def regressor(trees, weights, width, targets=1, kind=TensorProto.FLOAT, **more):
    """A TreeEnsembleRegressor; weights (leaves, targets)."""
    nodes, leaves = columns(trees)
    entries = [(*leaf, t, float(weights[i, t])) for i, leaf in enumerate(leaves) for t in range(weights.shape[1])]
    of = zip(("treeids", "nodeids", "ids", "weights"), zip(*entries, strict=True), strict=True)
    given = {f"target_{name}": list(values) for name, values in of}
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        name="trees",
        domain="ai.onnx.ml",
        n_targets=targets,
        **nodes,
        **given,
        **more,
    )
    return onnx_graphs.model([node], {"x": [1, width]}, ["y"], ml=3, types={"x": kind})


def classifier(trees, entries, width, labels, outputs=("label", "scores"), **more):
    """A TreeEnsembleClassifier; entries of each leaf in order, (class, weight) as many as it has."""
    nodes, leaves = columns(trees)
    rows = [(*leaf, c, float(w)) for leaf, own in zip(leaves, entries, strict=True) for c, w in own]
    of = zip(("treeids", "nodeids", "ids", "weights"), zip(*rows, strict=True), strict=True)
    given = {f"class_{name}": list(values) for name, values in of}
    kind = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        list(outputs),
        name="trees",
        domain="ai.onnx.ml",
        **{kind: labels},
        **nodes,
        **given,
        **more,
    )
    named = TensorProto.STRING if isinstance(labels[0], str) else TensorProto.INT64
    return onnx_graphs.model([node], {"x": [1, width]}, list(outputs), ml=3, types={"label": named})


def ensemble(trees, weights, width, dtype=np.float32, kind=None, targets=1, **more):
    """A TreeEnsemble of version 5; weights (leaves,), and leaves give them to targets in turn."""
    nodes, leaves, roots, members = [], [], [], []

    def write(node):
        if not isinstance(node, tuple):
            leaves.append(len(leaves) % targets)
            return len(leaves) - 1, True
        at = len(nodes)
        mode, feature, value, yes, no = node
        nodes.append(None)
        if mode == "MEMBER":
            members.extend([*value, np.nan])
        (yes, yes_leaf), (no, no_leaf) = write(yes), write(no)
        split = np.nan if mode == "MEMBER" else value[0]  # which is in no use
        nodes[at] = (MODES.index(mode), feature, split, yes, no, int(yes_leaf), int(no_leaf))
        return at, False

    for tree in trees:
        at, is_leaf = write(tree)
        if is_leaf:  # a root is a node
            nodes.append((0, 0, 0.0, at, at, 1, 1))
            at = len(nodes) - 1
        roots.append(at)
    names = ("modes", "featureids", "splits", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    lists = {f"nodes_{name}": list(values) for name, values in zip(names, zip(*nodes, strict=True), strict=True)}
    lists["nodes_modes"] = numpy_helper.from_array(np.array(lists["nodes_modes"], np.uint8))
    lists["nodes_splits"] = numpy_helper.from_array(np.array(lists["nodes_splits"], dtype))
    if members:
        lists["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], name="trees", domain="ai.onnx.ml", n_targets=targets, tree_roots=roots,
        leaf_targetids=leaves, leaf_weights=numpy_helper.from_array(np.asarray(weights, dtype)), **lists, **more,
    )  # fmt: skip
    kind = kind or (TensorProto.DOUBLE if dtype == np.float64 else TensorProto.FLOAT)
    return onnx_graphs.model([node], {"x": [1, width]}, ["y"], ml=5, types={"x": kind, "y": kind})


def leaves_in(trees):
    """How many there are."""

    def count(node):
        return count(node[3]) + count(node[4]) if isinstance(node, tuple) else 1

    return sum(map(count, trees))


def between(levels, rng, shape):
    """Rows whose features lie half way between levels, and beyond."""
    ordered = sorted(levels)
    middles = [ordered[0] - 1, *((a + b) / 2 for a, b in pairwise(ordered)), ordered[-1] + 1]
    return rng.choice(middles, size=shape)
