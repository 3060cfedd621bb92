"""Means in the place of the largest elements of pools, where the user asks for them: another model, far cheaper.

The largest of n encrypted numbers takes log2(n) comparisons one after another, each a composition of some twenty levels
at 12 bits; a mean takes none. Networks trained with the largest elements are mostly to be trained on with means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from latticework.errors import UserError
from latticework.ir.location import Loc
from latticework.models.model_graph import ModelGraph, ModelNode

Pools = Literal["keep", "average"]
PRICE = (
    "ceil(log2 k) comparisons in a row along each axis of k numbers, each 10 to 20 levels and 36 to 70 products at 12 "
    'bits; pools="average" takes none'
)
AverageOf = Mapping[str, Callable[[ModelNode], ModelNode]]  # by operator: the node that takes means of the same windows


def check_pools(who: str, pools: Any, at: Loc | None = None) -> bool:
    """Whether means are wanted; UserError for what is neither of the two."""
    if pools not in ("keep", "average"):
        raise UserError(f'{who}: pools={pools!r}; give "keep" or "average"', at=at)
    return bool(pools == "average")


def with_average_pools(graph: ModelGraph, average_of: AverageOf) -> tuple[ModelGraph, tuple[str, ...]]:
    """A graph with the mean in the place of the largest element of every pool, and the note that says so.

    average_of  the operator of an average, of the importer whose graph it is
    raises      UserError for a pool whose means are no operator
    """
    changed: list[ModelNode] = []

    def of_graph(part: ModelGraph) -> ModelGraph:
        return replace(part, nodes=tuple(map(of_node, part.nodes)))

    def of_node(node: ModelNode) -> ModelNode:
        args = tuple(of_graph(arg) if isinstance(arg, ModelGraph) else arg for arg in node.args)
        options = {name: of_graph(v) if isinstance(v, ModelGraph) else v for name, v in node.options.items()}
        if node.operator not in average_of:
            return replace(node, args=args, options=options)
        changed.append(node)
        return average_of[node.operator](node)

    made = of_graph(graph)
    if not changed:
        return graph, ()
    places = ", ".join(dict.fromkeys(str(node.loc) for node in changed))
    return made, (
        f'pools="average": the mean takes the place of the largest element in {len(changed)} '
        f"pool{'s' if len(changed) > 1 else ''} ({places}), so results are not those of the model as it was trained",
    )


def refuse_gaps(node: ModelNode, dilation: Any) -> None:
    """UserError where a window leaves elements out."""
    steps = dilation if isinstance(dilation, list | tuple) else [dilation]
    if any(step != 1 for step in steps):
        raise UserError(
            f'{node.operator}: pools="average" and dilation={list(steps)}; means of windows with gaps are no operator: '
            "write the pool as a convolution with equal weights",
            at=node.loc,
        )
