"""The part of a graph that outputs need, from given values on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from latticework.errors import FormatError, UserError


def nested_graphs(node: Any) -> Iterator[Any]:
    """The graphs among the attributes of a node."""
    for given in node.attribute:
        if given.HasField("g"):
            yield given.g
        yield from given.graphs


class Captures:
    """The names that nested graphs of a file capture; each graph is looked through once, however deep it lies."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, list[str]]] = {}  # with the graph, which keeps its number while it is kept

    def of(self, graph: Any) -> list[str]:
        """Names that a nested graph reads and does not make, in order; depth is bounded by what protobuf reads."""
        known = self._known.get(id(graph))
        if known is not None:
            return known[1]
        made = {value.name for value in graph.input} | {array.name for array in graph.initializer}
        found: dict[str, None] = {}
        for node in graph.node:
            found.update((name, None) for name in self.reads(node) if name not in made)
            made.update(node.output)
        found.update((value.name, None) for value in graph.output if value.name not in made)
        self._known[id(graph)] = graph, list(found)
        return list(found)

    def reads(self, node: Any) -> Iterator[str]:
        """Names of the values that a node needs, by what is nested in it too."""
        yield from (name for name in node.input if name)
        for graph in nested_graphs(node):
            yield from self.of(graph)


def select_nodes(
    graph: Any, outputs: Sequence[str], given: Iterable[str], said: str, captures: Captures
) -> tuple[list[tuple[int, Any]], set[str]]:
    """The nodes that outputs need, with their numbers from 1, and the names that no node makes.

    given   names of values that are there: inputs, where the graph is cut
    raises  FormatError where two nodes make a value, or a node reads what only a later one makes, as in a cycle
    """
    makers: dict[str, int] = {}
    for number, node in enumerate(graph.node):
        for name in node.output:
            if name and makers.setdefault(name, number) != number:
                raise FormatError(f"{said}: nodes {makers[name] + 1} and {number + 1} both make {name}; it is damaged")
    there = set(given)
    wanted, kept, loose = [name for name in outputs if name not in there], set[int](), set[str]()
    while wanted:
        name = wanted.pop()
        maker = makers.get(name)
        if maker is None:
            loose.add(name)
        elif maker not in kept:
            kept.add(maker)
            for read in captures.reads(graph.node[maker]):
                if makers.get(read, -1) >= maker and read not in there:
                    raise FormatError(
                        f"{said}: node {maker + 1} ({graph.node[maker].op_type}) reads {read}, which node "
                        f"{makers[read] + 1} makes later; the file is damaged, or the graph has a cycle"
                    )
                if read not in there:
                    wanted.append(read)
    return [(number + 1, graph.node[number]) for number in sorted(kept)], loose


def check_values(graph: Any, names: Sequence[str], option: str, said: str) -> None:
    """UserError for a name that is no value of a graph, told with names like it."""
    known = {name for node in graph.node for name in node.output if name}
    known |= {value.name for value in graph.input} | {array.name for array in graph.initializer}
    for name in names:
        if name not in known:
            alike = [other for other in known if str(name).lower() in other.lower()][:5]
            hint = f"; there are {', '.join(sorted(alike))}" if alike else "; names of values are what a viewer shows"
            raise UserError(f"{said}: {option} names {name!r}, which is no value of the graph{hint}")
