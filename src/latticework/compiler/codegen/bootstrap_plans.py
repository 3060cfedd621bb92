"""Bootstraps as plans, and what they are predicted to do: precision, noise and failure probability."""

from __future__ import annotations

from functools import lru_cache
from math import log2, sqrt
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from latticework.compiler.codegen.bare_plan import bare_plan
from latticework.compiler.expand import LevelPrices
from latticework.compiler.expand.expand_bootstrap import bootstrap_module
from latticework.compiler.options.techniques import ALONE, Techniques
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.simulate import simulate_slots
from latticework.plan.parameters import BootstrapSet, ModulusChain, bootstrap_chain
from latticework.plan.parameters.bootstrap_chain import failure_log2
from latticework.plan.parameters.bootstrap_noise import BootstrapNoise, BootstrapStep, bits, sine_series, stored_noise
from latticework.plan.parameters.step_noise import tail_deviations
from latticework.plan.schema.schema import Plan

SIMULATED_SLOTS = 1 << 13  # at least: a deviation is then known to one per cent
NARROW = 1 << 10  # slots of vectors that show what does not depend on the width
COARSE = 2.0**24  # by which values are larger where the rounding of matrices is seen best


@dataclass(frozen=True)
class Precision:
    """-log2 of errors of all real and imaginary parts: the root mean square (rms_bits), and the typical largest one.

    worst_bits is the largest of one simulation, and no bound: that of a run may be half a bit larger. An `Estimator`
    bounds it.
    """

    rms_bits: float
    worst_bits: float


class BootstrapForm(TypedDict, total=False):
    """Keywords of `bootstrap_module`, which documents them."""

    real: bool
    iterations: int
    start: int | None
    finer: float
    out: float


def bootstrap_plan(
    chain: ModulusChain,
    slots: int,
    target: int,
    *,
    prices: LevelPrices | None = None,
    techniques: Techniques = ALONE,
    **form: Unpack[BootstrapForm],
) -> Plan:
    """The plan of one bootstrap, as of `bootstrap_module`: slot vectors in [-1, 1], which no tensor describes.

    prices, techniques  by which its linear maps are carried out, as of `generate`
    """
    module = bootstrap_module(chain, slots, target, **form)
    return bare_plan("bootstrap", module, chain, prices=prices, techniques=techniques)


def precision(values: npt.ArrayLike, expected: npt.ArrayLike, *, real: bool = False) -> Precision:
    """Bits of agreement of two slot vectors (of their real parts only, if `real`)."""
    difference = np.asarray(values, dtype=np.complex128) - np.asarray(expected)
    parts = difference.real if real else np.concatenate([difference.real, difference.imag])
    return Precision(-log2(float(np.sqrt(np.mean(parts**2)))), -log2(float(np.max(np.abs(parts)))))


def predict_precision(
    chain: ModulusChain,
    target: int,
    *,
    slots: int | None = None,
    real: bool = False,
    iterations: int = 1,
    seed: int = 0,
) -> Precision:
    """Precision of a bootstrap of uniform random slots by the noise model, for `slots` slots (default: all).

    The plan is run on slot vectors with the noise of every step drawn: a coefficient of standard deviation d is an
    error of d sqrt(slots) / scale on the real part of a slot. What the series leave out, the roundings of constants
    and of matrices, and the integers added by raising are in it as they are in the plan. A second or a few.
    """
    width = slots or chain.slots
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, width) + (0 if real else 1j) * random.uniform(-1, 1, width)
    plan = bootstrap_plan(chain, width, target, real=real, iterations=iterations)
    (y,) = simulate_slots(plan, [x], noise=random)
    return precision(y, x, real=real)


def failure_probability_log2(chain: ModulusChain, *, slots: int | None = None, real: bool = False) -> float:
    """log2 of the probability that a bootstrap gives a wrong slot: see `failure_log2`."""
    return failure_log2(chain, (slots or chain.slots) * (1 if real else 2))


