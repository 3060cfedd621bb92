"""The end of a model that its owner computes: nodes that become steps after decryption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from latticework.models.client_rules.table_rules import UNFIT, MovedNode, OwnerRule, OwnerRules
from latticework.models.constant_folding import PublicValues
from latticework.models.model_graph import ModelGraph, ModelNode
from latticework.plan.client_steps import Extreme, Labels, Largest, Threshold
from latticework.plan.client_steps.stages import Doubt, Finished, check_after
from latticework.plan.client_steps.step import OwnerStep, Shape


class UnfitNodeError(Exception):
    """A node that the owner's steps cannot express after decryption."""

    def __init__(self, node: ModelNode, why: str) -> None:
        self.node = node
        super().__init__(why)


def find_tail(
    graph: ModelGraph, rules: OwnerRules, publics: PublicValues, front: set[int], asked: set[str], kept_back: set[str]
) -> set[int]:
    """Numbers of the nodes: those from which only others lead to the outputs, from the first that is wanted on."""
    readers: dict[str, set[int]] = {}
    for number, node in enumerate(graph.nodes):
        for name in node.reads():
            readers.setdefault(name, set()).add(number)
    candidates: set[int] = set()
    for number in reversed(range(len(graph.nodes))):
        node = graph.nodes[number]
        rule = rules.by_operator.get(node.operator)
        made = [name for name in node.results if name]
        fits = rule is not None and rule.after is not None and number not in front and not node.names() & kept_back
        if fits and len(made) == len(publics.secrets(node)) == 1 and readers.get(made[0], set()) <= candidates:
            candidates.add(number)
    moved: set[int] = set()
    made_by_moved: set[str] = set()
    for number in sorted(candidates):
        node = graph.nodes[number]
        if rules.by_operator[node.operator].wanted or node.names() & asked or set(node.reads()) & made_by_moved:
            moved.add(number)
            made_by_moved.update(filter(None, node.results))
    return moved


def path_to(name: str, graph: ModelGraph, publics: PublicValues, tail: set[int]) -> tuple[str, list[ModelNode]]:
    """The value at the cut that a value is made of, and the nodes that make it, in order."""
    makers = {made: graph.nodes[number] for number in tail for made in graph.nodes[number].results if made}
    path: list[ModelNode] = []
    while name in makers:
        path.insert(0, makers[name])
        (name,) = publics.secrets(makers[name])
    return name, path


def postprocess_steps(
    graph: ModelGraph,
    rules: OwnerRules,
    publics: PublicValues,
    tail: set[int],
    outputs: Mapping[str, tuple[str, Shape]],
    doubts: Mapping[str, Doubt] | None = None,
) -> tuple[Finished, ...]:
    """Steps of every output; none where all outputs are decrypted as they are.

    outputs  what the program calls the values at the cut, and their shapes
    doubts   of these values; None: nothing is in doubt
    raises   UnfitNodeError
    """
    if not tail and doubts is None:
        return ()
    found = []
    for number, output in enumerate(graph.outputs):
        cut, path = path_to(output.name, graph, publics, tail)
        name, shape = outputs[cut]
        called = "result" if len(graph.outputs) == 1 else f"result{number}"
        if graph.labels:
            called = graph.labels[number]
        steps: tuple[OwnerStep, ...] = ()
        for node in path:
            try:
                here = check_after(Finished("", "", steps), shape)
                steps = _followed_by(steps, rules.by_operator[node.operator], publics.moved_node(node, here))
                check_after(Finished("", "", steps), shape)
            except UNFIT as error:
                raise UnfitNodeError(node, str(error)) from None
        found.append(Finished(called, name, steps, (doubts or {}).get(cut)))
    return tuple(found)


def _followed_by(steps: tuple[OwnerStep, ...], rule: OwnerRule, moved: MovedNode) -> tuple[OwnerStep, ...]:
    """Steps with those of one more node, or with other names of a decision where it computes with its names."""
    place = next((n for n in reversed(range(len(steps))) if steps[n].DECIDES), None)
    decided = None if place is None else steps[place]
    if place is not None and rule.renames is not None and isinstance(decided, Threshold | Extreme | Largest):
        labels = decided.labels or (Labels.of([0, 1]) if isinstance(decided, Threshold) else None)
        if labels is not None:
            renamed = replace(decided, labels=rule.renames(moved, labels))
            return (*steps[:place], renamed, *steps[place + 1 :])
    assert rule.after is not None
    return (*steps, *rule.after(replace(moved, decided=decided)))
