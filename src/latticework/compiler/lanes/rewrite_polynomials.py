"""polynomials: what is a polynomial of one number, such as Horner's form, evaluated with fewer products in a row.

A number that several products read is a base. What is made of a base by sums, products with public numbers and products
whose terms do not meet (so that no coefficient is larger than what was written, and nothing cancels) is a polynomial of
it; coefficients are public, or sums of other numbers. Those that something else needs are evaluated by powers of the
base, of which several are shared by all polynomials of that base.
Source: Paterson and Stockmeyer, On the number of nonscalar multiplications (1973); Estrin's form for encrypted
coefficients.
Cost: O(nodes times degree).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

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
    InputGroup,
    Operand,
    Public,
    copy_node,
    finish,
)
from latticework.lazy_dataclass import dataclass

LEAST_DEGREE, MOST_DEGREE = 3, 256
MOST_BLOCK = 32  # coefficients that are added up without a product in between
Coefficient = Mapping[int, Public]  # by node; at -1 the public part


@dataclass(frozen=True)
class NodePolynomial:
    """sum over k of coefficients[k] * base^k."""

    base: int
    coefficients: Mapping[int, Coefficient]

    @property
    def degree(self) -> int:
        """Degree in the base."""
        return max(self.coefficients, default=0)

    @property
    def is_public(self) -> bool:
        """Whether no coefficient is encrypted."""
        return all(set(c) <= {-1} for c in self.coefficients.values())

    def plus(self, other: Mapping[int, Coefficient], factor: Public = 1) -> NodePolynomial:
        """Return the polynomial with other coefficients, times a factor, added."""
        coefficients = {k: dict(c) for k, c in self.coefficients.items()}
        for k, coefficient in other.items():
            own = coefficients.setdefault(k, {})
            for node, value in coefficient.items():
                own[node] = own.get(node, 0) + factor * value
        return _polynomial(self.base, coefficients)

    def times(self, other: NodePolynomial) -> NodePolynomial | None:
        """The product, where one side is public and no two terms meet."""
        one, two = (self, other) if other.is_public else (other, self)
        powers = [a + b for a in one.coefficients for b in two.coefficients]
        if not two.is_public or len(set(powers)) < len(powers) or max(powers, default=0) > MOST_DEGREE:
            return None
        coefficients = {
            a + b: {node: value * by.get(-1, 0) for node, value in c.items()}
            for a, c in one.coefficients.items()
            for b, by in two.coefficients.items()
        }
        return _polynomial(self.base, coefficients)


def shorten_polynomials(graph: Graph) -> Graph:
    """The graph with polynomials evaluated in fewer products in a row, or as deep with fewer products."""
    polynomials_of = _Finder(graph).find_polynomials()
    if not polynomials_of:
        return graph
    depths = graph.depths((MUL,))
    strategies: dict[tuple[object, ...], PolynomialStrategy | None] = {}
    chosen: dict[int, tuple[NodePolynomial, PolynomialStrategy]] = {}
    for polynomials in polynomials_of.values():
        shape = _shape(polynomials, depths)
        if shape not in strategies:
            strategies[shape] = _choose_strategy(graph, polynomials, depths)
        strategy = strategies[shape]
        if strategy is not None:
            chosen |= {node: (polynomial, strategy) for node, polynomial in polynomials.items()}
    if not chosen:
        return graph
    builder = GraphBuilder(graph.groups)
    operands: list[Operand] = []
    for number in range(len(graph.nodes)):
        builder.line = graph.lines[number]
        if number in chosen:
            polynomial, strategy = chosen[number]
            operands.append(_evaluate(builder, polynomial, operands, strategy))
        else:
            operands.append(copy_node(builder, graph, number, operands))
    return finish(builder, graph, operands)


class _Finder:
    """Polynomials of a graph.

    reads  how many products read each node
    used   nodes that are needed as they are
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.reads = Counter(i for n, node in enumerate(graph.nodes) if node.code == MUL for i in graph.operands(n))
        self.polynomials: list[NodePolynomial | None] = []
        self.used = set(graph.ends)

    def find_polynomials(self) -> dict[int, dict[int, NodePolynomial]]:
        """Find, by base, all polynomials of some degree that something else needs."""
        for number in range(len(self.graph.nodes)):
            self.polynomials.append(self._of(number))
        by_base: dict[int, dict[int, NodePolynomial]] = defaultdict(dict)
        for node in sorted(self.used):
            polynomial = self.polynomials[node]
            if polynomial is not None and polynomial.degree >= LEAST_DEGREE:
                by_base[polynomial.base][node] = polynomial
        return by_base

    def _of(self, number: int) -> NodePolynomial | None:
        code, left, right = self.graph.nodes[number]
        is_base = self.reads[number] > 1 and (code == INPUT or not self._is_inner(number))
        if code == INPUT or is_base:
            self.used |= set(self.graph.operands(number))
            return NodePolynomial(number, {1: {-1: 1}}) if is_base else None
        result: NodePolynomial | None
        one = self.polynomials[left]
        if code in (NEG, MUL_CONSTANT, ADD_CONSTANT):
            constant = -1 if code == NEG else self.graph.constants[right]
            result = None
            if one is not None:
                result = one.plus({0: {-1: constant}}) if code == ADD_CONSTANT else _scale(one, constant)
        elif code == MUL:
            result = self._product(left, right)
        else:
            result = self._sum(left, right, 1 if code == ADD else -1)
        if result is None:
            self.used |= set(self.graph.operands(number))
        return result

    def _is_inner(self, number: int) -> bool:
        """Whether a node that several products read is a polynomial of degree two or more, such as a power."""
        code, left, right = self.graph.nodes[number]
        one = self.polynomials[left]
        if code != MUL or one is None:
            return False
        other = self.polynomials[right]
        return other is not None and other.base == one.base and one.times(other) is not None

    def _product(self, left: int, right: int) -> NodePolynomial | None:
        one, other = self.polynomials[left], self.polynomials[right]
        if one is not None and other is not None and one.base == other.base:
            return one.times(other)
        for power, factor in ((left, right), (right, left)):
            own = self.polynomials[power]
            if own is None or len(own.coefficients) > 1 or not own.is_public or not self._yields(factor, own.base):
                continue
            self.used.add(factor)
            ((k, coefficient),) = own.coefficients.items()
            return NodePolynomial(own.base, {k: {factor: coefficient[-1]}})
        return None

    def _yields(self, factor: int, base: int) -> bool:
        """Whether a number is a coefficient where it is multiplied by a power of a base."""
        own = self.polynomials[factor]
        return own is None or (own.base == factor and self.reads[factor] < self.reads[base])

    def _sum(self, left: int, right: int, sign: int) -> NodePolynomial | None:
        one, other = self.polynomials[left], self.polynomials[right]
        if one is not None and other is not None and one.base == other.base:
            return one.plus(other.coefficients, sign)
        if one is not None and one.base != left and (other is None or other.base == right):
            self.used.add(right)
            return one.plus({0: {right: sign}})
        if other is not None and other.base != right and (one is None or one.base == left):
            self.used.add(left)
            return _scale(other, sign).plus({0: {left: 1}})
        return None


