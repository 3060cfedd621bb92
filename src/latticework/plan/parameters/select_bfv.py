"""BFV parameters for one program: the smallest ring and the cheapest primes in which its own code keeps its noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import ceil, inf
from typing import Protocol

from latticework.errors import LayoutError, LevelError, RangeError, UserError
from latticework.plan.parameters.bfv_chain import (
    MAX_LIMBS,
    ChainShape,
    bfv_chain,
    chain_for_depth,
    chain_transforms,
    plain_prime,
    smallest_chain,
)
from latticework.plan.parameters.bfv_noise import Noise, ShapeNoiseModel
from latticework.plan.parameters.bfv_trimming import MARGIN_BITS, trimmed_chain
from latticework.plan.parameters.modulus_chain import ModulusChain
from latticework.plan.parameters.security import modulus_limit_bits
from latticework.plan.parameters.select import MAX_PRIME_BITS, MAX_RING_LOG2

MIN_RING_LOG2 = 12  # below, no secure modulus has room for a product
SLACK_BITS = 3.0  # by which the noise under other special primes may be less than with many primes


class NoisyProgram(Protocol):
    """A program, as the choice of its parameters sees it."""

    @property
    def switches(self) -> int:
        """Instructions that switch keys."""

    @property
    def products(self) -> int:
        """Instructions that multiply ciphertexts."""

    def output_noises(self, chain: ModulusChain, inputs: Mapping[int, Noise] = {}) -> Sequence[Noise]:
        """The noise of every output under a chain.

        inputs  noise of inputs that are no fresh encryptions, by number
        """


class TooNoisyError(LevelError):
    """No ring, or not the one that was asked for, has room for a program's noise."""


def select_bfv(
    code_of: Callable[[ModulusChain], NoisyProgram],
    slots: int,
    *,
    plain_bits: float = 20,
    plain_modulus: int | None = None,
    ring_degree: int | None = None,
    security_bits: int = 128,
    insecure: bool = False,
    without_keys: bool = False,
) -> ModulusChain:
    """The chain in which a program's outputs decrypt, but for a probability of about 2^-117.

    code_of  the program's code for a chain; its operations do not depend on which
    slots    width of its vectors
    plain_bits  of the plaintext modulus, the largest prime below 2^plain_bits
    without_keys  no evaluation key is needed, and there are no special primes for any
    raises   TooNoisyError if there is no such chain; LayoutError if the vectors do not fit; RangeError for a plaintext
             modulus that is none
    """
    degrees = [1 << k for k in range(MIN_RING_LOG2, MAX_RING_LOG2 + 1)] if ring_degree is None else [ring_degree]
    fitting = [degree for degree in degrees if 2 * slots <= degree]
    if not fitting:
        raise LayoutError(
            f"the vectors need {slots} slots, but the two rows of ring_degree={degrees[-1]} have {degrees[-1] // 2} "
            f"each; use ring_degree={2 * slots} or more, or leave it out"
        )
    unlimited = insecure and ring_degree is not None
    code: NoisyProgram | None = None
    without: RangeError | None = None  # of the smallest ring that has no such plaintext modulus
    for degree in fitting:
        if not unlimited and modulus_limit_bits(degree, security_bits) is None:
            continue
        try:
            plain = plain_prime(degree, None if plain_modulus is not None else plain_bits, plain_modulus)
        except RangeError as error:
            without = without or error
            if degree == fitting[-1] or plain_modulus is not None:
                raise without from None
            continue
        roomy = _roomy_chain(degree, plain, security_bits)
        code = code_of(roomy) if code is None else code
        chain = _smallest(code, roomy, security_bits, unlimited, without_keys=without_keys)
        if chain is not None:
            return trimmed_chain(code.output_noises, chain) if without_keys else chain
    size = ceil(plain_bits) if plain_modulus is None else plain_modulus.bit_length()
    where = f"N=2^{MAX_RING_LOG2}, the largest ring," if ring_degree is None else f"ring_degree={ring_degree}"
    larger = "a larger ring_degree, " if ring_degree is not None and ring_degree < 1 << MAX_RING_LOG2 else ""
    raise TooNoisyError(
        f"the noise of this program, with a plaintext modulus of {size} bits, does not fit {where} at "
        f"{security_bits}-bit security; use {larger}a smaller plaintext modulus or fewer products in a row"
    )


