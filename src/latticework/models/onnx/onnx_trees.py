"""Trees in ONNX files: nodes of ensembles as sums of trees by signs, or a whole file as a circuit on digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.models.client_rules.classes import LARGEST, POST
from latticework.models.converters import Converters
from latticework.models.model_graph import ModelGraph, ModelNode, Ref
from latticework.models.model_refusals import Refusal, refuse
from latticework.models.onnx.branches import TreeFeatures
from latticework.models.onnx.casts import WHOLE
from latticework.models.onnx.onnx_ensembles import OnnxEnsemble, classifier, ensemble, is_double, regressor
from latticework.models.onnx.read_onnx import ML
from latticework.models.trees.leaves import Leaf, Reals, TreeSum
from latticework.models.trees.signs import sign_options
from latticework.models.trees.threshold_margin import UNMARKED
from latticework.models.trees.tree_inputs import rows_of, values_at
from latticework.models.trees.tree_options import CHOOSE, GIVE_APART, UNCHOSEN, UNSEEN, TreeChoice

READERS = {
    f"{ML}.TreeEnsembleClassifier": classifier,
    f"{ML}.TreeEnsembleRegressor": regressor,
    f"{ML}.TreeEnsemble": ensemble,
}
_DOUBLE, _UNCUT = 11, (1, 11)  # ONNX's data types


class TreeRefusedError(Exception):
    """A node of trees that cannot be imported."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.why)
        self.refusal = refusal


@dataclass(frozen=True)
class TreeNodes:
    """A graph with trees, and what reading them takes.

    kinds  ONNX's data type of each input
    rows   samples for each input, where there are any
    """

    graph: ModelGraph
    converters: Converters
    kinds: Mapping[str, int]
    rows: Mapping[str, Reals] | None

    def read(self, node: ModelNode, whole: Sequence[bool] | None = None) -> tuple[OnnxEnsemble, Reals]:
        """The trees of a node, and samples as they are where it reads them.

        whole  which features are whole numbers, where the file does not declare it
        """
        said = self.refuser(node)
        if self.rows is None:
            said(UNSEEN, GIVE_APART)
        values = values_at(self.graph, self.converters, self.rows, node.args[0].name)
        kind = self.kinds.get(self.source(node), 0)
        declared = kind in WHOLE
        known = [declared] * values.shape[1] if whole is None or declared else whole
        is_single = not (kind == _DOUBLE or is_double(node.options))
        return READERS[node.operator](node.options, TreeFeatures(known, declared, is_single), said), values

    def source(self, node: ModelNode) -> str:
        """The value that a node reads, through those that change nothing."""
        makers = {name: each for each in self.graph.nodes for name in each.results}
        name = node.args[0].name
        while name in makers and changes_nothing(makers[name]) and isinstance(makers[name].args[0], Ref):
            name = makers[name].args[0].name
        return str(name)

    def refuser(self, node: ModelNode) -> Callable[[str, str], NoReturn]:
        """The function that refuses a node."""

        def refuse_node(why: str, instead: str) -> NoReturn:
            raise TreeRefusedError(Refusal(node.loc, node.operator, why, instead))

        return refuse_node


def changes_nothing(node: ModelNode) -> bool:
    """Whether trees read what a node reads: Identity, or a cast to float32 or float64."""
    return node.operator == "Identity" or (node.operator == "Cast" and node.options.get("to") in _UNCUT)


def tree_nodes(graph: ModelGraph) -> list[ModelNode]:
    """Its nodes that are ensembles of trees."""
    return [node for node in graph.nodes if node.operator in READERS]


