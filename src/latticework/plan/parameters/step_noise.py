"""Noise of each primitive step, as the standard deviation of a coefficient.

For uniform ternary secrets (variance 2/3) and centred binomial errors of 21
pairs (variance 10.5). A slot's real part then deviates by sqrt(slots) times as
much, divided by the scale: packing n slots uses the subring of degree 2n, and
only its coefficients are decoded.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, factorial, prod, sqrt

import numpy as np
import numpy.typing as npt

from latticework.plan.parameters.modulus_chain import GAUSSIAN, ModulusChain, digits_at
from latticework.values.packing.embedding import SPARSE_WEIGHT
from latticework.values.sums import add_up

FloatArray = npt.NDArray[np.float64]

ERROR_VARIANCE = 10.5
SECRET_VARIANCE = 2.0 / 3.0
ROUNDING_VARIANCE = 1.0 / 12.0


def secret_variance(chain: ModulusChain) -> float:
    """The mean square of a coefficient of the secret."""
    if chain.secret_weight:
        return chain.secret_weight / chain.ring_degree
    return ERROR_VARIANCE if chain.secret == GAUSSIAN else SECRET_VARIANCE


def encoding() -> float:
    """Rounding of an encoded vector, of real numbers: it is as symmetric as the coefficients, so that no part of it is
    imaginary, and the real part has twice the variance of other noise."""
    return sqrt(2 * ROUNDING_VARIANCE)


def symmetric_encryption() -> float:
    """A fresh encryption under the secret key, encoding included."""
    return sqrt(ERROR_VARIANCE + encoding() ** 2)


def public_encryption(chain: ModulusChain) -> float:
    """A fresh encryption under the public key, encoding included: e u + e0 + e1 s over the first special prime, if any,
    rounded."""
    spread, mask = secret_variance(chain) * chain.ring_degree, SECRET_VARIANCE * chain.ring_degree
    error = ERROR_VARIANCE * (1 + (mask + spread)) / chain.encryption_divisor**2
    return sqrt(error + ROUNDING_VARIANCE * (1 + spread) + encoding() ** 2)


def mod_down(ring_degree: int, degree: int = 1, variance: float = SECRET_VARIANCE) -> float:
    """Rounding of a rescale or a division by P: r0 + r1 s (+ r2 s^2) with each r uniform in [-1/2, 1/2].

    s is all but complex normal at roots of unity (`secret_shares`), so that the mean of |s|^2i is i! times a power.
    """
    spread = variance * ring_degree
    return sqrt(ROUNDING_VARIANCE * add_up(factorial(power) * spread**power for power in range(degree + 1)))


def mod_down_by_slot(ring_degree: int, degree: int, shares: FloatArray) -> FloatArray:
    """The same as each slot sees it, under a secret with these shares: see `secret_shares`."""
    spread = SECRET_VARIANCE * ring_degree * shares
    total: FloatArray = np.sqrt(ROUNDING_VARIANCE * sum(spread**power for power in range(degree + 1)))
    return total


def secret_shares(ring_degree: int, slots: int, random: np.random.Generator) -> FloatArray:
    """|s|^2 in every slot over its mean, for a drawn secret s: the same slots are noisier at every rounding.

    The value of a uniform ternary polynomial at a root of unity is all but complex normal, so its square is
    exponentially distributed; a slot of a narrow vector is the mean of slots of the ring.
    """
    gap = ring_degree // 2 // slots
    return random.standard_gamma(gap, slots) / gap


@lru_cache(maxsize=32)
def tail_deviations(gap: int, deviations: float = 6.0) -> float:
    """Deviations that a slot's error exceeds as rarely as a normal one exceeds `deviations`.

    gap  slots of the ring to one of the vector. Noise that a secret is multiplied with is normal only for one slot and
         one secret: over slots its variance is spread as `secret_shares` says, which leaves a longer tail (that of a
         Laplace distribution where vectors fill the ring)
    """
    size = max(200.0, 40.0 / sqrt(gap))
    shares = np.linspace(0.0, 1.0 + size / sqrt(gap), 20001)[1:]
    log_density = (gap - 1) * np.log(shares) - gap * shares
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    heavy = weights > 1e-25
    pairs = [(float(w), sqrt(2.0 * float(s))) for w, s in zip(weights[heavy], shares[heavy], strict=True)]
    wanted = erfc(deviations / sqrt(2.0))
    low, high = deviations, 4.0 * deviations
    for _ in range(40):
        middle = (low + high) / 2
        exceeded = add_up(w * erfc(middle / spread) for w, spread in pairs)
        low, high = (middle, high) if exceeded > wanted else (low, middle)
    return high


def key_product(chain: ModulusChain, level: int, track: int = 0) -> float:
    """Errors of the key, weighted by uniform digits, after the division by P."""
    digits = [prod(chain.limb_primes(digit)) for digit in digits_at(chain, level, track)]
    special = prod(chain.special_at(level, track))
    variance = add_up(chain.ring_degree * ERROR_VARIANCE * (d / special) ** 2 * ROUNDING_VARIANCE for d in digits)
    return sqrt(variance)


def to_sparse(chain: ModulusChain) -> float:
    """The switch to the sparse secret: one special prime, and rounding under a secret of few coefficients."""
    ratio = chain.modulus(0) / chain.special[0]
    rounding = ROUNDING_VARIANCE * (1 + SPARSE_WEIGHT)
    return sqrt(chain.ring_degree * ERROR_VARIANCE * ratio**2 * ROUNDING_VARIANCE + rounding)


def mod_raise(chain: ModulusChain, factor: int, level: int, track: int) -> float:
    """The switch back to the main secret: one digit, uniform modulo q0 and then multiplied by `factor`."""
    ratio = chain.modulus(0) * factor / prod(chain.special_at(level, track))
    return sqrt(chain.ring_degree * ERROR_VARIANCE * ratio**2 * ROUNDING_VARIANCE)
