"""E = e^(2 pi i x) on slots, the first part of EvalMod: it forgets the integers in x.

e^(2 pi i x / 2^r) is a Chebyshev series on [-K, K] whose coefficients are real
at even and imaginary at odd indices; r squarings make it E. Factors are read
into scales, which are computed backwards from the one at which E is wanted.
Source: Jacobi-Anger expansion.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import pi

import numpy as np

from latticework.compiler.expand.paterson_stockmeyer import expand_chebyshev
from latticework.compiler.expand.primitive_builder import Primitives
from latticework.ir import Value
from latticework.plan.parameters.modulus_chain import BootstrapCircuit

_SAMPLES = 512  # of the exponential on the circle: its Fourier coefficients beyond are below 2^-1000


@lru_cache(maxsize=16)
def exponential_coefficients(circuit: BootstrapCircuit) -> tuple[complex, ...]:
    """Chebyshev coefficients of e^(2 pi i K u / 2^r), good for all u in [-1, 1]: 2 i^k J_k(2 pi K / 2^r), half of it
    for k = 0.
    """
    angles = 2 * pi * np.arange(_SAMPLES) / _SAMPLES
    fourier = np.fft.fft(np.exp(2j * pi * circuit.bound / 2**circuit.doublings * np.cos(angles))) / _SAMPLES
    result = [complex(fourier[0].real)]
    for k in range(1, circuit.degree + 1):
        value = 2 * fourier[k]
        result.append(complex(0.0, value.imag) if k % 2 else complex(value.real))
    return tuple(result)


def expand_exponential(
    p: Primitives, x: Value, coefficients: Sequence[complex], level: int, scales: Sequence[float]
) -> Value:
    """E of x / K, at a level of its track.

    coefficients  of the series of e^(2 pi i x / 2^r)
    scales        of E, of its square root, ..., of the series, as of `exponential_scales`: r + 1 of them
    """
    place = level + len(scales) - 1
    value = expand_chebyshev(p, x, coefficients, place, scales[-1])
    for scale in reversed(scales[:-1]):
        place -= 1
        value = p.settle(p.builder.build("ckks.square", [value]), place, scale)
    return value
