"""Vanishing outputs: 0 but for the rounding of float64; and magnitudes for errors where all outputs are 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.frontend.calibration.calibration_data import Sample, choose_evenly
from latticework.ir import Module, interpret

LOOKED_AT = 2.0**-30  # of the largest number: smaller outputs may be what rounding leaves of a difference
MOVED = 2.0**-50  # by which part inputs are moved: what they determine hardly changes, and what rounding leaves does
CHANGED = 0.25  # of its size: an output that changes by so much is left by rounding
RUNS = 4


def without_rounding(module: Module, samples: Sequence[Sample], magnitudes: Sequence[float]) -> list[float]:
    """Sizes of outputs, those that only rounding keeps from 0 as 0.

    magnitudes  largest |element| of every output on the samples
    """
    largest = max(_largest_input(samples), *magnitudes, 0.0)
    doubtful = [n for n, size in enumerate(magnitudes) if 0.0 < size <= LOOKED_AT * largest]
    if not doubtful:
        return list(magnitudes)
    rng = np.random.default_rng(0)
    changes = np.zeros(len(magnitudes))
    for sample in (samples[i] for i in choose_evenly(len(samples), RUNS)):
        pairs = zip(interpret(module, sample), interpret(module, _perturb_sample(sample, rng)), strict=True)
        changes = np.maximum(changes, [float(np.max(np.abs(b - a), initial=0.0)) for a, b in pairs])
    return [0.0 if n in doubtful and changes[n] > CHANGED * size else size for n, size in enumerate(magnitudes)]


def sizes_to_compare_with(magnitudes: Sequence[float], samples: Sequence[Sample]) -> list[float]:
    """Return the magnitude that errors of every output are relative to.

    That is its largest element in calibration. Of one that is 0 there, it is that of the largest output; of a program
    whose outputs are all 0, the largest number that goes in, or 1 where that is 0 too.
    """
    largest = max(magnitudes, default=0.0) or _largest_input(samples) or 1.0
    return [size or largest for size in magnitudes]


def _largest_input(samples: Sequence[Sample]) -> float:
    given = (value for sample in samples for value in sample.values() if not isinstance(value, int | np.integer))
    return max((float(np.max(np.abs(value), initial=0.0)) for value in given), default=0.0)


def _perturb_sample(sample: Sample, rng: np.random.Generator) -> Sample:
    def perturb(value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.asarray(value * (1.0 + rng.choice([-MOVED, MOVED], np.shape(value))))

    return {name: v if isinstance(v, int | np.integer) else perturb(v) for name, v in sample.items()}
