"""Values in the lanes of registers, as residues by chance: what a lane holds is known whatever computed it.

Inputs and public numbers of a circuit are drawn modulo a prime of 61 bits, each number by itself. Two lanes that hold
the same residue hold the same polynomial of them, but for a chance of less than 2^-40 (Schwartz and Zippel): so a node
that is found in a lane is there for all inputs, and for any public numbers in the place of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from latticework.compiler.lanes.codes import (
    ONE,
    V_ADD,
    V_ADD_CONSTANT,
    V_INPUT,
    V_MUL,
    V_MUL_CONSTANT,
    V_NEG,
    V_ROTATE,
    V_SUB,
)
from latticework.compiler.lanes.lane_graph import ADD, ADD_CONSTANT, INPUT, MUL, MUL_CONSTANT, NEG, SUB, Graph
from latticework.values.extension import _core

PRIME = (1 << 61) - 1
Lanes = dict[int, int]  # lane -> residue; others hold 0


class LaneValues:
    """Residues of a circuit's nodes, and of the registers of vector code that is followed."""

    def __init__(self, graph: Graph, width: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.width = width
        self.constants = [int(rng.integers(1, PRIME)) for _ in graph.constants]
        self.nodes: list[int] = []
        for code, left, right in graph.nodes:
            self.nodes.append(int(rng.integers(1, PRIME)) if code == INPUT else self._node(code, left, right))
        self.registers: list[Lanes] = []

    def follow(self, one: _core.lanes.VectorInstruction) -> Lanes:
        """Note what a further instruction makes, and return it."""
        lanes = {lane: value for lane, value in self._run(one).items() if value}
        self.registers.append(lanes)
        return lanes

    def _node(self, code: int, left: int, right: int) -> int:
        """The residue of an operation."""
        a = self.nodes[left]
        match code:
            case _ if code == ADD:
                value = a + self.nodes[right]
            case _ if code == SUB:
                value = a - self.nodes[right]
            case _ if code == MUL:
                value = a * self.nodes[right]
            case _ if code == NEG:
                value = -a
            case _ if code == ADD_CONSTANT:
                value = a + self.constants[right]
            case _:
                assert code == MUL_CONSTANT
                value = a * self.constants[right]
        return value % PRIME

    def _run(self, one: _core.lanes.VectorInstruction) -> Lanes:
        code, table = one.code, one.table
        if code == V_INPUT:
            return {lane: self.nodes[node] for lane, node in table}
        a = self.registers[one.left]
        if code == V_ROTATE:
            return {(lane - one.steps) % self.width: value for lane, value in a.items()}
        if code == V_NEG:
            return {lane: -value % PRIME for lane, value in a.items()}
        if code in (V_ADD_CONSTANT, V_MUL_CONSTANT):
            numbers = {lane: 1 if number == ONE else self.constants[number] for lane, number in table}
            if code == V_MUL_CONSTANT:
                return {lane: a[lane] * number % PRIME for lane, number in numbers.items() if lane in a}
            return {lane: (a.get(lane, 0) + numbers.get(lane, 0)) % PRIME for lane in a.keys() | numbers}
        b = self.registers[one.right]
        if code == V_MUL:
            return {lane: a[lane] * b[lane] % PRIME for lane in a.keys() & b}
        assert code in (V_ADD, V_SUB)
        sign = 1 if code == V_ADD else -1
        return {lane: (a.get(lane, 0) + sign * b.get(lane, 0)) % PRIME for lane in a.keys() | b}


def computes(
    graph: Graph, width: int, code: Iterable[_core.lanes.VectorInstruction], outputs: Sequence[tuple[int, int]]
) -> bool:
    """Whether vector code computes a circuit: its outputs, each in the lane where it is read."""
    values = LaneValues(graph, width, seed=1)
    for one in code:
        values.follow(one)
    read = [values.registers[register].get(lane, 0) for register, lane in outputs]
    return read == [values.nodes[node] for node in graph.ends]
