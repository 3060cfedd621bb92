"""Noise of each primitive step, as a bound on the magnitude of a coefficient that holds always.

The counterparts of `plan.parameters.step_noise`, function by function: secrets are ternary, centred binomial errors of
21 pairs are at most 21, rounding is at most 1/2, and nothing is averaged.
"""

from __future__ import annotations

from math import prod

from latticework.plan.parameters.modulus_chain import GAUSSIAN, ModulusChain, digits_at
from latticework.values.sums import add_up

ERROR_BOUND = 21.0
ROUNDING_BOUND = 0.5 + 2.0**-20  # a lift's float sum may round a tie the other way


def secret_sum(chain: ModulusChain) -> float:
    """The largest sum of the magnitudes of the secret's coefficients."""
    if chain.secret_weight:
        return float(chain.secret_weight)
    return chain.ring_degree * (ERROR_BOUND if chain.secret == GAUSSIAN else 1.0)


def encoding() -> float:
    """Rounding of an encoded vector."""
    return ROUNDING_BOUND


def symmetric_encryption() -> float:
    """A fresh encryption under the secret key, encoding included."""
    return ERROR_BOUND + ROUNDING_BOUND


def public_encryption(chain: ModulusChain) -> float:
    """A fresh encryption under the public key, encoding included: e u + e0 + e1 s over the first special prime, if any,
    rounded."""
    n, most = chain.ring_degree, secret_sum(chain)
    return ERROR_BOUND * (1 + n + most) / chain.encryption_divisor + ROUNDING_BOUND * (1 + most) + ROUNDING_BOUND


def mod_down(secret_sum: float, degree: int = 1) -> float:
    """Rounding of a rescale or a division by P: r0 + r1 s (+ r2 s^2)."""
    return ROUNDING_BOUND * add_up(float(secret_sum) ** power for power in range(degree + 1))


def key_product(chain: ModulusChain, level: int, track: int = 0) -> float:
    """Errors of the key, weighted by digits of at most half their modulus, after the division by P."""
    digits = [prod(chain.limb_primes(digit)) for digit in digits_at(chain, level, track)]
    return add_up(chain.ring_degree * ERROR_BOUND * d / 2 for d in digits) / prod(chain.special_at(level, track))
