"""Functions that PyTorch writes out in several operators, as what they are.

Exporting takes `softshrink` apart into a choice by comparisons, and `lp_pool` writes the sign of a sum times its
magnitude, which is the sum. Node by node both would compare secrets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from latticework.models.model_graph import ModelNode, Ref, needed_nodes

SOFTSHRINK, ALIAS = "aten.softshrink.default", "aten.alias.default"


def with_whole_functions(nodes: Sequence[ModelNode], outputs: Sequence[Ref]) -> list[ModelNode]:
    """Nodes in which such functions are one operator; those of which nothing is read any more are left out."""
    makers = {name: node for node in nodes for name in node.results}
    made = [_softshrink(node, makers) or _signed_magnitude(node, makers) or node for node in nodes]
    changed = any(one is not other for one, other in zip(made, nodes, strict=True))
    return needed_nodes(made, outputs) if changed else list(nodes)


def _softshrink(node: ModelNode, makers: Mapping[str, ModelNode]) -> ModelNode | None:
    """x - sign(x) * bound where |x| > bound, else x * 0."""
    if node.operator != "aten.where.self":
        return None
    larger, moved, nothing = (_maker(makers, arg) for arg in node.args)
    if larger is None or moved is None or nothing is None:
        return None
    x, bound = nothing.args[0], larger.args[1]
    shift = _maker(makers, moved.args[-1])
    written = (
        _is(nothing, "mul.Tensor", x, 0)
        and _is(larger, "gt.Scalar", larger.args[0], bound)
        and _is(_maker(makers, larger.args[0]), "abs.default", x)
        and _is(moved, "sub.Tensor", x, moved.args[-1])
        and shift is not None
        and _is(shift, "mul.Tensor", shift.args[0], bound)
        and _is(_maker(makers, shift.args[0]), "sign.default", x)
    )
    return replace(node, operator=SOFTSHRINK, args=(x, bound), options={}) if written else None


def _signed_magnitude(node: ModelNode, makers: Mapping[str, ModelNode]) -> ModelNode | None:
    """sign(x) * relu(|x|), which is x."""
    if node.operator != "aten.mul.Tensor":
        return None
    sign, magnitude = (_maker(makers, arg) for arg in node.args)
    if sign is None or magnitude is None:
        return None
    x = sign.args[0]
    inner = _maker(makers, magnitude.args[0])
    written = (
        _is(sign, "sign.default", x)
        and _is(magnitude, "relu.default", magnitude.args[0])
        and _is(inner, "abs.default", x)
    )
    return replace(node, operator=ALIAS, args=(x,), options={}) if written else None


def _maker(makers: Mapping[str, ModelNode], value: Any) -> ModelNode | None:
    return makers.get(value.name) if isinstance(value, Ref) else None


def _is(node: ModelNode | None, operator: str, *args: Any) -> bool:
    """Whether a node is this operator of these arguments, without options."""
    return node is not None and node.operator == f"aten.{operator}" and node.args == args and not node.options
