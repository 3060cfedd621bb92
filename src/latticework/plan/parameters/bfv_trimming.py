"""BFV chains of programs without evaluation keys, cut to what noise takes: ciphertexts are all that is sent.

Inputs take the whole modulus. Results come down at the end, to the first few primes, of which there are no more than a
rounding there needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil, inf, log2

from latticework.errors import LevelError
from latticework.plan.parameters.bfv_chain import ChainShape, bfv_chain
from latticework.plan.parameters.bfv_noise import Noise, ShapeNoiseModel, add_rounding
from latticework.plan.parameters.modulus_chain import ModulusChain
from latticework.plan.parameters.security import modulus_limit_bits
from latticework.plan.parameters.select import MAX_PRIME_BITS

MARGIN_BITS = 1.0  # of noise, beyond what the model's own margin for rare events and the decryptor's 2 bits ask for
PRIME_SLACK_BITS = 0.05  # by which primes are smaller than what they were looked for at
SCARCE_BITS = 10  # above 2N, below which there are hardly any primes
LEAST_ABOVE = 8  # bits that results have at least above the plaintext modulus
RESULT_SHARE = 1.5  # polynomials that a result of degree 2 sends, over those that its two inputs do

Noises = Callable[[ModulusChain], Sequence[Noise]]  # of all outputs


def trimmed_chain(noises_of: Noises, chain: ModulusChain) -> ModulusChain:
    """The chain with least to send, of smaller primes, in which a program's outputs still decrypt once they came down;
    the same if there is none.

    noises_of  the noise of outputs that did not come down, of degree 2 at most
    """
    shape = ChainShape(chain)
    model = ShapeNoiseModel(shape)
    total = shape.log2_q(chain.main.top) - min(map(model.spare_bits, noises_of(chain))) + MARGIN_BITS
    fitting = [(made, level) for made, level in _cuts(chain, total) if _decrypts(noises_of(made), made, level)]
    return min([*fitting, (chain, chain.main.top)], key=lambda pair: _bits_sent(*pair))[0]


def _cuts(chain: ModulusChain, total: float) -> Iterator[tuple[ModulusChain, int]]:
    """Chains of so many bits or a little more, as far as that is secure, with the level at which their results are."""
    limit = inf if chain.insecure else modulus_limit_bits(chain.ring_degree, chain.security_bits) or 0.0
    for low in range(ceil(log2(chain.plain_modulus)) + LEAST_ABOVE, ceil(total) + 1):
        first = _split(low, chain.ring_degree)
        sizes = [*first, *_split(total - sum(first) + len(first) * PRIME_SLACK_BITS, chain.ring_degree)]
        with suppress(LevelError):
            made = bfv_chain(chain.ring_degree, chain.plain_modulus, sizes, [], security_bits=chain.security_bits)
            if made.log2_qp <= limit:
                yield replace(made, insecure=chain.insecure), len(first) - 1


def _split(bits: float, ring_degree: int) -> list[float]:
    """Sizes of primes with so many bits together or a little more: whole bits, as they are stored, and no fewer than
    those of which there are enough primes; none for no bits."""
    if bits <= 0:
        return []
    count = ceil(bits / MAX_PRIME_BITS)
    each = max(ceil(bits / count + PRIME_SLACK_BITS), (2 * ring_degree).bit_length() - 1 + SCARCE_BITS)
    return [float(min(each, MAX_PRIME_BITS))] * count


def _bits_sent(chain: ModulusChain, level: int) -> float:
    """Bits of a residue as they are stored, of an input and of a result."""
    widths = [prime.bit_length() for prime in chain.primes]
    return sum(widths) + RESULT_SHARE * sum(widths[: level + 1])


def _decrypts(noises: Sequence[Noise], chain: ModulusChain, level: int) -> bool:
    """Whether outputs decrypt at the top, and once they came down to a level."""
    shape = ChainShape(chain)
    model = ShapeNoiseModel(shape)
    by = shape.log2_q(chain.main.top) - shape.log2_q(level)
    divided = [
        replace(n, level=level, variances=tuple(v - 2 * by for v in n.variances), worst=n.worst - by) for n in noises
    ]
    lower = [add_rounding(noise, 2, shape.secret_sum) for noise in divided]
    return min(map(model.spare_bits, (*noises, *lower))) >= MARGIN_BITS
