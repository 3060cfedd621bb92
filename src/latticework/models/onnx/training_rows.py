"""Models that answer by the training rows nearest to a row: refused, with no advice to cut them at distances.

Files of nearest neighbours hold all training rows. They compute the distance to each, choose some and look up what is
known of these. Choosing is no polynomial, and the usual advice, to return what is chosen from and choose after
decryption, would send the client the distance to every training row; so many distances tell where the rows lie. The
same holds of kernels, which are functions of distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.model_graph import ModelGraph, ModelNode, Ref
from latticework.models.model_refusals import Refusal, refuse
from latticework.models.onnx.read_onnx import ML

_PASSING = frozenset(
    ("Abs", "Add", "Cast", "Clip", "Concat", "Div", "Exp", "Flatten", "Gather", "Identity", "Log", "Max", "Min", "Mul",
     "Neg", "Pow", "Reciprocal", "Reshape", "Slice", "Sqrt", "Squeeze", "Sub", "Transpose", "Unsqueeze",
     f"{ML}.ArrayFeatureExtractor")
)  # fmt: skip
_SUMS = frozenset(("ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceMean", "ReduceMax"))
_CHOOSING = frozenset(
    ("ArgMax", "ArgMin", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "ReduceMin", "TopK")
)
_LOOKING_UP = (f"{ML}.ArrayFeatureExtractor", "Gather", f"{ML}.LabelEncoder")
_WHY = (
    "it chooses among distances to rows that the file holds: all training rows would be the server's program, and to "
    "choose after decryption would give the client all distances, which tell where these rows lie"
)
INSTEAD = REMEDIES["training samples"].outside


class RowDistances:
    """Values of a graph that are distances to rows of the file, or functions of single ones.

    sure  those of which it is certain, since every row is compared by itself: by a Scan over rows, or by CDist
    all   these, and sums of differences to an array of several rows, which may be few, as centres are
    """

    def __init__(self, graph: ModelGraph) -> None:
        self.sure, self.all = set[str](), set[str]()
        secret, differences = {given.name for given in graph.inputs}, set[str]()
        for node in graph.nodes:
            reads, made = set(node.reads()), set(filter(None, node.results))
            if not reads & secret:
                continue
            secret |= made
            if _compares_rows(node, graph.constants):
                self.sure |= made
                self.all |= made
            elif node.operator == "Sub" and _has_rows(node, graph.constants):
                differences |= made
            elif node.operator in _SUMS and reads & differences:
                self.all |= made
            elif node.operator in _PASSING:
                for kept in (self.sure, self.all, differences):
                    kept |= made if reads & kept else set()

    def check(self, graph: ModelGraph) -> None:
        """UnsupportedError for nodes that choose among such values, or look up what is known of the rows chosen."""
        chosen, found = set[str](), list[ModelNode]()
        for node in graph.nodes:
            reads = set(node.reads())
            if node.operator in _CHOOSING and reads & self.sure:
                found.append(node)
            elif node.operator in _CHOOSING and reads & self.all:
                chosen.update(filter(None, node.results))
            elif reads & chosen and node.operator in _LOOKING_UP and _stands_twice(node, graph.constants):
                found.append(node)
            elif reads & chosen and node.operator in _PASSING:
                chosen.update(filter(None, node.results))
        if found:
            raise refuse(graph, [Refusal(node.loc, node.operator, _WHY, INSTEAD) for node in found])

    def _may_be_of_rows(self, node: ModelNode) -> bool:
        """Whether a node chooses among distances; the smallest of what products made may be such, too."""
        return bool(set(node.reads()) & self.all) or (node.operator == "TopK" and not node.options.get("largest", 1))

    def notes(self, graph: ModelGraph) -> tuple[str, ...]:
        """The outputs that are such values, because the user asked for them."""
        names = [output.name for output in graph.outputs if output.name in self.sure]
        words = "distances to rows that the file holds, or functions of them: whoever decrypts them may find the rows"
        return (f"{', '.join(names)}: {words}",) if names else ()

    @contextmanager
    def without_advice(self, graph: ModelGraph) -> Iterator[None]:
        """Say of refused nodes that read such values why they are, in place of the advice to cut the graph there."""
        try:
            yield
        except UnsupportedError as error:
            if not isinstance(error.refused, tuple):
                raise
            _, refusals = error.refused
            told = {node.loc for node in graph.nodes if node.operator in _CHOOSING and self._may_be_of_rows(node)}
            if not any(each.loc in told for each in refusals):
                raise
            changed = [Refusal(e.loc, e.operator, _WHY, INSTEAD) if e.loc in told else e for e in refusals]
            raise refuse(graph, changed) from None


def _compares_rows(node: ModelNode, constants: Mapping[str, Any]) -> bool:
    """Whether a node computes a distance to each row of a public array, one after the other."""
    arrays = [constants[arg.name] for arg in node.args if isinstance(arg, Ref) and arg.name in constants]
    if node.operator.endswith(".CDist"):
        return bool(arrays)
    body = node.options.get("body")
    if node.operator != "Scan" or not isinstance(body, ModelGraph) or not any(np.ndim(array) > 1 for array in arrays):
        return False
    operators = {inner.operator for inner in body.nodes}
    return "Sub" in operators and bool(operators & (_SUMS | {"MatMul", "Gemm"}))


def _has_rows(node: ModelNode, constants: Mapping[str, Any]) -> bool:
    """Whether a public operand has several rows."""
    shapes = [np.shape(constants[arg.name]) for arg in node.args if isinstance(arg, Ref) and arg.name in constants]
    return any(len(shape) > 1 and int(np.prod(shape[:-1])) > 1 for shape in shapes)


def _stands_twice(node: ModelNode, constants: Mapping[str, Any]) -> bool:
    """Whether anything stands twice in the table: what is known of rows does, and names of classes do not."""
    first = node.args[0] if node.args else None
    table = constants.get(first.name) if isinstance(first, Ref) else None
    if node.operator.endswith("LabelEncoder"):
        options = node.options
        table = next((options[name] for name in options if name.startswith("values_") and options[name]), None)
    values = [] if table is None else np.asarray(table).reshape(-1).tolist()
    return len(set(values)) < len(values)
