"""Cases in the form that the compiled searches take, as written: nothing is shared or put in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.coyote.cases import Case
from latticework import _core

INPUT, ADD, SUB, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT = range(7)
FREE, GROUPED, REPLICATED = range(3)


class Number:
    """A node of a graph."""

    __slots__ = ("graph", "node")

    def __init__(self, graph: Graph, node: int) -> None:
        self.graph, self.node = graph, node

    def __add__(self, other: Any) -> Number:
        return self.graph.note(ADD, ADD_CONSTANT, self, other)

    def __mul__(self, other: Any) -> Number:
        return self.graph.note(MUL, MUL_CONSTANT, self, other)

    def __sub__(self, other: Any) -> Number:
        if isinstance(other, Number):
            return self.graph.note(SUB, ADD_CONSTANT, self, other)
        return self + -other

    def __neg__(self) -> Number:
        return Number(self.graph, self.graph.node(NEG, self.node, -1))

    def __rsub__(self, other: Any) -> Number:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


class Graph:
    """Collects nodes; constants are numbered as they come."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int]] = []
        self.packing: list[int] = []
        self.constants: list[Any] = []

    def node(self, code: int, left: int, right: int, group: int = -1) -> int:
        """A new node's number."""
        self.rows.append((code, left, right, group))
        return len(self.rows) - 1

    def note(self, code: int, constant_code: int, left: Number, right: Any) -> Number:
        """An operation of two nodes, or of a node and a constant."""
        if isinstance(right, Number):
            return Number(self, self.node(code, left.node, right.node))
        if right not in self.constants:
            self.constants.append(right)
        return Number(self, self.node(constant_code, left.node, self.constants.index(right)))

    def inputs(self, shape: tuple[int, ...], group: int) -> Any:
        """Nested lists of new inputs."""
        if not shape:
            return Number(self, self.node(INPUT, -1, -1, group))
        return [self.inputs(shape[1:], group) for _ in range(shape[0])]


def graph(case: Case, width: int) -> _core.lanes.ScalarCircuit:
    """The circuit of a case; free scalars are one group."""
    built = Graph()
    arguments = {}
    for name, given in case.given.items():
        packing = FREE if not given.shape else REPLICATED if given.replicate else GROUPED
        if packing != FREE or FREE not in built.packing:
            built.packing.append(packing)
        group = built.packing.index(FREE) if packing == FREE else len(built.packing) - 1
        arguments[name] = built.inputs(given.shape, group)
    results = np.asarray(case.kernel(**arguments), object).ravel()
    code, left, right, group = zip(*built.rows, strict=True)
    fixed: list[list[int]] = [[] for _ in built.packing]
    return _core.lanes.ScalarCircuit(
        code, left, right, group, built.packing, fixed, [result.node for result in results], width
    )
