"""scalar-code: vector code that computes one operation of a circuit at a time, in lane 0.

Out: a vector program. Numbers that are free have a vector each; those of a grouped vector are rotated to lane 0. Rows
of a matrix are rotated to the front whole, and its numbers stay in the lane of their column as long as they meet
others of it: what is made of them is rotated, and not each of them. It is what a circuit costs without lanes, and an
oracle of the search for them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from latticework.compiler.lanes.codes import (
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
from latticework.compiler.lanes.row_code import rows_in_front, with_unread
from latticework.values.extension import _core

CODES = {
    ADD: V_ADD, SUB: V_SUB, MUL: V_MUL, NEG: V_NEG, ADD_CONSTANT: V_ADD_CONSTANT, MUL_CONSTANT: V_MUL_CONSTANT
}  # fmt: skip


def scalar_code(graph: Graph, width: int, apart: Collection[int] = ()) -> _core.lanes.VectorProgram:
    """The vector program of a circuit that computes one number at a time.

    apart   groups whose numbers have a vector each, as if they were free
    raises  ValueError if a fixed lane is outside the vector
    """
    emitted = _Code()
    held: dict[int, tuple[int, int]] = {}  # node -> register that holds it, and the lane
    at_zero: dict[int, int] = {}  # node of another lane -> register that holds it in lane 0 too
    unread: list[int] = []

    def in_zero(node: int) -> int:
        register, lane = held[node]
        if lane and node not in at_zero:
            at_zero[node] = emitted.add(V_ROTATE, register, steps=lane)
        return at_zero[node] if lane else register

    for number, group in enumerate(graph.groups):
        nodes = [n for n, node in enumerate(graph.nodes) if node.code == INPUT and node.left == number]
        if group.packing == "free" or number in apart:
            for place, node in enumerate(nodes):
                held[node] = emitted.add(V_INPUT, number, place, table=[(0, node)]), 0
            continue
        if group.is_by_rows:
            rows = rows_in_front(emitted.add, graph, number, width)
            held |= rows.registers
            unread += rows.unread
            continue
        at = [group.lanes[graph.nodes[n].right] if group.lanes else i for i, n in enumerate(nodes)]
        if max(at, default=0) >= width:
            raise ValueError(f"group {group.name}: lane {max(at)} of {width}")
        if nodes:
            vector = emitted.add(V_INPUT, number, 0, table=sorted(zip(at, nodes, strict=True)))
        for lane, node in zip(at, nodes, strict=True):
            held[node] = (emitted.add(V_ROTATE, vector, steps=lane) if lane else vector), 0
    for number in _soon_read(graph):
        code, _, right = graph.nodes[number]
        emitted.stage += 1
        operands = graph.operands(number)
        lanes = {held[node][1] for node in operands}
        lane = lanes.pop() if len(lanes) == 1 else 0
        registers = [held[node][0] if lane else in_zero(node) for node in operands]
        table = [(lane, right)] if code in (ADD_CONSTANT, MUL_CONSTANT) else []
        held[number] = emitted.add(CODES[code], *registers, table=table, computes=[(lane, number)]), lane
    outputs = [(in_zero(output), 0) for output in graph.ends]
    if unread:
        outputs[0] = with_unread(emitted.add, outputs[0][0], unread), 0
    return _core.lanes.VectorProgram(emitted.rows, outputs, count_codes([row.code for row in emitted.rows]))


def _soon_read(graph: Graph) -> list[int]:
    """Operations in an order in which few results wait to be read: those that one needs right before it."""
    order: list[int] = []
    done = [node.code == INPUT for node in graph.nodes]
    for end in graph.ends:
        waiting = [end]
        while waiting:
            number = waiting[-1]
            needed = [] if done[number] else [i for i in graph.operands(number) if not done[i]]
            if needed:
                waiting.append(needed[0])
                continue
            waiting.pop()
            if not done[number]:
                done[number] = True
                order.append(number)
    return order


class _Code:
    def __init__(self) -> None:
        self.rows: list[_core.lanes.VectorInstruction] = []
        self.stage = 0

    def add(
        self,
        code: int,
        left: int,
        right: int = -1,
        *,
        steps: int = 0,
        table: Sequence[tuple[int, int]] = (),
        computes: Sequence[tuple[int, int]] = (),
    ) -> int:
        """Append an instruction; returns its register."""
        self.rows.append(_core.lanes.VectorInstruction(code, left, right, steps, table, computes, self.stage))
        return len(self.rows) - 1


def count_codes(codes: Sequence[int], blends: int = 0) -> _core.lanes.InstructionCounts:
    """Count instructions; `blends` of them are merges that needed a mask."""

    def count(*wanted: int) -> int:
        return sum(code in wanted for code in codes)

    return _core.lanes.InstructionCounts(
        rotations=count(V_ROTATE), blends=blends, muls=count(V_MUL), mul_constants=count(V_MUL_CONSTANT),
        adds=count(V_ADD, V_SUB), add_constants=count(V_ADD_CONSTANT), negs=count(V_NEG), inputs=count(V_INPUT),
    )  # fmt: skip
