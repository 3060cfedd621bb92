"""rewrite: the same outputs by fewer products, and by sums and products that are as shallow as can be.

Rules look at one operation and what makes its operands; each holds in every commutative ring, so for exact integers
and, up to rounding, for real numbers. `balanced` then flattens sums and products and joins the shallowest terms first,
as Huffman codes are built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

from latticework.circuit.graph import (
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
    Node,
    Operand,
    checked_outputs,
)

ADD_HEIGHT, MUL_HEIGHT = 1, 10  # of one operation, where sums are joined: products take about ten times as long


@dataclass(frozen=True)
class Match:
    """An operation that a rule may replace.

    left, right              its operands in the new graph
    left_alone, right_alone  whether nothing else reads them
    """

    builder: GraphBuilder
    code: int
    left: Operand
    right: Operand
    left_alone: bool
    right_alone: bool

    def node(self, operand: Operand) -> Node | None:
        """What makes an operand; None for a public number."""
        return None if isinstance(operand, Constant) else self.builder.nodes[operand]

    def product(self, operand: Operand) -> tuple[int, int] | None:
        """The factors of an operand that is a product of two encrypted numbers."""
        node = self.node(operand)
        return (node.left, node.right) if node is not None and node.code == MUL else None

    def complement(self, operand: int) -> int | None:
        """b, where the operand is 1 - b."""
        node = self.builder.nodes[operand]
        if node.code != ADD_CONSTANT or self.builder.constants[node.right] != 1:
            return None
        inner = self.builder.nodes[node.left]
        return inner.left if inner.code == NEG else None


Rule = Callable[[Match], Operand | None]
_SUMS = (ADD, SUB, NEG, ADD_CONSTANT)


def select(match: Match) -> Operand | None:
    """b * t + (1 - b) * f  ->  f + b * (t - f)."""
    if match.code != ADD or not (match.left_alone and match.right_alone):
        return None
    for one, other in ((match.left, match.right), (match.right, match.left)):
        products = match.product(one), match.product(other)
        if products[0] is None or products[1] is None:
            continue
        for bit, if_one in (products[0], products[0][::-1]):
            for inverse, if_zero in (products[1], products[1][::-1]):
                if match.complement(inverse) == bit:
                    b = match.builder
                    return b.add(if_zero, b.mul(bit, b.sub(if_one, if_zero)))
    return None


def factor(match: Match) -> Operand | None:
    """a * x + a * y  ->  a * (x + y), and with minus."""
    if match.code not in (ADD, SUB) or not (match.left_alone and match.right_alone):
        return None
    b = match.builder
    join = b.add if match.code == ADD else b.sub
    first, second = match.product(match.left), match.product(match.right)
    if first is not None and second is not None:
        for a, x in (first, first[::-1]):
            for c, y in (second, second[::-1]):
                if a == c:
                    return b.mul(a, join(x, y))
    left, right = match.node(match.left), match.node(match.right)
    if left is not None and right is not None and left.code == right.code == MUL_CONSTANT and left.right == right.right:
        return b.mul(join(left.left, right.left), Constant(b.constants[left.right]))
    return None


def minus(match: Match) -> Operand | None:
    """x + -y -> x - y;  -x + y -> y - x;  x - -y -> x + y;  -x * -y -> x * y;  -(x - y) -> y - x."""
    b = match.builder
    left, right = match.node(match.left), match.node(match.right)
    if match.code == NEG:
        return b.sub(left.right, left.left) if left is not None and left.code == SUB and match.left_alone else None
    if match.code == ADD and right is not None and right.code == NEG:
        return b.sub(match.left, right.left)
    if match.code == ADD and left is not None and left.code == NEG:
        return b.sub(match.right, left.left)
    if match.code == SUB and right is not None and right.code == NEG:
        return b.add(match.left, right.left)
    if match.code == MUL and left is not None and right is not None and left.code == right.code == NEG:
        return b.mul(left.left, right.left)
    return None


def cancel(match: Match) -> Operand | None:
    """(a + x) - (a + y) -> x - y, and whatever else meets its opposite in a sum of two sums.

    So lw.select(b, t + x, t - x), which is t - x + b * 2x then, is no deeper than t.
    """
    if match.code not in (ADD, SUB):
        return None
    sign = 1 if match.code == ADD else -1
    terms = [*_summands(match, match.left, 1), *_summands(match, match.right, sign)]
    for i, (first, a) in enumerate(terms):
        for j in range(i):
            second, b = terms[j]
            if first == -second and a == b and isinstance(a, int):
                return _sum_of(match.builder, [term for k, term in enumerate(terms) if k not in (i, j)])
    return None


def _summands(match: Match, operand: Operand, sign: int) -> list[tuple[int, Operand]]:
    """An operand as signed terms, one level deep."""
    node = match.node(operand)
    if node is None or node.code not in _SUMS:
        return [(sign, operand)]
    if node.code == ADD_CONSTANT:
        return [(sign, node.left), (sign, Constant(match.builder.constants[node.right]))]
    if node.code == NEG:
        return [(-sign, node.left)]
    return [(sign, node.left), (sign if node.code == ADD else -sign, node.right)]


def _sum_of(builder: GraphBuilder, terms: list[tuple[int, Operand]]) -> Operand:
    total: Operand = Constant(0)
    for sign, term in sorted(terms, key=lambda item: -item[0]):
        total = builder.add(total, term) if sign > 0 else builder.sub(total, term)
    return total


RULES: tuple[Rule, ...] = (select, factor, cancel, minus)


def rewritten(graph: Graph, rules: tuple[Rule, ...] = RULES) -> Graph:
    """The graph with every operation replaced by what the first rule that applies makes of it."""
    builder, uses = GraphBuilder(graph.groups), graph.uses()
    made: list[Operand] = []
    for number, node in enumerate(graph.nodes):
        builder.line = graph.lines[number]
        if node.code == INPUT:
            made.append(builder.input(node.left, node.right))
            continue
        read = graph.operands(number)
        left = made[read[0]]
        right: Operand = made[read[1]] if len(read) > 1 else Constant(0)
        alone = [uses[i] == 1 for i in read]
        found = None
        if node.code in (ADD, SUB, MUL, NEG):
            match = Match(builder, node.code, left, right, alone[0], alone[-1])
            found = next((new for rule in rules if (new := rule(match)) is not None), None)
        made.append(_copied(builder, graph, node, left, right) if found is None else found)
    return _finished(builder, graph, made)


def balanced(graph: Graph) -> Graph:
    """Sums and products re-associated: of their terms the shallowest are joined first."""
    builder, uses = GraphBuilder(graph.groups), graph.uses()
    heights: list[int] = []  # of the new graph's nodes
    made: list[Operand] = []

    def joined(terms: list[Operand], join: Callable[[Operand, Operand], Operand]) -> Operand:
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
            made.append(Constant(0))  # its terms are joined where the whole sum or product is
            continue
        match node.code:
            case 0:
                made.append(builder.input(node.left, node.right))
            case 3:
                made.append(joined([made[i] for i in _factors(graph, inner, number)], builder.mul))
            case 6:
                made.append(builder.mul(made[node.left], Constant(graph.constants[node.right])))
            case _:
                plus, less, constant = _terms(graph, inner, number)
                total = joined([made[i] for i in plus], builder.add) if plus else Constant(0)
                if less:
                    total = builder.sub(total, joined([made[i] for i in less], builder.add))
                made.append(builder.add(total, Constant(constant)))
    return _finished(builder, graph, made)


def _inner_terms(graph: Graph, uses: list[int]) -> list[bool]:
    """Which nodes are a part of one larger sum, or of one larger product, and nothing else."""
    inner = [False] * len(graph.nodes)
    for number, node in enumerate(graph.nodes):
        for operand in graph.operands(number):
            code = graph.nodes[operand].code
            same = (node.code in _SUMS and code in _SUMS) or (node.code == MUL and code == MUL)
            inner[operand] = same and uses[operand] == 1
    return inner


def _factors(graph: Graph, inner: list[bool], number: int) -> list[int]:
    found: list[int] = []
    waiting = list(reversed(graph.operands(number)))
    while waiting:
        operand = waiting.pop()
        if inner[operand]:
            waiting.extend(reversed(graph.operands(operand)))
        else:
            found.append(operand)
    return found


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


def _copied(builder: GraphBuilder, graph: Graph, node: Node, left: Operand, right: Operand) -> Operand:
    match node.code:
        case 1:
            return builder.add(left, right)
        case 2:
            return builder.sub(left, right)
        case 3:
            return builder.mul(left, right)
        case 4:
            return builder.neg(left)
        case 5:
            return builder.add(left, Constant(graph.constants[node.right]))
    return builder.mul(left, Constant(graph.constants[node.right]))


def _finished(builder: GraphBuilder, graph: Graph, made: list[Operand]) -> Graph:
    names = [str(number) for number in range(len(graph.outputs))]
    line = graph.lines[graph.outputs[0]]
    return builder.finished(checked_outputs([made[o] for o in graph.outputs], names, line))


def improved(graph: Graph) -> Graph:
    """All rewriting, until it finds nothing more to share (three rounds at most)."""
    for _ in range(3):
        new = balanced(rewritten(graph))
        if new.nodes == graph.nodes:
            break
        graph = new
    return graph
