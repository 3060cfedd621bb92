"""EvalMod: t / q0 modulo 1 on slots, by the complex exponential E and an ending, a function of E that is wanted.

The ending of a bootstrap is the sine series of two terms. Of F = E (8 - E) / 6
the imaginary part, (8 sin - sin 2)(2 pi x) / 6, is 2 pi x near every integer
but for (2 pi x)^5 / 30: the cubic error of a lone sine is gone for one level.
Source: two-term sine series as in Jutla-Manohar (ePrint 2020/1203).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from latticework.compiler.expand.exponential import expand_exponential, exponential_coefficients
from latticework.compiler.expand.near_integers import near_coefficients
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.ir import Value
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.bootstrap_chain import exponential_scales, sine_scales
from latticework.plan.parameters.modulus_chain import BootstrapCircuit


@dataclass(frozen=True, slots=True)
class Ending:
    """A function of E that makes the result of a bootstrap, and what it wants of E.

    levels        that it takes
    coefficients  of a series of the exponential that is good enough for it
    scales        of its value and of the E that it takes, from the scale that is wanted of the bootstrap and the moduli
                  of its levels, ascending
    expand        makes its value of E, at a level and scale
    """

    levels: int
    coefficients: Callable[[BootstrapCircuit], tuple[complex, ...]]
    scales: Callable[[BootstrapCircuit, float, list[int]], tuple[float, float]]
    expand: Callable[[Primitives, Value, int, float], Value]


def _expand_sine(p: Primitives, e: Value, level: int, scale: float) -> Value:
    """F of E; the factor 1/6 is read into the scale."""
    square = p.builder.build("ckks.square", [e])
    wide = cipher(square).scale
    eightfold = p.mul_int(e, round(8.0 * wide / cipher(e).scale), wide)
    series = p.builder.build("rlwe.sub", [eightfold, square])
    settled = p.settle(series, level, wide / p.group(level + 1, cipher(e).level.track))
    return p.relabel(settled, scale)


SINE = Ending(
    1,
    lambda circuit: near_coefficients(circuit) or exponential_coefficients(circuit),
    lambda circuit, out, moduli: sine_scales(circuit, out, moduli[0]),
    _expand_sine,
)


def expand_eval_mod(
    p: Primitives, x: Value, circuit: BootstrapCircuit, level: int, out_scale: float, ending: Ending = SINE
) -> Value:
    """The ending's value for x / K, at a level of its track; `out_scale` is the scale wanted of the bootstrap.

    With the sine series that is the scale at which (R / 4 pi i) (F - conj F) is wanted.
    """
    track = cipher(x).level.track
    groups = p.chain.tracks[track].groups[level + 1 : cipher(x).level.index + 1]
    moduli = [prod(p.chain.limb_primes(g)) for g in groups]
    scale, taken = ending.scales(circuit, out_scale, moduli[: ending.levels])
    scales = exponential_scales(circuit, taken, moduli[ending.levels :])
    e = expand_exponential(p, x, ending.coefficients(circuit), level + ending.levels, scales)
    return ending.expand(p, e, level, scale)