def _polynomial(base: int, coefficients: Mapping[int, Coefficient]) -> NodePolynomial:
    """A polynomial without zero coefficients."""
    nonzero = {k: {node: value for node, value in c.items() if value} for k, c in coefficients.items()}
    return NodePolynomial(base, {k: c for k, c in nonzero.items() if c})


def _scale(polynomial: NodePolynomial, factor: Public) -> NodePolynomial:
    return NodePolynomial(polynomial.base, {}).plus(polynomial.coefficients, factor)


# -- evaluation ------------------------------------------------------------------------------


@dataclass(frozen=True)
class PolynomialStrategy:
    """Evaluation strategy of polynomials of one base: blocks of `block` coefficients, joined pairwise or one by one."""

    block: int
    is_binary: bool


def _evaluate(
    builder: GraphBuilder,
    polynomial: NodePolynomial,
    operands: Mapping[int, Operand] | Sequence[Operand],
    strategy: PolynomialStrategy,
) -> Operand:
    """A polynomial by sums of a few powers, and by powers that are further apart."""
    powers: dict[int, Operand] = {1: operands[polynomial.base]}

    def power(n: int) -> Operand:
        if n not in powers:
            low = 1 << ((n - 1).bit_length() - 1)  # the largest power of two below n
            powers[n] = builder.mul(power(low), power(n - low))
        return powers[n]

    def block(first: int) -> Operand:
        terms = [
            _coefficient(builder, polynomial.coefficients.get(first + k, {}), operands) for k in range(strategy.block)
        ]
        total: Operand = Constant(0)
        for k, term in enumerate(terms):
            total = builder.add(total, builder.mul(term, power(k)) if k and term != Constant(0) else term)
        return total

    def join_blocks(first: int, last: int) -> Operand:
        """Blocks from first to last."""
        if last - first == 1:
            return block(first * strategy.block)
        low = 1 << ((last - first - 1).bit_length() - 1) if strategy.is_binary else 1
        above = join_blocks(first + low, last)
        return builder.add(join_blocks(first, first + low), builder.mul(above, power(low * strategy.block)))

    return join_blocks(0, polynomial.degree // strategy.block + 1)


def _coefficient(
    builder: GraphBuilder, coefficient: Coefficient, operands: Mapping[int, Operand] | Sequence[Operand]
) -> Operand:
    total: Operand = Constant(coefficient.get(-1, 0))
    for node, factor in coefficient.items():
        if node >= 0:
            total = builder.add(total, builder.mul(operands[node], Constant(factor)))
    return total


def _choose_strategy(
    graph: Graph, polynomials: Mapping[int, NodePolynomial], depths: Sequence[int]
) -> PolynomialStrategy | None:
    """The strategy of fewest products in a row, then fewest products at all; None if what is there is as good."""
    best = (max(depths[node] for node in polynomials), _num_products(graph, polynomials), 0, 0)
    result = None
    most = max(polynomial.degree for polynomial in polynomials.values())
    for size in range(1, min(most, MOST_BLOCK) + 1):
        for is_binary in (False, True):
            strategy = PolynomialStrategy(size, is_binary)
            price = _price(polynomials, depths, strategy)
            if price < best:
                best, result = price, strategy
    return result


def _num_products(graph: Graph, polynomials: Mapping[int, NodePolynomial]) -> int:
    """Products between a base and the polynomials of it."""
    (base,) = {polynomial.base for polynomial in polynomials.values()}
    outside = {n for p in polynomials.values() for c in p.coefficients.values() for n in c} | {base}
    seen: set[int] = set()
    waiting = list(polynomials)
    while waiting:
        at = waiting.pop()
        if at not in seen and at not in outside:
            seen.add(at)
            waiting.extend(graph.operands(at))
    return sum(graph.nodes[node].code == MUL for node in seen)


def _price(
    polynomials: Mapping[int, NodePolynomial], depths: Sequence[int], strategy: PolynomialStrategy
) -> tuple[int, int, int, int]:
    """Price all polynomials of one base, evaluated by a strategy.

    returns  products in a row, products, both kinds of products in a row, products with public numbers
    """
    inputs = sorted({n for p in polynomials.values() for c in p.coefficients.values() for n in c if n >= 0})
    inputs += sorted({polynomial.base for polynomial in polynomials.values()} - set(inputs))
    builder = GraphBuilder([InputGroup("x", "free", (), tuple(map(str, inputs)))])
    operands: dict[int, Operand] = {node: builder.input(0, i) for i, node in enumerate(inputs)}
    ends = [_evaluate(builder, p, operands, strategy) for p in polynomials.values()]

    def depth(codes: tuple[int, ...]) -> int:
        own = [depths[node] for node in inputs]
        for code, left, right in builder.nodes[len(inputs) :]:
            below = max(own[left], own[right]) if code in (ADD, SUB, MUL) else own[left]
            own.append(below + (code in codes))
        return max((own[end] for end in ends if isinstance(end, int)), default=0)

    codes = [node.code for node in builder.nodes]
    return depth((MUL,)), codes.count(MUL), depth((MUL, MUL_CONSTANT)), codes.count(MUL_CONSTANT)


def _shape(polynomials: Mapping[int, NodePolynomial], depths: Sequence[int]) -> tuple[object, ...]:
    """Equal for polynomials for which the same strategy is best."""
    names: dict[int, int] = {-1: -1}

    def name(node: int) -> tuple[int, int]:
        return names.setdefault(node, len(names)), depths[node] if node >= 0 else 0

    return tuple(
        (name(p.base), depths[node], tuple((k, tuple(map(name, sorted(c)))) for k, c in sorted(p.coefficients.items())))
        for node, p in polynomials.items()
    )
