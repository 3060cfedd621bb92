"""Circuits as the search for lanes takes them, random ones, and interpreters of circuits and of vector programs."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from latticework._core.lanes import ScalarCircuit, VectorProgram

CONSTANTS = [3, -2, 7, 0]
INPUT, ADD, SUB, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT = range(7)


class Circuit:
    """A circuit being written: nodes are numbers."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, int, int, int]] = []
        self.packing: list[int] = []
        self.fixed: list[list[int]] = []
        self.outputs: list[int] = []

    def _node(self, code: int, left: int = -1, right: int = -1, group: int = -1) -> int:
        self.nodes.append((code, left, right, group))
        return len(self.nodes) - 1

    def inputs(self, count: int, packing: int) -> list[int]:
        self.packing.append(packing)
        self.fixed.append([])
        return [self._node(INPUT, group=len(self.packing) - 1) for _ in range(count)]

    def add(self, left: int, right: int) -> int:
        return self._node(ADD, left, right)

    def mul(self, left: int, right: int) -> int:
        return self._node(MUL, left, right)

    def graph(self, width: int = 4096) -> ScalarCircuit:
        code, left, right, group = (list(column) for column in zip(*self.nodes, strict=True))
        return ScalarCircuit(code, left, right, group, self.packing, self.fixed, self.outputs, width)


def tree_sum(circuit: Circuit, terms: list[int]) -> int:
    """A balanced tree of sums."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return circuit.add(tree_sum(circuit, terms[:half]), tree_sum(circuit, terms[half:]))


@st.composite
def graphs(draw, most: int = 40) -> ScalarCircuit:
    """Any circuit of up to `most` operations; inputs in groups of all kinds, some outputs that are inputs."""
    circuit = Circuit()
    for packing in draw(st.lists(st.integers(0, 2), min_size=1, max_size=3)):
        circuit.inputs(draw(st.integers(1, 5)), packing)
    for _ in range(draw(st.integers(1, most))):
        code = draw(st.sampled_from([ADD, ADD, SUB, MUL, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT]))
        last = len(circuit.nodes) - 1
        left = draw(st.integers(0, last))
        right = -1
        if code in (ADD, SUB, MUL):
            right = draw(st.integers(0, last))
        elif code != NEG:
            right = draw(st.integers(0, len(CONSTANTS) - 1))
        circuit._node(code, left, right)
    circuit.outputs = draw(st.lists(st.integers(0, len(circuit.nodes) - 1), min_size=1, max_size=4))
    return circuit.graph(draw(st.sampled_from([64, 4096])))


def run_scalar(graph: ScalarCircuit, values: list[int]) -> list[int]:
    """Every node's value; `values` gives those of the inputs, by node."""
    results: list[int] = []
    for node, (code, left, right) in enumerate(zip(graph.code, graph.left, graph.right, strict=True)):
        if code == INPUT:
            results.append(values[node])
        else:
            results.append(_apply(code, results[left], results[right] if code in (ADD, SUB, MUL) else right))
    return results


def _apply(code: int, a: int, b: int) -> int:
    match code:
        case 1:
            return a + b
        case 2:
            return a - b
        case 3:
            return a * b
        case 4:
            return -a
        case 5:
            return a + CONSTANTS[b]
    return a * CONSTANTS[b]


def run_program(
    width: int, program: VectorProgram, values: list[int], constants: Sequence[int] = CONSTANTS
) -> list[list[int]]:
    """Every register's lanes, in Python integers."""
    registers: list[list[int]] = []
    for one in program.code:
        code, left, right, steps, table = one.code, one.left, one.right, one.steps, one.table
        lanes = [0] * width
        if code == 0:
            for lane, node in table:
                lanes[lane] = values[node]
        elif code == 1:
            lanes = registers[left][steps:] + registers[left][:steps]
        elif code in (2, 3, 4):
            lanes = [_apply(code - 1, a, b) for a, b in zip(registers[left], registers[right], strict=True)]
        elif code == 5:
            lanes = [-a for a in registers[left]]
        elif code == 6:
            lanes = list(registers[left])
            for lane, constant in table:
                lanes[lane] += constants[constant]
        else:
            for lane, constant in table:
                lanes[lane] = registers[left][lane] * (1 if constant == -2 else constants[constant])
        registers.append(lanes)
    return registers
