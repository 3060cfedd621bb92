"""A file of trees as a circuit on digits: one ensemble on what is encrypted, and the owner's steps after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from latticework.errors import UnsupportedError
from latticework.models.client_rules.table_rules import OwnerRules
from latticework.models.constant_folding import PublicValues
from latticework.models.converters import Converters
from latticework.models.cut_tail import UnfitNodeError, find_tail, path_to, postprocess_steps
from latticework.models.imported_program import identifier
from latticework.models.model_graph import ModelGraph, ModelNode
from latticework.models.model_refusals import Refusal, refuse
from latticework.models.onnx.onnx_trees import (
    TreeNodes,
    TreeRefusedError,
    changes_nothing,
    parts_of,
    tree_nodes,
)
from latticework.models.trees.grid import FeatureGrid
from latticework.models.trees.tree_circuits import SUMS, TreeCircuit, warn_of_grid
from latticework.models.trees.tree_inputs import rows_of
from latticework.models.trees.tree_options import GIVE_SAMPLES, NO_SAMPLES, TreeChoice
from latticework.plan.client_steps import Finished, Reshape

_AFTER = "circuits on digits end with the trees, and the owner cannot compute it"
_WAYS_OUT = 'name what lies before it with outputs=[...], or take trees="sign"'


def on_digits(
    graph: ModelGraph, rules: OwnerRules, converters: Converters, kinds: Mapping[str, int], samples: Any,
    choice: TreeChoice,
) -> TreeCircuit:  # fmt: skip
    """The circuit of a graph.

    raises  UnsupportedError for a graph that is more than one ensemble of trees and steps of the owner after it
    """
    ensembles = tree_nodes(graph)
    if len(ensembles) != 1:
        raise UnsupportedError(
            f'{graph.name}: trees="exact" is of one ensemble of trees, and there are {len(ensembles)}; '
            + ('cut one out with outputs=[...], or take trees="sign"' if ensembles else "leave trees= out"),
            at=graph.loc,
        )
    (node,) = ensembles
    try:
        return _circuit(graph, node, rules, converters, kinds, samples, choice)
    except TreeRefusedError as error:
        raise refuse(graph, [error.refusal]) from None


def _circuit(
    graph: ModelGraph, node: ModelNode, rules: OwnerRules, converters: Converters, kinds: Mapping[str, int],
    samples: Any, choice: TreeChoice,
) -> TreeCircuit:  # fmt: skip
    rows = None if samples is None else rows_of(graph.inputs, samples, choice.importer)
    reading = TreeNodes(graph, converters, kinds, rows)
    said = reading.refuser(node)
    if rows is None:
        said(NO_SAMPLES, GIVE_SAMPLES)
    source = reading.source(node)
    if [source] != [given.name for given in graph.inputs]:
        said(
            "its digits are those of what is encrypted, and other nodes come before it",
            f"cut the graph with inputs=[{source!r}], and compute what lies before in the clear",
        )
    given = rows[source].reshape(len(rows[source]), -1)
    grid = FeatureGrid(given, choice.digits)
    read, _ = reading.read(node, grid.is_whole.tolist())
    if read.aggregate != "SUM":
        said(f"aggregate_function={read.aggregate} compares sums, of which no digits are known", 'take trees="sign"')
    constants = dict(graph.constants)
    parts = parts_of(node, read, {}, constants, said)
    nodes = [part for each in graph.nodes for part in (parts if each is node else rules.split(each))]
    whole = replace(graph, nodes=tuple(nodes), constants=constants)
    results = _results(whole, parts[0], len(read.trees.constant), rules, PublicValues(whole, converters))
    circuit = TreeCircuit(identifier(graph.name), read.trees, grid, results, graph.loc)
    warn_of_grid(circuit, given, choice.importer)
    return circuit


def _results(
    graph: ModelGraph, trees: ModelNode, outputs: int, rules: OwnerRules, publics: PublicValues
) -> tuple[Finished, ...]:
    """The owner's steps from the sums to each output of the graph."""
    (score,) = trees.results
    place = graph.nodes.index(trees)
    front = {i for i, node in enumerate(graph.nodes[:place]) if changes_nothing(node)}
    wanted = {name for node in graph.nodes[place + 1 :] for name in node.names()}
    tail = find_tail(graph, rules, publics, front, wanted, set())
    others = [
        Refusal(node.loc, node.operator, _AFTER, _WAYS_OUT)
        for i, node in enumerate(graph.nodes)
        if i != place and i not in front | tail and publics.secrets(node)
    ]
    if others:
        raise refuse(graph, others)
    for output in graph.outputs:
        if path_to(output.name, graph, publics, tail)[0] != score:
            raise UnsupportedError(f"{graph.name}: output {output.name} is not made of the trees; leave it out")
    (given,) = graph.inputs
    shape = (given.shape[0] if len(given.shape) > 1 else 1, outputs)
    try:
        found = postprocess_steps(graph, rules, publics, tail, {score: (SUMS, shape)}, {})
    except UnfitNodeError as error:
        raise refuse(graph, [Refusal(error.node.loc, error.node.operator, f"{_AFTER}: {error}", _WAYS_OUT)]) from None
    column = (Reshape((), (1,)),) if outputs == 1 else ()
    return tuple(replace(each, steps=(*column, *each.steps)) for each in found)
