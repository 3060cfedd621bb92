"""The plaintext modulus and the prices of circuits on integers, before parameters are chosen.

What is right modulo t alone (tables, Fermat's little theorem) is traced for one t; so it is one that every ring could
have, if there is such a prime of the size asked for.
"""

from __future__ import annotations

from functools import cache
from math import inf

from latticework.compiler.options.compile_options import CompileOptions
from latticework.frontend.circuits.integers.integer_arithmetic import Arithmetic, Price
from latticework.plan.cost import bfv_weights
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.select import MAX_RING_LOG2
from latticework.plan.parameters.select_bfv import chain_of_depth, shared_plain_modulus


def exact_arithmetic(options: CompileOptions, shared: ModulusChain | None) -> Arithmetic:
    """Return the arithmetic modulo t for which comparisons and tables of a circuit are made.

    shared  parameters that are those of another circuit
    """
    modulus = (
        shared.plain_modulus
        if shared is not None
        else shared_plain_modulus(options.expert.plain_bits, options.expert.plain_modulus, options.ring_degree)
    )

    @cache
    def chain_of(depth: int) -> ModulusChain | None:
        return shared or _chain(depth, modulus, options)

    def price(depth: int, products: int) -> Price:
        """Return the ring that `depth` products in a row take, then the time of all products there."""
        chain = chain_of(depth + options.expert.spare_levels)
        if chain is None:
            return inf, inf
        return chain.ring_degree, products * bfv_weights(chain, options.costs).mul

    return Arithmetic(modulus, price, _where(options, shared))


def _where(options: CompileOptions, shared: ModulusChain | None) -> str:
    """Name the ring that products in a row have to fit, for messages."""
    if shared is not None:
        return f"N={shared.ring_degree}, whose parameters are shared,"
    ring = f"ring_degree={options.ring_degree}" if options.ring_degree else f"the largest ring, N=2^{MAX_RING_LOG2},"
    spare = f", beside spare_levels={options.expert.spare_levels}" if options.expert.spare_levels else ""
    return f"{ring} at {options.parameters.security_bits}-bit security{spare}"


def exact_weights(depth: int, options: CompileOptions, shared: ModulusChain | None) -> tuple[float, ...] | None:
    """Price vector operations by the cost table, for a chain that holds `depth` products in a row, or None."""
    chain = shared or _chain(depth, options.expert.plain_modulus, options, MAX_RING_LOG2 - 2)
    return None if chain is None else bfv_weights(chain, options.costs)


def _chain(
    depth: int, modulus: int | None, options: CompileOptions, largest_log2: int = MAX_RING_LOG2
) -> ModulusChain | None:
    """Return the chain of the first ring that holds `depth` products in a row; None if none does."""
    return chain_of_depth(
        depth, plain_bits=options.expert.plain_bits, plain_modulus=modulus, ring_degree=options.ring_degree,
        largest_log2=largest_log2, security_bits=options.parameters.security_bits, insecure=options.parameters.insecure,
    )  # fmt: skip
