"""row-code: how scalar code reads a matrix that the client sends whole, without telling the client which rows it reads.

Rows are brought to the front by rotations by powers of two, each from the row before that has one of them less: few
keys, and one rotation for each row. A row that nothing reads is brought there too, as its key would be missed; all such
rows are added where nobody looks, so that no later pass takes them for unused.
"""

from __future__ import annotations

from collections.abc import Callable

from latticework.compiler.lanes.codes import ONE, V_ADD, V_INPUT, V_MUL_CONSTANT, V_ROTATE
from latticework.compiler.lanes.lane_graph import INPUT, Graph
from latticework.lazy_dataclass import dataclass

Add = Callable[..., int]  # appends an instruction: code, left, right, steps=, table=; returns its register


@dataclass(frozen=True)
class RowsInFront:
    """A matrix by rows, taken in.

    registers  nodes in the lanes of their columns: node -> register, lane
    unread     registers of rows that were brought to the front and that nothing reads
    """

    registers: dict[int, tuple[int, int]]
    unread: list[int]


def rows_in_front(add: Add, graph: Graph, number: int, width: int) -> RowsInFront:
    """Take in the group of this number, and bring its rows to the front of a vector each."""
    group = graph.groups[number]
    read: dict[tuple[int, int], list[tuple[int, int]]] = {}  # vector and first lane of a row -> column and node
    for node, (code, left, right) in enumerate(graph.nodes):
        if code == INPUT and left == number:
            vector, first, column = group.place(right, width)
            read.setdefault((vector, first), []).append((column, node))
    result = RowsInFront({}, [])
    if not read:
        return result
    front: dict[tuple[int, int], int] = {}  # register of a row
    for vector, first in dict.fromkeys(group.place(n, width)[:2] for n in range(len(group.labels))):
        if first:
            step = first & -first
            front[vector, first] = add(V_ROTATE, front[vector, first - step], steps=step)
        else:
            rows = [(at, row) for (of, at), row in read.items() if of == vector]
            table = sorted((at + column, node) for at, row in rows for column, node in row)
            front[vector, first] = add(V_INPUT, number, vector, table=table)
        row = read.get((vector, first), [])
        result.registers.update((node, (front[vector, first], column)) for column, node in row)
        if first and not row:
            result.unread.append(front[vector, first])
    return result


def with_unread(add: Add, register: int, unread: list[int]) -> int:
    """A register with what nothing reads added in lane 1; lane 0 stays."""
    total = unread[0]
    for other in unread[1:]:
        total = add(V_ADD, total, other)
    return add(V_ADD, register, add(V_MUL_CONSTANT, total, table=[(1, ONE)]))
