"""EvalMod: t / q0 modulo 1 on slots, by the complex exponential and a sine series of two terms.

e^(2 pi i x / 2^r) is a Chebyshev series on [-K, K] whose coefficients are real
at even and imaginary at odd indices; r squarings make it E = e^(2 pi i x). Of
F = E (8 - E) / 6 the imaginary part, (8 sin - sin 2)(2 pi x) / 6, is 2 pi x near
every integer but for (2 pi x)^5 / 30: the cubic error of a lone sine is gone
for one level. All factors are read into scales, which are computed backwards.
Source: Jacobi-Anger expansion; two-term sine series as in Jutla-Manohar (ePrint 2020/1203).
"""

from __future__ import annotations

from functools import lru_cache
from math import pi, prod

import numpy as np

from latticework.compiler.expand.paterson_stockmeyer import expand_chebyshev
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.ir import Value
from latticework.plan.parameters.bootstrap_chain import exponential_scales
from latticework.plan.parameters.modulus_chain import BootstrapCircuit

_SAMPLES = 512  # of the exponential on the circle: its Fourier coefficients beyond are below 2^-1000


@lru_cache(maxsize=16)
def exponential_coefficients(bound: int, doublings: int, degree: int) -> tuple[complex, ...]:
    """Chebyshev coefficients of e^(2 pi i K u / 2^r), u in [-1, 1]: 2 i^k J_k(2 pi K / 2^r), half of it for k = 0."""
    angles = 2 * pi * np.arange(_SAMPLES) / _SAMPLES
    fourier = np.fft.fft(np.exp(2j * pi * bound / 2**doublings * np.cos(angles))) / _SAMPLES
    result = [complex(fourier[0].real)]
    for k in range(1, degree + 1):
        value = 2 * fourier[k]
        result.append(complex(0.0, value.imag) if k % 2 else complex(value.real))
    return tuple(result)


def expand_eval_mod(p: Primitives, x: Value, circuit: BootstrapCircuit, level: int, out_scale: float) -> Value:
    """F of x / K, at a level of its track; `out_scale` is the scale at which (R / 4 pi i) (F - conj F) is wanted."""
    track = cipher(x).level.track
    groups = p.chain.tracks[track].groups[level + 1 : cipher(x).level.index + 1]
    scales = exponential_scales(circuit, out_scale, [prod(p.chain.limb_primes(g)) for g in groups])
    coefficients = exponential_coefficients(circuit.bound, circuit.doublings, circuit.degree)
    place = level + 1 + circuit.doublings
    value = expand_chebyshev(p, x, coefficients, place, scales[-1])
    for scale in reversed(scales[1:-1]):
        place -= 1
        value = p.settle(p.builder.build("ckks.square", [value]), place, scale)
    square = p.builder.build("ckks.square", [value])
    wide = cipher(square).scale
    eightfold = p.mul_int(value, round(8.0 * wide / cipher(value).scale), wide)
    series = p.builder.build("rlwe.sub", [eightfold, square])
    settled = p.settle(series, level, wide / p.group(level + 1, track))
    return p.relabel(settled, scales[0])  # the factor 1/6
