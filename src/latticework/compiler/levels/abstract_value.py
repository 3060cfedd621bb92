"""Abstract values of ciphertexts for inputs anywhere in a box: the interval of every slot, and how far noise moves it.

Noise is a variance and a bias. Variances of independent noises add up; those of noises that may stem from the same
encryption or rounding add up as deviations, which is never too little (Minkowski). A bias bounds what is no noise,
such as the rounding of a constant, and adds up by magnitude.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

Array = npt.NDArray[np.float64]
Source = tuple[int, int]  # number of an encryption or a rounding, and by how many slots it was rotated to the left
Lineage = frozenset[Source] | None  # where noise comes from; None: too many sources to tell
MAX_LINEAGE = 512


@dataclass(frozen=True, slots=True)
class AbstractValue:
    """An array of vectors.

    low, high  lowest and highest exact value of every slot, shape (count, slots)
    variance   of a slot's noise, (count, slots) or (count, 1);  bias  bound on what is off without chance, likewise
    lineage    of every vector
    """

    low: Array
    high: Array
    variance: Array
    bias: Array
    lineage: tuple[Lineage, ...]

    @property
    def size(self) -> Array:
        """Largest magnitude of the exact value of every slot."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def largest_error(self, deviations: float) -> Array:
        """The largest error of each slot, within `deviations` standard deviations of its noise."""
        return deviations * np.sqrt(self.variance) + self.bias


def exactly(low: Array, high: Array) -> AbstractValue:
    """Vectors (count, slots) without noise."""
    nothing = np.zeros((len(low), 1))
    return AbstractValue(low, high, nothing, nothing, (frozenset(),) * len(low))


def add(a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """A sum; one vector meets each of an array."""
    variance = _add_noise(a, b, a.variance, b.variance)
    return AbstractValue(a.low + b.low, a.high + b.high, variance, a.bias + b.bias, unions(a.lineage, b.lineage))


def negate(a: AbstractValue) -> AbstractValue:
    """The same with the other sign."""
    return AbstractValue(-a.high, -a.low, a.variance, a.bias, a.lineage)


def multiply(a: AbstractValue, b: AbstractValue, deviations: float, *, same: bool = False) -> AbstractValue:
    """A product, slot by slot; of a value with itself if `same`. Noise meets noise at `deviations` deviations each."""
    low, high = interval_product((a.low, a.high), (b.low, b.high), same=same)
    size_a, size_b = a.size, b.size
    variance = _add_noise(a, b, size_b**2 * a.variance, size_a**2 * b.variance)
    both = a.variance * b.variance
    off = (
        (size_a * b.bias + size_b * a.bias)
        + a.largest_error(deviations) * b.bias
        + b.largest_error(deviations) * a.bias
    )
    return AbstractValue(low, high, variance + deviations**2 * both, off, unions(a.lineage, b.lineage))


def scale(a: AbstractValue, factor: float) -> AbstractValue:
    """Every slot times a public number."""
    ends = a.low * factor, a.high * factor
    return AbstractValue(np.minimum(*ends), np.maximum(*ends), a.variance * factor**2, a.bias * abs(factor), a.lineage)


def rotate(a: AbstractValue, steps: int) -> AbstractValue:
    """A rotation to the left."""
    slots = a.low.shape[-1]
    low, high, variance, bias = (roll(x, steps) for x in (a.low, a.high, a.variance, a.bias))
    return AbstractValue(low, high, variance, bias, tuple(rotate_lineage(x, steps, slots) for x in a.lineage))


def either(a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """Whatever holds for both: one of them is taken, and which is not known."""
    return AbstractValue(np.minimum(a.low, b.low), np.maximum(a.high, b.high), np.maximum(a.variance, b.variance),
                np.maximum(a.bias, b.bias), unions(a.lineage, b.lineage))  # fmt: skip


def is_within(a: AbstractValue, b: AbstractValue) -> bool:
    """Whether all that a may be, b may be too."""
    return bool(
        np.all(a.low >= b.low)
        and np.all(a.high <= b.high)
        and np.all(a.variance <= b.variance)
        and np.all(a.bias <= b.bias)
    )


def is_finite(a: AbstractValue) -> bool:
    """Whether anything is known."""
    return all(bool(np.isfinite(x).all()) for x in (a.low, a.high, a.variance, a.bias))


def roll(x: Array, steps: int) -> Array:
    """Rotate slots to the left, of an array that may have one number for all."""
    return x if x.shape[-1] == 1 else np.roll(x, -steps, axis=-1)


def interval_product(a: tuple[Array, Array], b: tuple[Array, Array], *, same: bool) -> tuple[Array, Array]:
    """Lowest and highest product; of a square if both are one value."""
    if same:
        squares = a[0] ** 2, a[1] ** 2
        return np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.minimum(*squares)), np.maximum(*squares)
    low = high = a[0] * b[0]
    for corner in (a[0] * b[1], a[1] * b[0], a[1] * b[1]):
        low, high = np.minimum(low, corner), np.maximum(high, corner)
    return low, high


def rotate_lineage(lineage: Lineage, steps: int, slots: int) -> Lineage:
    """Return the sources, rotated."""
    return lineage and frozenset((number, (by + steps) % slots) for number, by in lineage)


def unite(lineages: Sequence[Lineage]) -> Lineage:
    """All sources."""
    union: set[Source] = set()
    for lineage in lineages:
        if lineage is None:
            return None
        union |= lineage
        if len(union) > MAX_LINEAGE:
            return None
    return frozenset(union)


def unions(a: Sequence[Lineage], b: Sequence[Lineage]) -> tuple[Lineage, ...]:
    """Vector by vector, where one meets each of an array."""
    return tuple(unite(pair) for pair in _pair_lineages(a, b))


def are_apart(lineages: Sequence[Lineage]) -> bool:
    """Whether no two share a source, so that their noises are independent."""
    seen: set[Source] = set()
    for lineage in lineages:
        if lineage is None or not seen.isdisjoint(lineage):
            return len(lineages) == 1
        seen |= lineage
    return True


def _pair_lineages(a: Sequence[Lineage], b: Sequence[Lineage]) -> list[tuple[Lineage, Lineage]]:
    count = max(len(a), len(b))
    return [(a[i if len(a) > 1 else 0], b[i if len(b) > 1 else 0]) for i in range(count)]


def _add_noise(a: AbstractValue, b: AbstractValue, from_a: Array, from_b: Array) -> Array:
    """The variance of a sum of two noises, by whether they may be related."""
    apart = np.array(
        [_is_silent(x) or _is_silent(y) or are_apart((x, y)) for x, y in _pair_lineages(a.lineage, b.lineage)]
    )
    return from_a + from_b + np.where(apart[:, None], 0.0, 2.0 * np.sqrt(from_a * from_b))


def _is_silent(lineage: Lineage) -> bool:
    return lineage is not None and not lineage
