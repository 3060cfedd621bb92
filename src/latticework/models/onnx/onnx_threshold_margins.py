"""Carry the doubt of undecided trees through the operators of ONNX files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latticework.functions.table import RECORDS
from latticework.ir.location import Loc
from latticework.models.client_rules.table_rules import SECRET
from latticework.models.constant_folding import PublicValues
from latticework.models.model_graph import ModelGraph, ModelNode, Ref
from latticework.models.onnx.read_onnx import ML
from latticework.models.trees.threshold_margin import SOFTMAX_SLOPE, Marked, Part, with_doubts

# Of these no number is farther off than the farthest of those that it is made of.
_PASSING = "Identity Cast Reshape Flatten Squeeze Unsqueeze Transpose Slice Gather Split Concat Dropout Expand Tile"
_SHRINKING = "Neg Clip Max Min Mean ReduceMax ReduceMin ReduceMean"
_NO_FARTHER = {*_PASSING.split(), *_SHRINKING.split(), f"{ML}.ArrayFeatureExtractor", f"{ML}.FeatureVectorizer"}
_LIPSCHITZ = {"Softmax": SOFTMAX_SLOPE} | {record.onnx: record.slope for record in RECORDS if record.onnx}


def mark_doubts(graph: ModelGraph, publics: PublicValues) -> Marked:
    """The server's part of a file with what its trees leave undecided.

    raises  UnsupportedError where steps after the trees make errors larger by a factor that is not known
    """
    return with_doubts("from_onnx", graph.nodes, graph.outputs, _doubt_rule(publics), _sum_node, graph.constants)


def _doubt_rule(publics: PublicValues) -> Callable[[ModelNode, list[Part]], Part]:
    """A function that bounds the error after a node: one number for all columns, since they may have moved."""

    def bound_doubt(node: ModelNode, before: list[Part]) -> Part:
        most = [float(np.max(part)) for part in before]
        if node.operator in _NO_FARTHER:
            return max(most)
        if node.operator in ("Add", "Sub", "Sum"):
            return sum(most)
        if node.operator in _LIPSCHITZ:
            return _LIPSCHITZ[node.operator] * max(most)
        if node.operator in ("Mul", "Div", "MatMul"):
            return _product(node.operator, [publics.resolve(arg) for arg in node.args], max(most))
        return np.inf

    return bound_doubt


def _product(operator: str, args: list[Any], off: float) -> float:
    """The error after a product or quotient of one secret and one public operand."""
    known = [place for place, arg in enumerate(args) if arg is not SECRET]
    if len(known) != 1:
        return np.inf
    public = np.abs(np.asarray(args[known[0]], np.float64))
    if operator == "Div":
        return float(off / public.min()) if known == [1] and public.all() else np.inf
    if operator == "MatMul":
        return float(off * public.sum(axis=-2).max()) if known == [1] and public.ndim > 1 else np.inf
    return float(off * public.max())


def _sum_node(values: tuple[Ref, ...], name: str, loc: Loc) -> ModelNode:
    return ModelNode("Sum", values, {}, (name,), loc, 13)
