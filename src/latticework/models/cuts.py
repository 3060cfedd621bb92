"""Cut a model into the owner's part before encryption, the server's, and the owner's after decryption.

Nodes move to the owner by a table of rules: those at the beginning and at the end that are cheap there or impossible
encrypted, with whatever lies between them and the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from latticework.errors import UserError
from latticework.models.client_rules.table_rules import OwnerRules
from latticework.models.constant_folding import PublicValues
from latticework.models.converters import Converters
from latticework.models.cut_front import OwnerFront
from latticework.models.cut_tail import UnfitNodeError, find_tail, path_to, postprocess_steps
from latticework.models.imported_program import identifier
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref
from latticework.models.trees.threshold_margin import Marked
from latticework.models.trees.tree_program import TreeProgram


def cut_program(
    graph: ModelGraph,
    converters: Converters,
    rules: OwnerRules,
    notes: tuple[str, ...] = (),
    *,
    client: Iterable[str] = (),
    server: Iterable[str] = (),
    columns: Mapping[str, Sequence[str]] | None = None,
    check: Callable[[ModelGraph], Iterable[str]] = lambda part: (),
    mark: Callable[[ModelGraph, PublicValues], Marked] | None = None,
) -> TreeProgram:
    """The program of a graph, with as much of it at the owner as the rules say.

    client, server  nodes by name that the owner, or the server, has to compute, whatever the rules prefer
    columns         names of the columns of inputs, by name
    check           of the server's part before it is traced: raises UserError, or returns more notes
    mark            has the server's part tell what its trees leave undecided
    raises          UserError for names that are none, and for nodes that the owner's steps cannot express, and why;
                    else as ImportedProgram
    """
    graph = replace(graph, nodes=tuple(part for node in graph.nodes for part in rules.split(node)))
    asked, kept_back, reasons = set(client), set(server), dict[str, str]()
    _check_names(graph, asked, kept_back)
    publics = PublicValues(graph, converters)
    if not asked and all(node.operator in rules.by_operator for node in graph.nodes):
        kept_back |= {name for node in graph.nodes for name in node.names()}  # nothing would be left to encrypt for
    front = OwnerFront.of(graph, rules, publics, asked, kept_back)
    reasons.update(front.reasons)
    while True:
        tail = find_tail(graph, rules, publics, front.moved, asked, kept_back)
        _check_moved(graph, asked, front.moved | tail, reasons)
        made, ends = _server_part(graph, publics, front, tail)
        marked = mark(made, publics) if mark else Marked(made.nodes, None, {})
        program = TreeProgram(marked.on(made), converters, (*notes, *check(made)))
        outputs = dict(zip(ends, program.output_shapes.items(), strict=marked.told is None))
        try:
            after = postprocess_steps(
                graph, rules, publics, tail, outputs, marked.of_output(list(program.output_shapes)[-1])
            )
        except UnfitNodeError as error:
            kept_back.update(filter(None, error.node.results))
            reasons.update(dict.fromkeys(error.node.names(), str(error)))
            continue
        program.at_owner_before, program.at_owner_after = (
            tuple(graph.nodes[number].operator for number in sorted(moved)) for moved in (front.moved, tail)
        )
        stages = front.stages(made, columns or {}, after)
        joining = {n for n in front.moved if rules.by_operator[graph.nodes[n].operator].joins is not None}
        if (
            joining
            and not rules.of_tables
            and stages.given_for(p.name for p in program.parameters) != [identifier(i.name) for i in graph.inputs]
        ):
            names = {name for number in joining for name in graph.nodes[number].names()}
            reasons.update(dict.fromkeys(names, "it joins inputs in another order than the model takes them in"))
            kept_back |= names
            front = OwnerFront.of(graph, rules, publics, asked, kept_back)
            continue
        program.take_owner(stages, _notes(graph.nodes, front.moved, tail))
        return program


def _check_names(graph: ModelGraph, asked: set[str], kept_back: set[str]) -> None:
    known = {name for node in graph.nodes for name in node.names()}
    wrong = sorted((asked | kept_back) - known) + sorted(asked & kept_back)
    if wrong:
        raise UserError(
            f"{graph.name}: client= and server= take names of nodes, each in one of them; got {', '.join(wrong)}: "
            f"there are {', '.join(sorted(known)[:8])}, ...",
            at=graph.loc,
        )


def _check_moved(graph: ModelGraph, asked: set[str], moved: set[int], reasons: Mapping[str, str]) -> None:
    """UserError unless all that the user asked for is at the owner."""
    unmoved = sorted(asked - {name for number in moved for name in graph.nodes[number].names()})
    if unmoved:
        general = "no rule says how, or what stands between it and the ends is computed encrypted"
        told = "; ".join(f"{name} ({reasons.get(name, general)})" for name in unmoved)
        raise UserError(f"{graph.name}: client= names what its owner cannot compute: {told}", at=graph.loc)


def _server_part(
    graph: ModelGraph, publics: PublicValues, front: OwnerFront, tail: set[int]
) -> tuple[ModelGraph, tuple[str, ...]]:
    """The graph that is computed encrypted, and the names of the values that it returns, each once."""
    ends = tuple(dict.fromkeys(path_to(output.name, graph, publics, tail)[0] for output in graph.outputs))
    needed, kept = set(ends), list[ModelNode]()
    for number in reversed(range(len(graph.nodes))):
        node = graph.nodes[number]
        if number not in front.moved | tail and needed & set(node.results):
            kept.insert(0, node)
            needed.update(node.reads())
    locs = {given.name: given.loc for given in graph.inputs}
    needed |= front.unused_inputs(needed)
    inputs = tuple(
        GraphInput(name, front.origins[name].shape, locs.get(name, graph.loc)) for name in front.in_order(needed)
    )
    if not tail:
        ends = tuple(output.name for output in graph.outputs)
    constants = {name: value for name, value in graph.constants.items() if name in needed}
    labels = () if tail else graph.labels
    outputs = tuple(map(Ref, ends))
    return ModelGraph(graph.name, inputs, constants, tuple(kept), outputs, graph.loc, labels), ends


def _notes(nodes: Sequence[ModelNode], front: set[int], tail: set[int]) -> tuple[str, ...]:
    """Notes for reports on the nodes that moved: each operator with its name once."""
    found = []
    for what, numbers in (("before encryption", front), ("after decryption", tail)):
        for number in sorted(numbers):
            operator, text = nodes[number].operator, nodes[number].loc.text
            name = " ".join(dict.fromkeys(text.split(" ")))  # nodes are often named as their operators
            name = name.removeprefix(operator.rpartition(".")[2]).strip()
            found.append(f"the owner of the data computes {operator}{f' ({name})' if name else ''} {what}")
    return tuple(dict.fromkeys(found))