@lru_cache(maxsize=16)
def noise_of(chain: ModulusChain) -> BootstrapNoise:
    """The noise of bootstraps on a chain: stored for the parameter sets that are shipped, measured once for others."""
    return stored_noise(chain) or measure_noise(chain)


def measure_noise(chain: ModulusChain) -> BootstrapNoise:
    """The model of a bootstrap as one step, by simulating the circuit; some three seconds at N = 2^16.

    The target is the lowest, which is the cheapest: none of the numbers depends on it.
    """

    def mean_square(slots: int, value: complex = 0.0, **kind: Any) -> float:
        """Mean square of the noise, for vectors whose slots all hold `value`."""
        draws = range(max(1, SIMULATED_SLOTS // slots))
        errors = [bootstrap_error(chain, np.full(slots, value + 0j), seed=seed, **kind) for seed in draws]
        return float(np.mean(np.square(errors)))

    slots, narrow = chain.slots, min(NARROW, chain.slots // 8)
    assert chain.bootstrap is not None
    share = COARSE ** (1 / chain.bootstrap.stc_levels)
    coarse = mean_square(slots, 1.0, finer=COARSE) - mean_square(slots, 0.0, finer=COARSE)
    weights = sqrt(max(coarse, 0.0) / slots) / share
    # Where the exponential's series is off most, at the ends of the interval, without what the weights add there.
    wide, less = (mean_square(width, 1 + 1j) - 2 * width * weights**2 for width in (slots, narrow))
    rounding = max(wide - less, 0.0) / (slots - narrow)
    fixed = max(less - narrow * rounding, 0.0)  # of little, samples may show less than nothing
    return BootstrapNoise(
        fixed=sqrt(fixed),
        rounding=sqrt(rounding),
        halved=sqrt(max(rounding, (mean_square(slots, out=0.5) - fixed) / slots)),
        second=sqrt(mean_square(slots, iterations=2) / slots),
        weights=weights,
    )


def bootstrap_error(
    chain: ModulusChain, x: npt.NDArray[np.complex128], *, real: bool = False, seed: int = 0, **kind: Any
) -> npt.NDArray[np.float64]:
    """Differences between the parts of a simulated bootstrap of x and what its sine series makes of them.

    kind  target, iterations, finer, out: as of `bootstrap_module`
    """
    plan = bootstrap_plan(chain, x.size, kind.pop("target", 1), real=real, **kind)
    (y,) = simulate_slots(plan, [x], noise=np.random.default_rng(seed))
    assert chain.bootstrap is not None
    parts = [(x.real, y.real)] if real else [(x.real, y.real), (x.imag, y.imag)]
    is_bent = kind.get("iterations", 1) == 1
    return np.concatenate([b - (sine_series(chain.bootstrap, a) if is_bent else a) for a, b in parts])


def bits_of(
    which: ModulusChain | BootstrapSet | str, *, iterations: int = 1, slots: int | None = None, vectors: int = 1
) -> Precision:
    """Precision that a bootstrap of slots in [-1, 1] leaves, by the model; it is the same for all targets, real or not.

    worst_bits  of the largest part of an error, at the deviations that count as a bound, at the end of the interval
    slots       length of the vectors, all of the ring if not given
    vectors     real vectors that one bootstrap holds, 1 or 2
    """
    chain = which if isinstance(which, ModulusChain) else bootstrap_chain(which)
    width, size, scales = slots or chain.slots, sqrt(vectors), chain.main.scales
    end = chain.main.top, scales[-1] / vectors
    step = BootstrapStep.of(chain, noise_of(chain), width, scales[chain.floor], end, iterations)
    deviations = tail_deviations(chain.slots // width)
    deviation, (bias, of_weights) = step.error(np.array([1.0, 0.0]), size, deviations)
    return Precision(bits(float(np.hypot(deviation, bias - of_weights))), bits(deviations * deviation + float(bias)))
