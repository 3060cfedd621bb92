"""Bootstraps as plans, and what they are predicted to do: precision and failure probability."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import numpy as np
import numpy.typing as npt

from latticework.analysis.simulate import simulate_slots
from latticework.codegen.bare_plan import bare_plan
from latticework.expand.bootstrap import bootstrap_module
from latticework.params import ModulusChain
from latticework.params.bootstrap import failure_log2
from latticework.plan.schema import Plan


@dataclass(frozen=True)
class Precision:
    """-log2 of the root-mean-square and of the largest error over all real and imaginary parts."""

    rms_bits: float
    worst_bits: float


def bootstrap_plan(
    chain: ModulusChain, slots: int, target: int, *, real: bool = False, iterations: int = 1, start: int | None = None
) -> Plan:
    """The plan of one bootstrap: from level `start` (the floor, if not given) to `target` levels above the floor.

    Its input and its output are slot vectors in [-1, 1], which no tensor describes.
    """
    module = bootstrap_module(chain, slots, target, real=real, iterations=iterations, start=start)
    return bare_plan("bootstrap", module, chain)


def precision(found: npt.ArrayLike, expected: npt.ArrayLike, *, real: bool = False) -> Precision:
    """Bits of agreement of two slot vectors (of their real parts only, if `real`)."""
    difference = np.asarray(found, dtype=np.complex128) - np.asarray(expected)
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
