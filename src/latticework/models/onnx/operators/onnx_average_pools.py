"""Pools of ONNX that take the mean of the windows of which another takes the largest element."""

from __future__ import annotations

from dataclasses import replace

from latticework.models.average_pooling import AverageOf, refuse_gaps
from latticework.models.model_graph import ModelNode

_LEFT_OUT = ("storage_order", "dilations")


def _windows(node: ModelNode) -> ModelNode:
    refuse_gaps(node, list(node.options.get("dilations") or ()))
    options = {name: option for name, option in node.options.items() if name not in _LEFT_OUT}
    results = node.results if any(node.results[1:]) else node.results[:1]
    return replace(node, operator="AveragePool", options=options, results=results)


def _whole(node: ModelNode) -> ModelNode:
    return replace(node, operator="GlobalAveragePool")


AVERAGE_POOLS: AverageOf = {"MaxPool": _windows, "GlobalMaxPool": _whole}