def by_signs(
    graph: ModelGraph,
    converters: Converters,
    kinds: Mapping[str, int],
    samples: Any,
    choice: TreeChoice,
    *,
    of_cells: bool = False,
) -> tuple[ModelGraph, tuple[str, ...]]:
    """A graph whose trees are sums by composite signs, and notes.

    of_cells  samples are of raw tables
    raises  UnsupportedError that names all trees that cannot be computed, and why
    """
    given = None if samples is None else rows_of(graph.inputs, samples, choice.importer, of_cells=of_cells)
    reading = TreeNodes(graph, converters, kinds, given)
    nodes, notes, refusals = list[ModelNode](), list[str](), list[Refusal]()
    constants = dict(graph.constants)
    for node in graph.nodes:
        if node.operator not in READERS:
            nodes.append(node)
            continue
        try:
            said = reading.refuser(node)
            if choice.trees is None:
                said(UNCHOSEN, CHOOSE)
            read, values = reading.read(node)
            trees = read.trees if read.aggregate == "SUM" else _side_by_side(read.trees)
            told: list[str] = []
            options = sign_options(trees, values, choice.gap, said, told.append, column=True)
            notes += [f"{node.loc}: {text}" for text in told]
            nodes += parts_of(node, read, options, constants, said)
        except TreeRefusedError as error:
            refusals.append(error.refusal)
    if refusals:
        raise refuse(graph, refusals)
    if not choice.mark:
        notes.append(UNMARKED)
    return replace(graph, nodes=tuple(nodes), constants=constants), tuple(notes)


def parts_of(
    node: ModelNode, read: OnnxEnsemble, options: Mapping[str, Any], constants: dict[str, Any], said: Any
) -> list[ModelNode]:
    """A node of trees as the sum of trees, what is made of its scores, and the class of the largest.

    options    of the sum of trees
    constants  of the graph, to which those of the parts are added
    """
    is_classifier = node.operator == f"{ML}.TreeEnsembleClassifier"
    label, made = (*node.results, "", "")[:2] if is_classifier else ("", node.results[0])
    stem = made or label
    score = made if made and read.post == "NONE" else f"{stem}/score"
    found: list[ModelNode] = []

    def add_constant(name: str, value: Any) -> Ref:
        constants[name] = value
        return Ref(name)

    def then(operator: str, reads: str, makes: str, given: Mapping[str, Any], *more: Any) -> str:
        args = (Ref(reads), *(add_constant(f"{makes}/{i}", each) for i, each in enumerate(more)))
        found.append(ModelNode(operator, args, given, (makes,), node.loc, 13))
        return makes

    named = {
        name: add_constant(f"{stem}.{name}", value) if _is_real(value) else value for name, value in options.items()
    }
    is_sum = read.aggregate == "SUM"
    first = score if is_sum else f"{stem}/trees"
    found.append(ModelNode(node.operator, node.args[:1], named, (first,), node.loc, node.version))
    if not is_sum:
        apart = then(
            "Reshape", first, f"{stem}/apart", {}, np.array([0, len(read.trees.trees), len(read.trees.constant)])
        )
        least = then(f"Reduce{read.aggregate.capitalize()}", apart, f"{stem}/chosen", {"axes": (1,), "keepdims": 0})
        then("Add", least, score, {}, read.trees.constant)
    if made and read.post != "NONE":
        operator, given = POST[read.post]
        then(operator, score, made, given)
    if label:
        if read.no_label is not None:
            said(*read.no_label)
        of = score if read.shift is None else then("Add", score, f"{label}/score", {}, read.shift)
        names = {name: value for name, value in node.options.items() if name.startswith("classlabels")}
        found.append(ModelNode(LARGEST, (Ref(of),), names, (label,), node.loc))
    return found


def _is_real(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _side_by_side(trees: TreeSum) -> TreeSum:
    """Every tree with outputs of its own, (trees x outputs,), without the constant."""
    count, outputs = len(trees.trees), len(trees.constant)

    def at(place: int, leaf: Leaf) -> Leaf:
        value = np.zeros((count, outputs))
        value[place] = leaf.value
        return replace(leaf, value=value.reshape(-1))

    apart = tuple(tuple(at(place, leaf) for leaf in tree) for place, tree in enumerate(trees.trees))
    return replace(trees, trees=apart, constant=np.zeros(count * outputs), count=1)
