"""rewrite: the same outputs by fewer products, and by sums and products that are as shallow as can be.

Rules (`rewrite_rules.py`) look at one operation and what makes its operands. `balance` then flattens sums and products
and joins the shallowest terms first, as Huffman codes are built.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count

from latticework.compiler.lanes.lane_graph import (
    ADD,
    ADD_CONSTANT,
    INPUT,
    MUL,
    MUL_CONSTANT,
    NEG,
    SUB,
    Constant,
    Graph,
    GraphBuilder,
    Operand,
    copy_node,
    finish,
)
from latticework.compiler.lanes.rewrite_rules import RULES, SUMS, Match, Rule
from latticework.compiler.lanes.squares import SumOfSquares, complete_squares

ADD_HEIGHT, MUL_HEIGHT = 1, 10  # of one operation, where sums are joined: products take about ten times as long


def rewrite(graph: Graph, rules: tuple[Rule, ...] = RULES) -> Graph:
    """The graph with every operation replaced by what the first rule that applies makes of it."""
    builder, uses = GraphBuilder(graph.groups), graph.uses()
    operands: list[Operand] = []
    for number, node in enumerate(graph.nodes):
        builder.line = graph.lines[number]
        if node.code == INPUT:
            operands.append(builder.input(node.left, node.right))
            continue
        read = graph.operands(number)
        left = operands[read[0]]
        right: Operand = operands[read[1]] if len(read) > 1 else Constant(0)
        alone = [uses[i] == 1 for i in read]
        rewritten = None
        if node.code in (ADD, SUB, MUL, NEG):
            match = Match(builder, node.code, left, right, alone[0], alone[-1])
            rewritten = next((new for rule in rules if (new := rule(match)) is not None), None)
        operands.append(copy_node(builder, graph, number, operands) if rewritten is None else rewritten)
    return finish(builder, graph, operands)


def balance(graph: Graph) -> Graph:
    """Sums and products re-associated: of their terms the shallowest are joined first."""
    builder, uses = GraphBuilder(graph.groups), graph.uses()
    heights: list[int] = []  # of the new graph's nodes
    operands: list[Operand] = []

    def join_shallow(terms: list[Operand], join: Callable[[Operand, Operand], Operand]) -> Operand:
        order = count()
        queue = [(_height(builder, heights, term), next(order), term) for term in terms]
        heapify(queue)
        while len(queue) > 1:
            a, b = heappop(queue), heappop(queue)
            new = join(*((a[2], b[2]) if a[1] < b[1] else (b[2], a[2])))
            heappush(queue, (_height(builder, heights, new), next(order), new))
        return queue[0][2]

    inner = _inner_terms(graph, uses)
    for number, node in enumerate(graph.nodes):
        builder.line = graph.lines[number]
        if inner[number]:
            operands.append(Constant(0))  # its terms are joined where the whole sum or product is
            continue
        match node.code:
            case 0:
                operands.append(builder.input(node.left, node.right))
            case 3:
                operands.append(join_shallow([operands[i] for i in _factors(graph, inner, number)], builder.mul))
            case 6:
                operands.append(builder.mul(operands[node.left], Constant(graph.constants[node.right])))
            case _ if (completed := complete_squares(graph, uses, number)) is not None:
                operands.append(_sum_of(builder, operands, completed, join_shallow))
            case _:
                plus, less, constant = _terms(graph, inner, number)
                total = join_shallow([operands[i] for i in plus], builder.add) if plus else Constant(0)
                if less:
                    total = builder.sub(total, join_shallow([operands[i] for i in less], builder.add))
                operands.append(builder.add(total, Constant(constant)))
    return finish(builder, graph, operands)


def _sum_of(
    builder: GraphBuilder, operands: list[Operand], terms: SumOfSquares, join: Callable[..., Operand]
) -> Operand:
    """Squares and other terms, those that are subtracted apart."""
    signed: dict[bool, list[Operand]] = {True: [], False: []}
    for square in terms.squares:
        base = (builder.sub if square.is_difference else builder.add)(operands[square.left], operands[square.right])
        value = builder.mul(builder.mul(base, base), Constant(abs(square.coefficient)))
        signed[square.coefficient > 0].append(value)
    for node, coefficient in terms.rest:
        signed[coefficient > 0].append(builder.mul(operands[node], Constant(abs(coefficient))))
    total = join(signed[True], builder.add) if signed[True] else Constant(0)
    if signed[False]:
        total = builder.sub(total, join(signed[False], builder.add))
    return builder.add(total, Constant(terms.constant))


def _inner_terms(graph: Graph, uses: list[int]) -> list[bool]:
    """Return whether each node is a part of one larger sum, or of one larger product, and nothing else."""
    inner = [False] * len(graph.nodes)
    for number, node in enumerate(graph.nodes):
        for operand in graph.operands(number):
            code = graph.nodes[operand].code
            same = (node.code in SUMS and code in SUMS) or (node.code == MUL and code == MUL)
            inner[operand] = same and uses[operand] == 1
    return inner


def _factors(graph: Graph, inner: list[bool], number: int) -> list[int]:
    result: list[int] = []
    waiting = list(reversed(graph.operands(number)))
    while waiting:
        operand = waiting.pop()
        if inner[operand]:
            waiting.extend(reversed(graph.operands(operand)))
        else:
            result.append(operand)
    return result


def _terms(graph: Graph, inner: list[bool], number: int) -> tuple[list[int], list[int], int | float]:
    """Terms that are added, those that are subtracted, and the public rest."""
    signs: dict[int, list[int]] = {1: [], -1: []}
    constant: int | float = 0
    waiting = [(1, number, True)]
    while waiting:
        sign, at, is_open = waiting.pop()
        if not is_open:
            signs[sign].append(at)
            continue
        code, left, right = graph.nodes[at]
        if code == ADD_CONSTANT:
            constant += sign * graph.constants[right]
        elif code in (ADD, SUB):
            waiting.append((sign if code == ADD else -sign, right, inner[right]))
        waiting.append((-sign if code == NEG else sign, left, inner[left]))
    return signs[1], signs[-1], constant


def _height(builder: GraphBuilder, heights: list[int], operand: Operand) -> int:
    if isinstance(operand, Constant):
        return 0
    for code, left, right in builder.nodes[len(heights) :]:
        if code == INPUT:
            heights.append(0)
            continue
        below = max(heights[left], heights[right]) if code in (ADD, SUB, MUL) else heights[left]
        heights.append(below + (MUL_HEIGHT if code in (MUL, MUL_CONSTANT) else ADD_HEIGHT))
    return heights[operand]


def improve(graph: Graph) -> Graph:
    """All rewriting, until it finds nothing more to share (three rounds at most)."""
    for _ in range(3):
        new = balance(rewrite(graph))
        if new.nodes == graph.nodes:
            break
        graph = new
    return graph
