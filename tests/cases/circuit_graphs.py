"""Scalar circuits in the form that the compiled search takes, and what holds for every schedule of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from latticework._core.lanes import LaneSchedule, ScalarCircuit

INPUT, ADD, SUB, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT = range(7)
BINARY = (ADD, SUB, MUL)
FREE, GROUPED, REPLICATED = range(3)


class GraphBuilder:
    def __init__(self, width: int = 1024) -> None:
        self.rows: list[tuple[int, int, int, int]] = []
        self.packing: list[int] = []
        self.fixed: list[list[int]] = []
        self.width = width

    def inputs(self, number: int, packing: int = FREE, fixed: Sequence[int] = ()) -> list[int]:
        self.packing.append(packing)
        self.fixed.append(list(fixed))
        return [self.node(INPUT, -1, -1, len(self.packing) - 1) for _ in range(number)]

    def node(self, code: int, left: int, right: int = -1, group: int = -1) -> int:
        self.rows.append((code, left, right, group))
        return len(self.rows) - 1

    def sum(self, terms: Sequence[int]) -> int:
        """A balanced tree, as in Coyote's benchmarks."""
        level = list(terms)
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [self.node(ADD, a, b) for a, b in pairs] + (level[-1:] if len(level) % 2 else [])
        return level[0]

    def graph(self, outputs: Sequence[int]) -> ScalarCircuit:
        columns = zip(*self.rows, strict=True)
        return ScalarCircuit(*columns, self.packing, self.fixed, outputs, self.width)


def dot(n: int, first: int = GROUPED, second: int = GROUPED, width: int = 1024) -> ScalarCircuit:
    b = GraphBuilder(width)
    x, y = b.inputs(n, first), b.inputs(n, second)
    return b.graph([b.sum([b.node(MUL, p, q) for p, q in zip(x, y, strict=True)])])


def matmul(n: int, first: int = GROUPED, second: int = GROUPED, width: int = 1024) -> ScalarCircuit:
    b = GraphBuilder(width)
    x = np.reshape(b.inputs(n * n, first), (n, n)).tolist()
    y = np.reshape(b.inputs(n * n, second), (n, n)).tolist()
    columns = list(zip(*y, strict=True))
    return b.graph([b.sum([b.node(MUL, p, q) for p, q in zip(row, col, strict=True)]) for row in x for col in columns])


def distances(n: int, first: int = GROUPED, second: int = GROUPED, width: int = 1024) -> ScalarCircuit:
    b = GraphBuilder(width)
    x, y = b.inputs(n, first), b.inputs(n, second)
    return b.graph([b.node(MUL, b.node(SUB, p, q), b.node(SUB, p, q)) for p in x for q in y])


def convolution(n: int, k: int, first: int = GROUPED, second: int = GROUPED, width: int = 1024) -> ScalarCircuit:
    b = GraphBuilder(width)
    x, y = b.inputs(n, first), b.inputs(k, second)
    return b.graph([b.sum([b.node(MUL, x[o + i], y[i]) for i in range(k)]) for o in range(n - k + 1)])


def pair_of_products(width: int = 1024) -> ScalarCircuit:
    """(a + b)(c + d) + (e + f)(g + h) of free scalars."""
    b = GraphBuilder(width)
    x = b.inputs(8)
    sums = [b.node(ADD, x[i], x[i + 1]) for i in (0, 2, 4, 6)]
    return b.graph([b.node(ADD, b.node(MUL, sums[0], sums[1]), b.node(MUL, sums[2], sums[3]))])


def random_circuit(rng: np.random.Generator, operations: int, packing: int = FREE, width: int = 1024) -> ScalarCircuit:
    """Operations of every code on inputs of one group and on each other; every sink is an output."""
    b = GraphBuilder(width)
    nodes = b.inputs(int(rng.integers(2, 6)), packing)
    read = set()
    for _ in range(operations):
        code = int(rng.choice([ADD, SUB, MUL, MUL, NEG, ADD_CONSTANT, MUL_CONSTANT]))
        left, other = (int(rng.choice(nodes)) for _ in range(2))
        read |= {left, other} if code in BINARY else {left}
        right = other if code in BINARY else -1 if code == NEG else int(rng.integers(3))
        nodes.append(b.node(code, left, right))
    return b.graph([node for node in nodes if node not in read and b.rows[node][0] != INPUT])


KERNELS: dict[str, Callable[[int, int], ScalarCircuit]] = {
    "dot.3": lambda p, q: dot(3, p, q),
    "dot.6": lambda p, q: dot(6, p, q),
    "mm.2": lambda p, q: matmul(2, p, q),
    "conv.4.2": lambda p, q: convolution(4, 2, p, q),
    "dist.3": lambda p, q: distances(3, p, q),
}


def operands(graph: ScalarCircuit, node: int) -> list[int]:
    code = graph.code[node]
    return [] if code == INPUT else [graph.left[node]] + ([graph.right[node]] if code in BINARY else [])


def check_schedule(graph: ScalarCircuit, schedule: LaneSchedule) -> None:
    """Every operation once; packs of one code, in lanes of their own, after their operands."""
    codes, lane = graph.code, schedule.lane
    pack_of = {node: number for number, (_, nodes) in enumerate(schedule.packs) for node in nodes}
    operations = [node for node, code in enumerate(codes) if code != INPUT]
    assert sorted(node for _, nodes in schedule.packs for node in nodes) == operations
    for number, (code, nodes) in enumerate(schedule.packs):
        assert nodes
        assert all(codes[node] == code for node in nodes)
        assert len({lane[node] for node in nodes}) == len(nodes)
        assert all(0 <= lane[node] < graph.width for node in nodes)
        assert all(pack_of.get(operand, -1) < number for node in nodes for operand in operands(graph, node))
    for group, packing in enumerate(graph.packing):
        inputs = [node for node, code in enumerate(codes) if code == INPUT and graph.group[node] == group]
        lanes = [lane[node] for node in inputs]
        if packing != GROUPED:
            assert lanes == [-1] * len(inputs)
            continue
        assert len(set(lanes)) == len(inputs)
        assert all(0 <= at < graph.width for at in lanes)
        assert lanes == (graph.fixed[group] or lanes)
