"""Bound the error of undecided trees: a second output tells how far a row's own comparisons are decided.

Let a comparison be a number b from 0 to 1, as a composite sign gives it: at least 1/2 on the side where it holds, since
no sign within its gap is of the wrong side. A leaf has an indicator i, the product of the comparisons on its path.
Every leaf that a row does not come to has one comparison that does not hold, so i <= 1/2 and i <= 2 i (1 - i). All
indicators of a tree add up to at least 1 (what is left out of a path, as others imply it, is a factor of at most 1), so
the leaf of the row lacks at most z, what the others have together. With u the sum of all i (1 - i), z <= 2 u: they
are off by at most 2 z together, and a tree whose leaves differ by at most r by r z <= 2 r u, r / 2 from their middle.
Where u <= 1/8, more is known: no other leaf has more than x = 0.147, where x (1 - x) = 1/8, so z (1 - x) <= u and that
of the row has at least 1 - z; then all are off by at most u / (1 - z) < 1.18 u together, and the tree by 0.59 r u.
Where all comparisons on the paths of a row are decided u is 0, whatever the comparisons elsewhere are. Noise moves a
comparison by its size times the steepness of the sign: what it adds is covered by SLACK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import ModelGraph, ModelNode, Ref
from latticework.models.trees.leaves import Reals
from latticework.models.trees.signs import is_by_signs
from latticework.plan.client_steps import Doubt, OwnerArray

SLACK = 1.125  # comparisons may be on the wrong side by 1/18
SMALL, OF_SMALL, OF_ANY = 0.125, 0.59 * SLACK, 2 * SLACK  # u, and times r u there and beyond
SOFTMAX_SLOPE = 0.5  # of its largest result by the largest of its arguments
UNMARKED = (
    "mark=False: NOTHING MARKS the results of rows that come closer than the gap to a threshold on their paths, and "
    "they may be wrong"
)

Part = Reals | float  # what each number of a row may be off for each unit that trees are undecided, or all alike
Carry = Callable[[ModelNode, list[Part]], Part]


@dataclass(frozen=True)
class Marked:
    """Nodes that also tell what is undecided.

    told    the value that does, for all trees together; its output has no name yet. None without trees
    doubts  what it says of results, by name; of those that depend on no tree there is none
    """

    nodes: tuple[ModelNode, ...]
    told: Ref | None
    doubts: dict[str, Doubt]

    def on(self, graph: ModelGraph) -> ModelGraph:
        """The graph with these nodes, and the value that tells as its last output."""
        if self.told is None:
            return graph
        if graph.labels:
            graph = replace(graph, labels=(*graph.labels, self.told.name))
        return replace(graph, nodes=self.nodes, outputs=(*graph.outputs, self.told))

    def of_output(self, name: str) -> dict[str, Doubt] | None:
        """The doubts, where the program calls the output that tells so; None without trees."""
        if self.told is None:
            return None
        return {result: replace(doubt, output=name) for result, doubt in self.doubts.items()}


def with_doubts(
    importer: str,
    nodes: Sequence[ModelNode],
    results: Sequence[Ref],
    carry: Carry,
    add: Callable[..., ModelNode],
    arrays: Mapping[str, Any] | None = None,
) -> Marked:
    """Nodes with what is undecided.

    carry   what numbers that a node makes may be off, of what those that it reads may be; infinity where not known
    arrays  public values by name, of which options may be
    add     a node that adds several values up: of their Refs, the name of the sum, and a place
    raises  UnsupportedError where steps after the trees make errors larger by a factor that is not known
    """
    made: list[ModelNode] = []
    parts: dict[str, Part] = {}  # of what depends on trees
    told: list[Ref] = []
    clear = 0.0
    for node in nodes:
        operands = list(_operands(node.args))
        before = [parts.get(name, 0.0) for name in operands]
        if is_by_signs(node):
            own = OF_SMALL * np.asarray(_plain(node.options["spread"], arrays or {}))
            parts[node.results[0]] = np.inf if any(map(np.any, before)) else own
            told.append(Ref(f"{node.results[0]}.decided"))
            node = ModelNode(
                node.operator, node.args, node.options, (node.results[0], told[-1].name), node.loc, node.version
            )
            clear += node.options["clear"]
        elif any(name in parts for name in operands):
            parts.update(dict.fromkeys(node.results, carry(node, before) if any(map(np.any, before)) else 0.0))
        made.append(node)
    if not told:
        return Marked(tuple(made), None, {})
    off = {result.name: np.asarray(parts[result.name]) for result in results if result.name in parts}
    if not all(np.isfinite(weight).all() for weight in off.values()):
        raise UnsupportedError(
            f"{importer}: steps after the trees make errors of undecided comparisons larger by a factor that is not "
            "known, so that results could not be marked; import the trees alone, or give mark=False: then NOTHING "
            "marks rows that come closer than the gap to a threshold on their paths"
        )
    if len(told) > 1:
        made.append(add(tuple(told), "decided", made[-1].loc))
        told = [Ref("decided")]
    doubts = {name: Doubt("", clear, OwnerArray.of(part), SMALL, OF_ANY / OF_SMALL) for name, part in off.items()}
    return Marked(tuple(made), told[0], doubts)


def _plain(value: Any, arrays: Mapping[str, Any]) -> Any:
    return arrays[value.name] if isinstance(value, Ref) else value


def _operands(args: Any) -> Iterator[str]:
    for arg in args:
        if isinstance(arg, Ref):
            yield arg.name
        elif isinstance(arg, tuple | list):
            yield from _operands(arg)
