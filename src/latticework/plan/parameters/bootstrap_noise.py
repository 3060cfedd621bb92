"""A bootstrap as one step on the slots of a vector: the identity, a little bent, plus noise.

Each real or imaginary part x, within [-1, 1] where it should be, becomes `sine_series(x)` plus noise. The series is
the same for all bootstraps of a set: it is off by (2 pi / R)^4 x^5 / 30 and less, so an input that overshoots costs
bits, and is a bias, not noise. The noise depends neither on the data nor on the target, nor on whether slots are real,
but on the width of the vector: what divisions round grows with the square root of it. What does not grow are the
roundings while slots are coefficients, and what the exponential's series leaves at the integers that raising adds,
which are drawn. Only what the rounding of the matrices of SlotToCoeff adds depends on the data: it matters where values
of up to 2^k are read as 2^k times smaller, for then each of n matrices has k / n bits less.

The numbers come from simulations of the whole circuit (`codegen.bootstraps.measure_noise`), those of the sets that are
shipped from a file (`tools/measure_bootstrap_noise.py` writes it).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import hypot, inf, log2, pi, sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.bootstrap_chain import MATCHED_BITS, made_scale, matching_integers
from latticework.plan.parameters.fingerprint import fingerprint
from latticework.plan.parameters.modulus_chain import BootstrapCircuit, ModulusChain

MARGIN = 1.1  # over what was measured: deviations are then known to hold for other widths, targets and data
Parts = npt.NDArray[np.float64]
Noise = Callable[[Parts, float], Parts]  # parts with noise of a deviation on top


@dataclass(frozen=True, slots=True)
class BootstrapNoise:
    """Deviations of a real or imaginary part that is read as one in [-1, 1], after bootstraps with one chain.

    fixed     whatever the width
    rounding  by each square root of the number of slots, where the result has the scale of its level
    halved    the same where it has half of it, as results have that hold two vectors
    second    the same after two iterations, where the result has the scale of its level
    weights   what the rounding of matrices adds, for slots of magnitude 1 at the scale of their level
    """

    fixed: float
    rounding: float
    halved: float
    second: float
    weights: float


@dataclass(frozen=True, slots=True)
class BootstrapStep:
    """One bootstrap of a vector.

    slots       length of the vector
    finer       scale of what goes in over that of its level: 2^k for values up to 2^k that are read as so much smaller
    out         the same of what comes out, as it is made
    iterations  2: the error of the first is bootstrapped too
    larger      scale of that error when it is bootstrapped, over the one that x has then
    """

    circuit: BootstrapCircuit
    noise: BootstrapNoise
    slots: int
    finer: float
    out: float
    iterations: int
    larger: float

    @staticmethod
    def of(
        chain: ModulusChain, noise: BootstrapNoise, slots: int, start: float, end: tuple[int, float], iterations: int
    ) -> BootstrapStep:
        """Return the step from a scale at the floor of the main track to a level and a scale above it."""
        assert chain.bootstrap is not None
        scale = made_scale(chain, *end)
        finer, out = start / chain.main.scales[chain.floor], scale / chain.main.scales[end[0]]
        gain = 1 << chain.bootstrap.gain_bits
        larger = matching_integers(start, scale, gain)[0] / gain
        return BootstrapStep(chain.bootstrap, noise, slots, finer, out, iterations, larger)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise that does not depend on the data."""
        if self.iterations == 1:
            return self._first
        by_scale = MARGIN * self.noise.second * sqrt(self.slots) / self.out
        return max(by_scale, self._first / self._gain)

    def error(self, parts: Parts, size: float, deviations: float) -> tuple[float, Parts]:
        """Deviation of the noise, and for each part a bound on what is off without chance.

        parts       largest magnitudes of real or imaginary parts that go in, with their own noise
        size        largest magnitude of a slot that goes in
        deviations  of noise that count as its bound
        """
        off = series_error(self.circuit, parts) + deviations * self._of_weights(size, self.finer)
        if self.iterations == 1:
            return self.deviation, off
        rounding = parts * 2.0**-MATCHED_BITS
        left = self._gain * (off + deviations * self._first + rounding)
        again = series_error(self.circuit, left)
        size = sqrt(2.0) * float(np.max(left, initial=0.0))
        again += deviations * self._of_weights(size, self.finer * self.larger)
        return self.deviation, again / self._gain + rounding

    def value(self, x: Parts, size: float, noisy: Noise) -> Parts:
        """Return the parts after the bootstrap.

        size   largest magnitude of a slot
        noisy  adds noise of a deviation
        """
        first = noisy(sine_series(self.circuit, x), hypot(self._first, self._of_weights(size, self.finer)))
        if self.iterations == 1:
            return first
        left = self._gain * (x - first)
        again = sine_series(self.circuit, left) / self._gain
        size = float(np.max(np.abs(left), initial=0.0))
        of_weights = self._of_weights(size, self.finer * self.larger)
        return noisy(first + again, hypot(self.deviation, of_weights / self._gain))

    @property
    def _gain(self) -> float:
        return 2.0**self.circuit.gain_bits

    @property
    def _first(self) -> float:
        """Deviation of a first iteration; of a result at a larger scale it is a little less."""
        noise = self.noise
        rounding = noise.rounding if self.out >= 1.0 else noise.halved * max(1.0, 0.5 / self.out)
        return MARGIN * hypot(noise.fixed, rounding * sqrt(self.slots))

    def _of_weights(self, size: float, finer: float) -> float:
        """Return the deviation that the rounding of matrices adds, each of which lacks a share of the bits."""
        share: float = finer ** (1 / self.circuit.stc_levels)
        return MARGIN * self.noise.weights * sqrt(self.slots) * share * size


def sine_series(circuit: BootstrapCircuit, x: Parts) -> Parts:
    """R / 2 pi (8 sin - sin 2)(2 pi x / R) / 6: what takes the place of x."""
    angle = 2 * pi / circuit.ratio
    bent: Parts = (8 * np.sin(angle * x) - np.sin(2 * angle * x)) / (6 * angle)
    return bent


def series_error(circuit: BootstrapCircuit, parts: Parts) -> Parts:
    """Return how far the series is off at most for parts up to these.

    Of t - t^5 / 30 + t^7 / 252 - ... each term is below the one before it while t <= 1. Where t may be larger nothing
    is used but that the series itself stays below 3 / 2 of where t is 1: parts wrap around, each by itself.
    """
    angle = 2 * pi / circuit.ratio
    near: Parts = angle**4 * np.minimum(parts, 1 / angle) ** 5 / 30  # of others it would overflow
    return np.where(parts <= 1 / angle, near, parts + 1.5 / angle)


@lru_cache(maxsize=1)
def _load_stored() -> Mapping[str, BootstrapNoise]:
    text = Path(__file__).with_name("bootstrap_noise.json").read_text(encoding="utf-8")
    rows = json.loads(text)["sets"].values()
    return {row.pop("parameters"): BootstrapNoise(**row) for row in rows}


@lru_cache(maxsize=16)
def stored_noise(chain: ModulusChain) -> BootstrapNoise | None:
    """The noise of a chain that is shipped; None for others."""
    return _load_stored().get(fingerprint(chain).hex()) if chain.bootstrap is not None else None


def bits(error: float) -> float:
    """-log2 of an error."""
    return -log2(error) if error else inf
