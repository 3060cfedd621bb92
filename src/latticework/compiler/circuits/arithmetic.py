"""The plaintext modulus and the prices of circuits on integers, before parameters are chosen.

What is right modulo t alone (tables, Fermat's little theorem) is traced for one t; so it is one that every ring could
have, if there is such a prime of the size asked for.
"""

from __future__ import annotations

from functools import cache
from math import inf

from latticework.compiler.circuits.options import CircuitOptions
from latticework.cost import bfv_weights
from latticework.errors import UserError
from latticework.frontend.integers.arithmetic import Arithmetic, Price
from latticework.params import ModulusChain
from latticework.params.bfv_chain import chain_for_depth, plain_prime
from latticework.params.select import MAX_RING_LOG2
from latticework.plan.select_bfv import MIN_RING_LOG2


def exact_arithmetic(options: CircuitOptions, shared: ModulusChain | None) -> Arithmetic:
    """What comparisons and tables of a circuit are made for.

    shared  parameters that are those of another circuit
    """
    modulus = _modulus(options) if shared is None else shared.plain_modulus

    @cache
    def chain_of(depth: int) -> ModulusChain | None:
        return shared or _chain(depth, _degrees(options, MAX_RING_LOG2), modulus, options)

    def price(depth: int, products: int) -> Price:
        """The ring that so many products in a row take, then the time of all products there."""
        chain = chain_of(depth + options.spare_levels)
        if chain is None:
            return inf, inf
        return chain.ring_degree, products * bfv_weights(chain, options.costs).mul

    return Arithmetic(modulus, price)


def exact_weights(depth: int, options: CircuitOptions, shared: ModulusChain | None) -> tuple[float, ...] | None:
    """Prices of vector operations by the cost table, for a chain that holds so many products in a row; None if none."""
    chain = shared or _chain(depth, _degrees(options, MAX_RING_LOG2 - 2), None, options)
    return None if chain is None else bfv_weights(chain, options.costs)


def _degrees(options: CircuitOptions, largest: int) -> list[int]:
    return [options.ring_degree] if options.ring_degree else [1 << k for k in range(MIN_RING_LOG2, largest + 1)]


def _chain(depth: int, degrees: list[int], modulus: int | None, options: CircuitOptions) -> ModulusChain | None:
    """Of the first ring that holds so many products in a row."""
    modulus = modulus or options.plain_modulus
    for degree in degrees:
        try:
            plain = plain_prime(degree, None if modulus else options.plain_bits, modulus)
        except UserError:  # the choice of parameters says what is wrong
            continue
        chain = chain_for_depth(depth, degree, plain, security_bits=options.security_bits, insecure=options.insecure)
        if chain is not None:
            return chain
    return None


def _modulus(options: CircuitOptions) -> int:
    """The one asked for, or the largest prime of the size that is one for the largest ring that has any."""
    if options.plain_modulus is not None:
        return options.plain_modulus
    refused: UserError | None = None
    for degree in reversed(_degrees(options, MAX_RING_LOG2)):
        try:
            return plain_prime(degree, options.plain_bits, None)
        except UserError as error:
            refused = error
    assert refused is not None
    raise refused
