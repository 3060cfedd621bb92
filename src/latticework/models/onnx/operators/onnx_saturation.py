"""Bounds on the values of quantised models, from their nodes: within them quantising cuts nothing off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.functions.function_record import EVERYWHERE
from latticework.functions.table import RECORDS
from latticework.models.model_graph import ModelNode, Ref

Ends = tuple[float, float]
_BOUNDED: dict[str, Ends] = {"HardSigmoid": (0.0, 1.0), "Softmax": (0.0, 1.0)} | {
    record.onnx: record.values for record in RECORDS if record.onnx and record.values not in EVERYWHERE
}
_WITHIN = frozenset(  # whose results lie between the least and the largest of what they are given, or are 0
    ["Identity", "Dropout", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Split", "Concat",
     "Expand", "Tile", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "AveragePool", "Relu", "Max", "Min"]
)  # fmt: skip


def without_idle_cuts(nodes: Sequence[ModelNode], constants: Mapping[str, Any]) -> list[ModelNode]:
    """Nodes in which those that quantise numbers between the ends of their type, up to a step, say so."""
    known: dict[str, Ends] = {}
    found = []
    for node in nodes:
        if node.operator == "QuantizeLinear" and node.options.get("real"):
            ends = _ends_of_type(node, constants)
            given = known.get(node.args[0].name) if isinstance(node.args[0], Ref) else None
            if ends is not None:
                low, high, step = ends
                if given is not None and low - step <= given[0] and given[1] <= high + step:
                    node = replace(node, options={**node.options, "fits": True})
                if node.options.get("restored"):
                    known[node.results[0]] = low - step, high + step
        elif node.operator in _BOUNDED and len(node.args) == 1:
            known[node.results[0]] = _BOUNDED[node.operator]
        elif node.operator in _WITHIN:
            _pass_on(node, known, constants)
        found.append(node)
    return found


def _ends_of_type(node: ModelNode, constants: Mapping[str, Any]) -> tuple[float, float, float] | None:
    """The least and the largest number that a node with one scale and one zero point tells, and its step."""
    scale, *zero = (constants.get(arg.name) if isinstance(arg, Ref) else None for arg in node.args[1:])
    if scale is None or np.size(scale) != 1 or not zero or zero[0] is None or np.size(zero[0]) != 1:
        return None
    kind = np.asarray(zero[0]).dtype
    if kind.kind not in "iu":
        return None
    step, shift = float(np.reshape(scale, ())), float(np.reshape(zero[0], ()))
    if not step > 0:
        return None
    return (np.iinfo(kind).min - shift) * step, (np.iinfo(kind).max - shift) * step, step


def _pass_on(node: ModelNode, known: dict[str, Ends], constants: Mapping[str, Any]) -> None:
    values = node.args if node.operator in ("Concat", "Max", "Min") else node.args[:1]
    if node.operator == "Concat" and isinstance(node.args[0], tuple | list):
        values = tuple(node.args[0])
    each = [known.get(value.name) if isinstance(value, Ref) else None for value in values]
    ends = [pair for pair in each if pair is not None]
    if len(ends) == len(each):
        both = min(0.0, *(low for low, _ in ends)), max(0.0, *(high for _, high in ends))  # 0: of borders
        known.update(dict.fromkeys(filter(None, node.results), both))