@lru_cache(maxsize=64)
def _roomy_chain(degree: int, plain: int, security_bits: int) -> ModulusChain:
    """More primes than any program needs, secure or not: what noise is looked at in first."""
    size = float(MAX_PRIME_BITS)
    return bfv_chain(degree, plain, [size] * MAX_LIMBS, [size] * 2, security_bits=security_bits, insecure=True)


def _smallest(
    code: NoisyProgram, roomy: ModulusChain, security_bits: int, insecure: bool, *, without_keys: bool
) -> ModulusChain | None:
    """Return the smallest chain of the ring of a roomy one: as few primes as there have to be, and the cheapest number
    of special ones."""

    most = spare_bits(code, roomy)  # noise is hardly less where there is less room
    if most < 0:
        return None
    least_bits = ChainShape(roomy).log2_q(roomy.main.top) - most - SLACK_BITS

    def work(chain: ModulusChain) -> int:
        counts = chain_transforms(chain)
        return counts["rotate"] * max(code.switches, 1) + (counts["mul"] - counts["rotate"]) * code.products

    return smallest_chain(
        roomy.ring_degree, roomy.plain_modulus, lambda chain: spare_bits(code, chain) >= 0, work,
        least_bits=least_bits, security_bits=security_bits, insecure=insecure, without_keys=without_keys,
    )  # fmt: skip


def spare_bits(code: NoisyProgram, chain: ModulusChain, noises: Mapping[int, Noise] = {}) -> float:
    """Return bits by which the noise of every output may be larger (negative: by which it is too large).

    noises  of inputs that are no fresh encryptions, by number
    """
    model = ShapeNoiseModel(ChainShape(chain))
    return min(map(model.spare_bits, code.output_noises(chain, noises)), default=inf) - MARGIN_BITS


def check_noise(name: str, code: NoisyProgram, chain: ModulusChain, noises: Mapping[int, Noise]) -> None:
    """LevelError unless a program's outputs decrypt on given parameters.

    noises  of inputs that are no fresh encryptions, by number
    """
    if spare_bits(code, chain, noises) < 0:
        raise LevelError(
            f"{name}: the noise of its inputs and its own does not fit the parameters it was to share "
            f"(N={chain.ring_degree}); compile the circuit whose parameters they are with a larger spare_levels="
        )


def shared_plain_modulus(plain_bits: float, plain_modulus: int | None = None, ring_degree: int | None = None) -> int:
    """The plaintext modulus of a program that has to know it before its ring: the one asked for, or the largest prime
    of `plain_bits` bits that is one for the largest ring that has any.

    raises  UserError of `plain_prime`, for the smallest ring, if none has
    """
    if plain_modulus is not None:
        return plain_modulus
    refused: UserError | None = None
    for degree in reversed(_degrees(ring_degree, MAX_RING_LOG2)):
        try:
            return plain_prime(degree, plain_bits, None)
        except UserError as error:
            refused = error
    assert refused is not None
    raise refused


def chain_of_depth(
    depth: int,
    *,
    plain_bits: float,
    plain_modulus: int | None = None,
    ring_degree: int | None = None,
    largest_log2: int = MAX_RING_LOG2,
    security_bits: int = 128,
    insecure: bool = False,
) -> ModulusChain | None:
    """Return a chain in the first ring that holds `depth` products in a row, for an unknown program; None if none does.

    largest_log2  of the ring degrees that are tried
    """
    for degree in _degrees(ring_degree, largest_log2):
        try:
            plain = plain_prime(degree, None if plain_modulus else plain_bits, plain_modulus)
        except UserError:  # the choice for the program says what is wrong
            continue
        chain = chain_for_depth(depth, degree, plain, security_bits=security_bits, insecure=insecure)
        if chain is not None:
            return chain
    return None


def _degrees(ring_degree: int | None, largest_log2: int) -> list[int]:
    return [ring_degree] if ring_degree else [1 << k for k in range(MIN_RING_LOG2, largest_log2 + 1)]
