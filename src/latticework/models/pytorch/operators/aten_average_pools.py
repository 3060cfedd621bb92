"""Pools of ATen that take the mean of the windows of which another takes the largest element."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from latticework.models.average_pooling import AverageOf, refuse_gaps
from latticework.models.model_graph import ModelNode

_MAX = ("x", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
_DEFAULTS = (None, None, (), 0, 1, False)


def _windows(node: ModelNode) -> ModelNode:
    names = _MAX[len(node.args) :]
    given = [*node.args, *(node.options.get(name) for name in names)]
    x, kernel, stride, padding, dilation, ceil_mode = (
        default if value is None else value for value, default in zip_longest(given, _DEFAULTS)
    )
    refuse_gaps(node, dilation)
    axes = "avg_pool1d" if "pool1d" in node.operator else "avg_pool2d"
    operator = f"{node.operator[: node.operator.index('max_pool')]}{axes}.default"
    args = (x, kernel, stride, padding, ceil_mode, False)  # the border is no element, and counts as none
    return replace(node, operator=operator, args=args, options={}, results=_alone(node))


def _adaptive(node: ModelNode) -> ModelNode:
    return replace(node, operator=node.operator.replace("_max_", "_avg_"), results=_alone(node))


def _alone(node: ModelNode) -> tuple[str, ...]:
    """The values; their places, which nothing reads, are left out."""
    return node.results if any(node.results[1:]) else node.results[:1]


def _each(names: str) -> list[str]:
    return [f"aten.{name}" for name in names.split()]


AVERAGE_POOLS: AverageOf = {
    **dict.fromkeys(_each("max_pool1d.default max_pool2d.default"), _windows),
    **dict.fromkeys(_each("max_pool1d_with_indices.default max_pool2d_with_indices.default"), _windows),
    **dict.fromkeys(_each("adaptive_max_pool1d.default adaptive_max_pool2d.default"), _adaptive),
}
