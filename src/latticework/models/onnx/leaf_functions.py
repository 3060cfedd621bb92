"""Functions of the leaf that a row comes to, which files write out after a tree, as values of its leaves.

skl2onnx writes an IsolationForest so: each tree gives the number of a leaf, two LabelEncoders say how deep the leaf
lies and how many samples it holds, and thirty nodes compute a path length of these. Encrypted, a number of a leaf is a
sum of products of signs, of which nothing can be looked up. But all of it is a function of the leaf, so it is another
value of that leaf: nodes are carried out on the values of all leaves at once, and the tree gets the results.

Sums of such trees become one ensemble, whose comparisons are computed side by side. Trees that nothing is looked up of
stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.models.converters import Converters
from latticework.models.evaluate_graph import carry_out
from latticework.models.model_graph import ModelNode, Ref, needed_nodes
from latticework.models.onnx.read_onnx import ML

Array = npt.NDArray[Any]

_TREES = f"{ML}.TreeEnsembleRegressor"
_LOOKING_UP = frozenset(
    ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And", "Or", "Where", f"{ML}.LabelEncoder")
)
_PLAIN = frozenset(
    ("Abs", "Add", "Cast", "Div", "Exp", "Identity", "Log", "Max", "Min", "Mul", "Neg", "Pow", "Reshape", "Sqrt", "Sub")
)
_NODES = ("nodeids", "modes", "featureids", "truenodeids", "falsenodeids", "values")
_KEPT = {f"nodes_{name}" for name in (*_NODES, "treeids")} | {"target_treeids", "target_nodeids", "target_ids"}
_KNOWN = _KEPT | {
    "target_weights", "n_targets", "aggregate_function", "post_transform", "nodes_hitrates",
    "nodes_missing_value_tracks_true",
}  # fmt: skip


@dataclass(frozen=True)
class _OfLeaves:
    """A value as a function of the leaf of one tree.

    tree     the node that is the tree
    values   (leaves, 1), in the order of the tree's target_weights
    looks_up whether no sum or product of encrypted numbers gives it
    """

    tree: ModelNode
    values: Array
    looks_up: bool = False


def with_leaf_values(
    nodes: Sequence[ModelNode], constants: dict[str, Any], outputs: Sequence[Ref], converters: Converters
) -> list[ModelNode]:
    """Nodes in which trees have the values that nodes after them compute of their leaves; idle nodes are left out.

    constants  of the graph, to which those of the new nodes are added
    """
    known: dict[str, _OfLeaves] = {}
    for node in nodes:
        found = _tree(node) if node.operator == _TREES else _carry_out(node, known, constants, converters)
        if found is not None:
            known[node.results[0]] = found
    if not any(value.looks_up for value in known.values()):
        return list(nodes)
    makers = {name: node for node in nodes for name in node.results if name}
    made: list[ModelNode] = []
    for node in nodes:
        value = known.get(node.results[0] if node.results else "")
        if value is not None and value.looks_up:
            made.append(_forest([value], makers, constants, node.results[0]) or node)
        elif node.operator in ("Add", "Sum") and (of_trees := _all_known(node, known)):
            made.append(_forest(of_trees, makers, constants, node.results[0]) or node)
        else:
            made += _for_owner(node, constants)
    return needed_nodes(made, outputs)


def _tree(node: ModelNode) -> _OfLeaves | None:
    """The leaves of a node that is one tree with a value at each leaf, and nothing else."""
    options = {name: value for name, value in node.options.items() if value is not None}
    columns = [options.get(name) for name in _KEPT]
    weights = np.asarray(options.get("target_weights", ()), np.float64).reshape(-1, 1)
    leaves = [n for n, mode in zip(options.get("nodes_nodeids", ()), options.get("nodes_modes", ()), strict=False)
              if mode == "LEAF"]  # fmt: skip
    is_plain = set(options) <= _KNOWN and None not in columns and options.get("post_transform", "NONE") == "NONE"
    if not is_plain or options.get("n_targets", 1) != 1 or len(set(options["nodes_treeids"])) != 1:
        return None
    if sorted(options["target_nodeids"]) != sorted(leaves) or len(weights) != len(leaves):
        return None
    return None if any(options["target_ids"]) or not node.results else _OfLeaves(node, weights)


def _carry_out(
    node: ModelNode, known: Mapping[str, _OfLeaves], constants: Mapping[str, Any], converters: Converters
) -> _OfLeaves | None:
    """The result of a node of values of one tree and public numbers; None where it is no function of the leaf."""
    converter = converters.find(node.operator, node.version)
    reads = list(dict.fromkeys(node.reads()))
    values = [known[name] for name in reads if name in known]
    if node.operator not in _LOOKING_UP | _PLAIN or converter is None or not values or len(node.results) != 1:
        return None
    numbers = {name: np.asarray(constants[name]) for name in reads if name in constants}
    if len(values) + len(numbers) < len(reads) or any(value.tree is not values[0].tree for value in values):
        return None
    if node.operator == "Reshape" and [list(n.reshape(-1)) for n in numbers.values()] != [[-1, 1]]:
        return None
    if node.operator != "Reshape" and any(number.size != 1 or number.ndim > 2 for number in numbers.values()):
        return None
    given = {**numbers, **{name: known[name].values for name in reads if name in known}}
    with np.errstate(all="ignore"):
        made = np.asarray(carry_out(node, converter, given, converters)[0])
    if made.shape != values[0].values.shape or made.dtype.kind not in "biuf" or not np.isfinite(made).all():
        return None
    casts = node.operator == "Cast" and not np.array_equal(made, next(iter(given.values())))
    return _OfLeaves(values[0].tree, made, casts or node.operator in _LOOKING_UP or any(v.looks_up for v in values))


def _all_known(node: ModelNode, known: Mapping[str, _OfLeaves]) -> list[_OfLeaves]:
    """Trees that a node adds, where there are several, and something was looked up; else []."""
    found = [known[arg.name] for arg in node.args if isinstance(arg, Ref) and arg.name in known]
    is_all = len(found) == len(node.args) > 1
    return found if is_all and any(value.looks_up for value in found) else []


def _forest(
    values: Sequence[_OfLeaves], makers: Mapping[str, ModelNode], constants: Mapping[str, Any], result: str
) -> ModelNode | None:
    """One ensemble that adds trees with these values of their leaves; None where they read different things."""
    options: dict[str, list[Any]] = {}
    sources = []
    for number, value in enumerate(values):
        given = value.tree.options
        source, features = _source(value.tree, makers, constants)
        sources.append(source)
        for name in _NODES:
            options.setdefault(f"nodes_{name}", []).extend(given[f"nodes_{name}"])
        if features is not None:
            count = len(given["nodes_featureids"])
            places = np.asarray(given["nodes_featureids"], np.int64)
            if not ((places >= 0) & (places < len(features))).all():
                return None
            options["nodes_featureids"][-count:] = [int(features[place]) for place in places]
        options.setdefault("nodes_treeids", []).extend([number] * len(given["nodes_treeids"]))
        options.setdefault("target_treeids", []).extend([number] * len(value.values))
        options.setdefault("target_nodeids", []).extend(given["target_nodeids"])
        options.setdefault("target_ids", []).extend([0] * len(value.values))
        options.setdefault("target_weights", []).extend(value.values.reshape(-1).astype(float).tolist())
    if len(set(sources)) != 1:
        return None
    first = values[0].tree
    listed = {name: tuple(given) for name, given in options.items()}
    return replace(first, args=(Ref(sources[0]),), options={**listed, "n_targets": 1}, results=(result,))


def _source(
    tree: ModelNode, makers: Mapping[str, ModelNode], constants: Mapping[str, Any]
) -> tuple[str, Sequence[int] | None]:
    """The value that a tree reads, through a choice of columns, and the columns that are chosen."""
    name = tree.args[0].name
    maker = makers.get(name)
    if maker is None or maker.operator != "Gather" or maker.options.get("axis", 0) != 1:
        return name, None
    x, places = maker.args
    chosen = np.asarray(constants.get(places.name, 0.5) if isinstance(places, Ref) else places)
    if not isinstance(x, Ref) or chosen.dtype.kind not in "iu" or chosen.ndim != 1 or (chosen < 0).any():
        return name, None
    return x.name, chosen.tolist()


def _for_owner(node: ModelNode, constants: dict[str, Any]) -> list[ModelNode]:
    """A node in terms that its owner computes after decryption: Neg as a product, a power of a number by Exp."""

    def name_constant(name: str, value: float) -> Ref:
        constants[name] = np.float64(value)
        return Ref(name)

    result = node.results[0] if node.results else ""
    if node.operator == "Neg":
        return [replace(node, operator="Mul", args=(*node.args, name_constant(f"{result}/sign", -1.0)))]
    if node.operator == "Pow" and isinstance(node.args[0], Ref) and node.args[0].name in constants:
        base = np.asarray(constants[node.args[0].name], np.float64)
        if base.size == 1 and base.ndim < 2 and base.item() > 0 and isinstance(node.args[1], Ref):
            factor = name_constant(f"{result}/log", log(base.item()))
            inner = replace(node, operator="Mul", args=(node.args[1], factor), results=(f"{result}/exponent",))
            return [inner, replace(node, operator="Exp", args=(Ref(f"{result}/exponent"),), options={})]
    return [node]
