"""Carry the doubt of undecided trees through the nodes of estimators."""

from __future__ import annotations

import numpy as np

from latticework.functions.table import RECORDS
from latticework.ir.location import Loc
from latticework.models.model_graph import ModelNode, Ref
from latticework.models.trees.threshold_margin import SOFTMAX_SLOPE, Part

_LIPSCHITZ = {"softmax": SOFTMAX_SLOPE} | {name: r.slope for r in RECORDS for name in (r.name, r.sklearn) if name}


def bound_doubt(node: ModelNode, before: list[Part]) -> Part:
    """Bound the error of a row's numbers after a node, for each, or for all alike."""
    options, first = node.options, before[0]
    if node.operator == "scale":
        return np.asarray(np.abs(options["factor"]) * first)
    if node.operator == "linear":
        weight = np.abs(options["weight"])
        return np.asarray(weight @ np.broadcast_to(first, weight.shape[-1:]))
    if node.operator == "columns":
        return np.asarray(np.broadcast_to(first, (options["width"],))[options["indices"]])
    if node.operator == "combine":
        return max(float(np.max(each)) for each in before)
    if node.operator == "weighted_sum":
        return np.asarray(sum(abs(w) * np.asarray(each) for w, each in zip(options["weights"], before, strict=True)))
    return _LIPSCHITZ.get(node.operator, np.inf) * float(np.max(first))


def sum_node(values: tuple[Ref, ...], name: str, loc: Loc) -> ModelNode:
    """The sum of several values, as a node."""
    return ModelNode("weighted_sum", (values,), {"weights": np.ones(len(values))}, (name,), loc)
