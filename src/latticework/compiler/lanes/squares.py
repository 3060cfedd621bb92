"""squares: c a a + c b b +- 2 c a b in a sum is c (a +- b)(a +- b), one product instead of three.

Wherever the three terms stand in the sum, and also where they come out of a smaller sum that is multiplied by a public
number. It holds in every commutative ring.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.lanes.lane_graph import ADD, ADD_CONSTANT, MUL, MUL_CONSTANT, NEG, SUB, Graph, Public
from latticework.compiler.lanes.rewrite_rules import SUMS
from latticework.lazy_dataclass import dataclass

MOST = 1 << 53  # of a public number, which floats hold


@dataclass(frozen=True)
class Square:
    """coefficient * (left + right)^2, or of the difference."""

    coefficient: Public
    left: int
    right: int
    is_difference: bool


@dataclass(frozen=True)
class SumOfSquares:
    """A sum of squares, other nodes with their coefficients, and a public number."""

    squares: tuple[Square, ...]
    rest: tuple[tuple[int, Public], ...]
    constant: Public


def complete_squares(graph: Graph, uses: Sequence[int], number: int) -> SumOfSquares | None:
    """The sum that a node is, with squares completed; None where there are none.

    uses  how often each node is read
    """
    terms, constant = _terms(graph, uses, number)
    products = {}  # (a, b) -> place among the terms, coefficient
    for place, (node, coefficient) in enumerate(terms):
        product = _product(graph, uses, node)
        if product is not None:
            products[product[0], product[1]] = place, coefficient * product[2]
    squares: list[Square] = []
    gone: set[int] = set()
    for (a, b), (place, coefficient) in products.items():
        one, other = products.get((a, a)), products.get((b, b))
        if a == b or one is None or other is None or gone & {one[0], other[0]}:
            continue
        if one[1] == other[1] and abs(coefficient) == 2 * abs(one[1]):
            gone |= {place, one[0], other[0]}
            squares.append(Square(one[1], a, b, coefficient != 2 * one[1]))
    rest = tuple(term for place, term in enumerate(terms) if place not in gone)
    if not squares or any(abs(c) > MOST for c in (constant, *(c for _, c in rest), *(s.coefficient for s in squares))):
        return None
    return SumOfSquares(tuple(squares), rest, constant)


def _terms(graph: Graph, uses: Sequence[int], number: int) -> tuple[list[tuple[int, Public]], Public]:
    """Nodes with coefficients, and the public rest, that add up to a node; what has other uses is not taken apart."""
    terms: list[tuple[int, Public]] = []
    constant: Public = 0
    waiting: list[tuple[int, Public]] = [(number, 1)]
    while waiting:
        at, factor = waiting.pop()
        code, left, right = graph.nodes[at]
        if at != number and uses[at] > 1:
            terms.append((at, factor))
        elif code in (ADD, SUB):
            waiting += [(right, factor if code == ADD else -factor), (left, factor)]
        elif code == ADD_CONSTANT:
            constant += factor * graph.constants[right]
            waiting.append((left, factor))
        elif code in (NEG, MUL_CONSTANT):
            waiting.append((left, -factor if code == NEG else factor * graph.constants[right]))
        else:
            terms.append((at, factor))
    return terms, constant


def _product(graph: Graph, uses: Sequence[int], node: int) -> tuple[int, int, Public] | None:
    """The factors of a product that nothing else reads, the smaller number first, and what public number is in it."""
    code, left, right = graph.nodes[node]
    if code != MUL or uses[node] > 1:
        return None
    coefficient: Public = 1
    factors = []
    for factor in (left, right):
        while graph.nodes[factor].code in (NEG, MUL_CONSTANT):
            own = graph.nodes[factor]
            if own.code == NEG and uses[own.left] == 1 and graph.nodes[own.left].code in SUMS:
                break  # a sum that is only a part of its negation
            coefficient *= -1 if own.code == NEG else graph.constants[own.right]
            factor = own.left
        factors.append(factor)
    return min(factors), max(factors), coefficient
