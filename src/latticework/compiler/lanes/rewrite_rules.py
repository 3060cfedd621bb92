"""Rules by which one operation of a circuit is replaced, given what makes its operands.

Each holds in every commutative ring, so for exact integers and, up to rounding, for real numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from latticework.compiler.lanes.lane_graph import (
    ADD,
    ADD_CONSTANT,
    MUL,
    MUL_CONSTANT,
    NEG,
    SUB,
    Constant,
    GraphBuilder,
    Node,
    Operand,
)
from latticework.lazy_dataclass import dataclass

SUMS = (ADD, SUB, NEG, ADD_CONSTANT)


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
        """Return the node of an operand; None for a public number."""
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
    if node is None or node.code not in SUMS:
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
