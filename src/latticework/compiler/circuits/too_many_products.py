"""Circuits on integers with more products in a row than any ring has room for, and which lines these are."""

from __future__ import annotations

from latticework.compiler.circuits.circuit_pipeline import Scalars
from latticework.compiler.lanes.lane_graph import MUL, Graph
from latticework.compiler.levels import Spent
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.too_deep import list_lines, unrolled_loop
from latticework.errors import LevelError, UserError
from latticework.errors.remedies import REMEDIES
from latticework.frontend import Circuit
from latticework.frontend.circuits.integers.integer_arithmetic import Arithmetic
from latticework.ir import Loc
from latticework.plan.parameters import MAX_RING_LOG2, modulus_limit_bits
from latticework.plan.parameters.bfv_chain import MAX_LIMBS, plain_prime
from latticework.plan.parameters.bfv_noise import least_product_bits
from latticework.plan.parameters.select import MAX_PRIME_BITS
from latticework.plan.parameters.select_bfv import MIN_RING_LOG2, TooNoisyError


def check_products(circuit: Circuit, scalars: Scalars, arithmetic: Arithmetic, options: CompileOptions) -> None:
    """LevelError, before anything is searched, for products in a row whose noise no modulus that is secure can hold."""
    depth = min(graph.depth((MUL,)) for graph in (scalars.written, scalars.graph)) + options.expert.spare_levels
    rings = [1 << k for k in range(MIN_RING_LOG2, MAX_RING_LOG2 + 1)]
    if not any(_may_hold(depth, ring, options) for ring in ([options.ring_degree] if options.ring_degree else rings)):
        raise too_many_products(circuit, scalars.graph, arithmetic)


def too_many_products(
    circuit: Circuit, graph: Graph, arithmetic: Arithmetic, error: TooNoisyError | None = None
) -> LevelError:
    """The error for the user, at the loop or the line that has most of the products in a row.

    error  by the choice of parameters for the circuit's own code, if it came that far: noise is not of products alone
    """
    lines = _lines(graph)
    depth, held = graph.depth((MUL,)), arithmetic.most_products
    loop = unrolled_loop(lines, depth, held)
    remedies = [
        *loop.remedies, "use a smaller plaintext modulus (plain_bits)", REMEDIES["depth"].circuit,
    ]  # fmt: skip
    if error is not None and depth <= held:
        among = f": products in a row are in {list_lines(lines)}" if lines else ""
        return LevelError(f"circuit {circuit.name}: {error.message}{among}", at=lines[0].loc if lines else circuit.loc)
    return LevelError(
        f"circuit {circuit.name} multiplies encrypted numbers {depth} times one after another; {arithmetic.where} has "
        f"room for about {held} products in a row with a plaintext modulus of {arithmetic.modulus.bit_length()} bits. "
        f"They are in {list_lines(lines)}{loop.said}: {', or '.join(remedies)}",
        at=loop.at or (lines[0].loc if lines else circuit.loc),
    )


def _may_hold(depth: int, ring: int, options: CompileOptions) -> bool:
    """Whether what noise cannot be without leaves room in the largest modulus of a ring."""
    limit = modulus_limit_bits(ring, options.parameters.security_bits)
    unlimited = options.parameters.insecure and options.ring_degree is not None
    most = MAX_LIMBS * MAX_PRIME_BITS if unlimited else min(limit or 0, MAX_LIMBS * MAX_PRIME_BITS)
    try:
        plain = plain_prime(
            ring, None if options.expert.plain_modulus else options.expert.plain_bits, options.expert.plain_modulus
        )
    except UserError:  # the choice of parameters says what is wrong
        return True
    return least_product_bits(depth, ring, plain) <= most


def _lines(graph: Graph) -> list[Spent]:
    """Lines with products on a path that has most of them, those with most first."""
    depths = graph.depths((MUL,))
    node = max(graph.ends, key=lambda end: depths[end], default=None)
    counts: dict[Loc, int] = {}
    while node is not None:
        if graph.nodes[node].code == MUL:
            line = graph.lines[node]
            line = Loc(line.file, line.line, line.text)
            counts[line] = counts.get(line, 0) + 1
        node = max(graph.operands(node), key=lambda operand: depths[operand], default=None)
    return [Spent(line, n, n, 0) for line, n in sorted(counts.items(), key=lambda item: -item[1])]
