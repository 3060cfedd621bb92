"""Affine maps that follow each other as one, in float64: scalers, selections and reducers go into the next weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.models.model_graph import ModelNode, Ref
from latticework.models.sklearn.fitted_step import Reals

_AFFINE = ("scale", "columns", "linear")


def fold(nodes: Sequence[ModelNode], outputs: Sequence[Ref]) -> list[ModelNode]:
    """The same graph with affine maps joined, and without what nothing reads.

    Constants of a column, such as the inverse of its deviation, so never multiply encrypted numbers by themselves:
    columns whose scales differ much lose no bits, and no level is spent.
    """
    made: dict[str, ModelNode] = {}
    for node in nodes:
        joined = _beside(node, made) if node.operator == "combine" else node
        while (before := _before(joined, made)) is not None and (both := _join(before, joined)) is not None:
            joined = both
        made[node.results[0]] = joined
    wanted: set[str] = {output.name for output in outputs}
    kept = []
    for node in reversed(made.values()):
        if node.results[0] in wanted:
            kept.append(node)
            wanted.update(node.reads())
    return kept[::-1]


def _beside(node: ModelNode, made: dict[str, ModelNode]) -> ModelNode:
    """Affine maps of one value beside each other as one map."""
    maps = [_dense(part, made) for part in node.args[0]]
    sources = {found[0] for found in maps if found is not None}
    if None in maps or len(sources) > 1:
        return node
    known = [found for found in maps if found is not None]
    options = {"weight": np.concatenate([k[1] for k in known]), "bias": np.concatenate([k[2] for k in known])}
    return ModelNode("linear", (sources.pop(),), options, node.results, node.loc)


def _dense(value: Ref, made: dict[str, ModelNode]) -> tuple[Ref, Reals, Reals] | None:
    """The source of an affine map, its weight (out, features) and bias (out,); None where `value` is none."""
    node = made.get(value.name)
    if node is None or node.operator not in _AFFINE:
        return None
    options, source = node.options, node.args[0]
    before = _dense(source, made)
    if node.operator == "columns":
        indices = np.atleast_1d(options["indices"])
        weight, bias = np.eye(options["width"])[indices], np.zeros(len(indices))
    elif node.operator == "linear":
        weight, bias = np.atleast_2d(options["weight"]), np.atleast_1d(options["bias"])
    elif np.ndim(options["factor"]):
        weight = np.diag(options["factor"])
        bias = np.broadcast_to(options["offset"], weight.shape[:1])
    elif before is not None:
        weight = options["factor"] * np.eye(len(before[2]))
        bias = np.broadcast_to(options["offset"], weight.shape[:1])
    else:
        return None
    return (source, weight, bias) if before is None else (before[0], weight @ before[1], weight @ before[2] + bias)


def _before(node: ModelNode, made: dict[str, ModelNode]) -> ModelNode | None:
    if node.operator not in _AFFINE:
        return None
    assert isinstance(node.args[0], Ref)
    before = made.get(node.args[0].name)
    return before if before is not None and before.operator in _AFFINE else None


def _join(first: ModelNode, then: ModelNode) -> ModelNode | None:
    """A node that does what `first` and `then` do; None where that is no single one."""
    a, b = first.options, then.options
    if then.operator == "scale" and first.operator == "scale":
        options = {"factor": a["factor"] * b["factor"], "offset": a["offset"] * b["factor"] + b["offset"]}
        return ModelNode("scale", first.args, options, then.results, then.loc)
    if then.operator == "scale" and first.operator == "linear":
        factor = np.asarray(b["factor"])
        weight = a["weight"] * (factor[..., None] if factor.ndim and a["weight"].ndim == 2 else factor)
        return ModelNode("linear", first.args, {"weight": weight, "bias": a["bias"] * factor + b["offset"]},
                    then.results, then.loc)  # fmt: skip
    if then.operator == "linear":
        weight, bias = b["weight"], b["bias"]
        if first.operator == "scale":
            offset = np.broadcast_to(a["offset"], weight.shape[-1:])
            options = {"weight": weight * a["factor"], "bias": weight @ offset + bias}
        elif first.operator == "linear":
            if a["weight"].ndim == 1:
                return None
            options = {"weight": weight @ a["weight"], "bias": weight @ a["bias"] + bias}
        else:
            wide = np.zeros((*weight.shape[:-1], a["width"]))
            np.add.at(wide.T, a["indices"], weight.T)
            options = {"weight": wide, "bias": bias}
        return ModelNode("linear", first.args, options, then.results, then.loc)
    if then.operator == "columns" and first.operator == "columns" and np.ndim(a["indices"]):
        options = {"indices": a["indices"][b["indices"]], "width": a["width"]}
        return ModelNode("columns", first.args, options, then.results, then.loc)
    if then.operator == "columns" and first.operator == "linear" and a["weight"].ndim == 2:
        options = {"weight": a["weight"][b["indices"]], "bias": a["bias"][b["indices"]]}
        return ModelNode("linear", first.args, options, then.results, then.loc)
    return None
