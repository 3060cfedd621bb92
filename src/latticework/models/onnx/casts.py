"""Casts of what is whole to whole numbers, which change nothing: nodes that are left as they are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from latticework.models.model_graph import ModelNode, Ref
from latticework.models.onnx.read_onnx import ML

WHOLE = (2, 3, 4, 5, 6, 7, 12, 13)  # ONNX's numbers of types
_WIDE = (6, 7)  # that hold what comes in practice
_PASSING = (
    "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Gather", "Split", "Concat",
    "Expand", "Tile",
)  # fmt: skip


def without_idle_casts(nodes: Sequence[ModelNode], kinds: Mapping[str, int]) -> list[ModelNode]:
    """The same nodes, with Identity for Cast of whole numbers to int32 or int64.

    kinds  ONNX's data type of each input
    """
    whole, found = {name for name, kind in kinds.items() if kind in WHOLE}, list[ModelNode]()
    for node in nodes:
        if node.operator == "Cast" and node.options.get("to") in _WIDE and _reads(node, whole):
            node = replace(node, operator="Identity", options={})
        if (node.operator in _PASSING and _reads(node, whole)) or _codes(node):
            whole.update(filter(None, node.results))
        found.append(node)
    return found


def _reads(node: ModelNode, whole: set[str]) -> bool:
    """Whether what a node moves is whole: its first operand, of Concat all."""
    moved = node.args if node.operator == "Concat" else node.args[:1]
    return all(isinstance(arg, Ref) and arg.name in whole for arg in moved)


def _codes(node: ModelNode) -> bool:
    """Whether a node makes numbers of categories."""
    if node.operator == f"{ML}.LabelEncoder":
        return any(node.options.get(name) is not None for name in ("values_int64s", "classes_strings"))
    return node.operator in (f"{ML}.CategoryMapper", f"{ML}.OneHotEncoder")
