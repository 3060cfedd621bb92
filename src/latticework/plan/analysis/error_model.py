"""Static bounds on how far a ciphertext's slots lie from the exact values, carried from step to step.

A `Bound` says two things: the standard deviation to expect (average case) and what cannot be exceeded whatever the
randomness was (worst case), both of a slot. Errors that come from the same encryption add up linearly, others in
quadrature; which encryptions an error comes from, and by how many slots it was rotated since, is its lineage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import exp2, hypot, inf, isfinite, log2, pi, sin, sqrt

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain, step_noise, worst_noise
from latticework.plan.parameters.bootstrap_noise import BootstrapStep

RARE_DEVIATIONS = 64.0  # exceeded with a probability below 2^-130 by a Laplace distribution, the longest tail of noise
MAX_LINEAGE = 512  # sources told apart; an error of more is a mixture, taken as independent of every other
MOST_BITS = 1000.0  # of numbers that are not taken for infinite
Source = tuple[int, int, bool]  # number of the encryption, slots rotated to the left, conjugated


@dataclass(frozen=True, slots=True)
class Bound:
    """Magnitude and error of a slot vector.

    peak     bound on the magnitude of a slot's exact value
    rms      root mean square of the slots' magnitudes
    average  standard deviation of the real part of a slot's error, to be expected; infinite where values as large as
             `rms` may wrap around the modulus
    worst    bound on the magnitude of a slot's error; infinite where values as large as `peak` may wrap around
    lineage  encryptions that the error comes from; None: too many to tell
    """

    peak: float
    rms: float
    average: float = 0.0
    worst: float = 0.0
    lineage: frozenset[Source] | None = frozenset()

    @property
    def precision_bits(self) -> float:
        """-log2 of the average error."""
        return -log2(self.average) if self.average else float("inf")

    @property
    def worst_bits(self) -> float:
        """-log2 of the worst error."""
        return -log2(self.worst) if self.worst else float("inf")

    def with_error(self, average: float, worst: float) -> Bound:
        """Another, independent error on top."""
        return replace(self, average=hypot(self.average, average), worst=self.worst + worst)

    def times(self, factor: float) -> Bound:
        """Return the bound of the value and its error, scaled."""
        peak, rms, average, worst = (
            _product(size, abs(factor)) for size in (self.peak, self.rms, self.average, self.worst)
        )
        return replace(self, peak=peak, rms=rms, average=average, worst=worst)

    def turned(self, steps: int, slots: int, *, conjugated: bool = False) -> Bound:
        """Return the bound after a rotation to the left, or a conjugation."""
        if self.lineage is None:
            return self
        return replace(
            self, lineage=frozenset((n, (turn + steps) % slots, c != conjugated) for n, turn, c in self.lineage)
        )


def fit(a: Bound, modulus: int, scale: float) -> Bound:
    """Return a bound where coefficients wrap around at half of a modulus: infinite where they may reach it.

    No coefficient is larger than the largest slot times the scale, nor than the root mean square of the slots.
    """
    most = exp2(min(log2(modulus) - 1 - log2(scale), MOST_BITS))
    average = a.average if a.rms + a.average < most else inf
    return replace(a, average=average, worst=a.worst if a.peak + a.worst < most else inf)


class ErrorModel:
    """The effect of each primitive step on a bound, by the noise of one chain."""

    def __init__(self, chain: ModulusChain) -> None:
        self.chain = chain
        self._encryptions = 0

    def fresh(self, peak: float, rms: float, slots: int, scale: float, *, public_key: bool = False) -> Bound:
        """Bound an encryption of values of this magnitude."""
        average = step_noise.public_encryption(self.chain) if public_key else step_noise.symmetric_encryption()
        worst = worst_noise.public_encryption(self.chain) if public_key else worst_noise.symmetric_encryption()
        self._encryptions += 1
        exact = Bound(peak, rms, lineage=frozenset([(self._encryptions, 0, False)]))
        return _noisy(exact, average, worst, slots, scale)

    def encode(self, peak: float, rms: float, slots: int, scale: float) -> Bound:
        """Bound a public vector as the encoder rounds it."""
        return _noisy(Bound(peak, rms), step_noise.encoding(), worst_noise.encoding(), slots, scale)

    def add(self, a: Bound, b: Bound) -> Bound:
        """Bound a sum or a difference."""
        related = _add_related(a, b)
        return Bound(
            a.peak + b.peak,
            a.rms + b.rms if related else hypot(a.rms, b.rms),
            a.average + b.average if related else hypot(a.average, b.average),
            a.worst + b.worst,
            _join(a, b),
        )

    def mul(self, a: Bound, b: Bound) -> Bound:
        """A product, slot by slot; of ciphertexts, or with a public vector."""
        from_a, from_b = _product(a.average, b.rms), _product(b.average, a.rms)
        both = _product(a.average, b.average)
        return Bound(
            _product(a.peak, b.peak),
            _product(a.rms, b.rms),
            hypot(from_a + from_b if _add_related(a, b) else hypot(from_a, from_b), both),
            _product(a.worst, b.peak) + _product(b.worst, a.peak) + _product(a.worst, b.worst),
            _join(a, b),
        )

    def multiply_matrix(
        self, matrix: npt.NDArray[np.float64], rounding: npt.NDArray[np.float64], a: Sequence[Bound]
    ) -> tuple[Bound, ...]:
        """Bound the products of a public matrix (rows, vectors) and an array, its numbers off by `rounding`."""
        sizes, off = np.abs(matrix), np.abs(rounding)
        is_related = _any_related(a)
        lineage = reduce(_join_lineages, [one.lineage for one in a])

        def total(weights: npt.NDArray[np.float64], of: Sequence[float], *, linear: bool) -> npt.NDArray[np.float64]:
            terms = np.where(weights > 0, weights * np.where(weights > 0, np.array(of), 0.0), 0.0)
            sums: npt.NDArray[np.float64] = terms.sum(axis=1) if linear else np.sqrt((terms**2).sum(axis=1))
            return sums

        peaks, rms = [one.peak for one in a], [one.rms for one in a]
        worst = total(sizes + off, [one.worst for one in a], linear=True) + total(off, peaks, linear=True)
        average = np.hypot(
            total(sizes + off, [one.average for one in a], linear=is_related), total(off, rms, linear=is_related)
        )
        of_rows = zip(
            total(sizes, peaks, linear=True).tolist(),
            total(sizes, rms, linear=is_related).tolist(),
            average.tolist(),
            worst.tolist(),
            strict=True,
        )
        return tuple([Bound(peak, mean, usual, most, lineage) for peak, mean, usual, most in of_rows])

    def key_product(self, a: Bound, slots: int, scale: float, level: int, track: int = 0) -> Bound:
        """Add the noise of a key, over QP."""
        average = step_noise.key_product(self.chain, level, track)
        return _noisy(a, average, worst_noise.key_product(self.chain, level, track), slots, scale)

    def mod_down(self, a: Bound, slots: int, scale: float, degree: int = 1) -> Bound:
        """The rounding of a rescale or a division by P; `scale` is that of the result."""
        average = step_noise.mod_down(self.chain.ring_degree, degree, step_noise.secret_variance(self.chain))
        return _noisy(a, average, worst_noise.mod_down(worst_noise.secret_sum(self.chain), degree), slots, scale)

    def key_switch(self, a: Bound, slots: int, scale: float, level: int, track: int = 0) -> Bound:
        """A key product and the division by P after it: rotate, conjugate, relinearize."""
        return self.mod_down(self.key_product(a, slots, scale, level, track), slots, scale)

    def bootstrap(self, a: Bound, step: BootstrapStep) -> Bound:
        """The noise of a bootstrap, and what its series is off by; the worst case leaves out what is rarer
        than 2^-128."""
        if not isfinite(a.worst):
            return replace(a, average=inf)
        deviation = step.deviation
        usual, most = (
            float(step.error(np.array([reach]), sqrt(2.0) * reach, deviations)[1][0])
            for reach, deviations in ((a.peak + a.average, 1.0), (a.peak + a.worst, RARE_DEVIATIONS))
        )
        return a.with_error(hypot(deviation, usual), RARE_DEVIATIONS * deviation + most)

    def relabel(self, a: Bound, have: float, stated: float) -> Bound:
        """A value whose scale is `have` taken for one of scale `stated`, as a sum of the two does."""
        off = abs(have / stated - 1.0)
        average = hypot(a.average, _product(off, a.rms))
        return replace(a, average=average, worst=a.worst + _product(off, a.peak + a.worst))


def _noisy(a: Bound, average: float, worst: float, slots: int, scale: float) -> Bound:
    """Coefficient noise as slot noise: a vector of n slots has the 2n coefficients of a subring.

    A slot is their sum with unit vectors, up to signs at multiples of pi / 2n: with coefficients in [-1, 1] at most
    1 / sin(pi / 4n), about 2 / pi of their count.
    """
    return a.with_error(average * sqrt(slots) / scale, worst / sin(pi / (4 * slots)) / scale)


def _product(a: float, b: float) -> float:
    """Return a * b, where nothing times something without a bound is nothing."""
    return a * b if a and b else 0.0


def _add_related(a: Bound, b: Bound) -> bool:
    if a is b:
        return True
    if a.lineage is None or b.lineage is None:
        return False
    if not a.lineage.isdisjoint(b.lineage):
        return True
    conjugated = {(n, turn, not c) for n, turn, c in a.lineage}  # real parts of both are the same
    return not conjugated.isdisjoint(b.lineage)


def _any_related(bounds: Sequence[Bound]) -> bool:
    """Whether two of several bounds are related, as `_add_related` says."""
    known = [{(n, turn) for n, turn, _ in one.lineage} for one in bounds if one.lineage is not None]
    return len(set().union(*known)) < sum(map(len, known)) or len(set(map(id, bounds))) < len(bounds)


def _join(a: Bound, b: Bound) -> frozenset[Source] | None:
    return _join_lineages(a.lineage, b.lineage)


def _join_lineages(a: frozenset[Source] | None, b: frozenset[Source] | None) -> frozenset[Source] | None:
    if a is None or b is None:
        return None
    lineage = a | b
    return lineage if len(lineage) <= MAX_LINEAGE else None
