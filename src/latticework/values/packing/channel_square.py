"""Parabolas of one variable, another one for each channel of a tensor, as one square between public maps.

a (z + v)^2 + c is the square of r (z + v), times a / r^2, plus c: where public maps stand before and after, they take
these constants in, and all channels together are one product of a ciphertext with itself, on one level.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.approximants import Approximant, Interval
from latticework.values.packing.channel_polynomial import NOWHERE, ChannelPolynomial, channels_of_slots
from latticework.values.packing.hashed import HashedOnce
from latticework.values.packing.pack import FloatArray, PackMap

UNIT = (-1.0, 1.0)
FILLED = 4.0  # arguments of the square go up to it: weights before are larger, and those after 16 times smaller, than
# for 1, about as large as each other in networks, so that all are rounded to as many bits
FLATTEST = 2.0**-20  # of that, which they fill at least: what they are can be told from them
MOST_BESIDE = 2.0**8  # times the largest square, that the constants added are at most: they may be added to squares
MOST_OFF = 4.0  # times the largest square, that parabolas are off at most: functions are not far larger than squares


@dataclass(frozen=True)
class Parabolas(ChannelPolynomial):
    """Parabolas by channel whose constants go into public maps beside them.

    errors  largest distance from the function, of each
    """

    errors: tuple[float, ...] = ()

    __hash__ = HashedOnce.__hash__

    def scale_by(self, factor: float) -> Parabolas:
        """A number times the same."""
        scaled = super().scale_by(factor)
        assert isinstance(scaled, Parabolas)
        return replace(scaled, errors=tuple(abs(factor) * each for each in self.errors))

    def square(self) -> ChannelSquare:
        """The square, which takes arguments up to `FILLED` where the errors hold."""
        constant, linear, twice = self.coefficients
        square, constant = 2.0 * twice, constant - twice
        low, high = np.array(self.parts).T
        is_bent = square != 0.0
        vertex = np.where(is_bent, -linear / np.where(is_bent, 2.0 * square, 1.0), (low + high) / 2)
        reach = np.maximum(np.abs(low - vertex), np.abs(high - vertex))
        reach = np.where(reach > 0.0, reach, 1.0)
        sizes, errors = np.abs(square) * reach**2, np.array(self.errors)
        least = FLATTEST**2 * np.max(sizes) or 1.0
        beside = constant - square * vertex**2
        whole = np.maximum.reduce([sizes, errors / MOST_OFF, np.abs(beside) / MOST_BESIDE, np.full_like(sizes, least)])
        by = FILLED * np.maximum(np.sqrt(sizes / whole), FLATTEST) / reach
        factors = whole / FILLED**2
        half, middle = (self.interval[1] - self.interval[0]) / 2, (self.interval[0] + self.interval[1]) / 2
        parts = np.stack([by * (low - vertex), by * (high - vertex)], axis=1)
        errors = errors / factors + (FILLED * FLATTEST) ** 2  # the square of what has no bend
        return ChannelSquare(
            scales=_tuple(by / half),
            offsets=_tuple(-by * (vertex + middle / half)),
            factors=_tuple(np.where(square < 0.0, -factors, factors)),
            constants=_tuple(beside),
            parts=tuple((low, high) for low, high in parts.tolist()),
            axis=self.axis,
            errors=_tuple(errors) if self.error else (),
        )


@dataclass(frozen=True)
class ChannelSquare(Approximant, HashedOnce):
    """The square of arguments, which is close to a function of another kind for each channel.

    scales, offsets     by channel: times the one and plus the other, a function's argument is that of the square
    factors, constants  by channel, that bring the square to the function's value in the same way
    parts     by channel, (low, high) of the square's arguments between which the error holds
    axis      of the tensor along which channels follow one another, counted from the end: -1 is the last
    errors    by channel, largest distance from the function so brought to squares; (): it stands for itself
    pack      how the tensor lies in vectors; None: arguments are tensors
    """

    scales: tuple[float, ...]
    offsets: tuple[float, ...]
    factors: tuple[float, ...]
    constants: tuple[float, ...]
    parts: tuple[Interval, ...]
    axis: int
    errors: tuple[float, ...] = ()
    pack: PackMap | None = None

    __hash__ = HashedOnce.__hash__
    interval = UNIT  # arguments are taken as they are
    degree = 2
    depth = 1
    products = 1

    @property
    def error(self) -> float:  # type: ignore[override]
        """The largest of the errors."""
        return max(self.errors, default=0.0)

    @property
    def arguments(self) -> Interval | None:
        """Any number."""
        return None

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise."""
        return np.square(np.asarray(x, dtype=np.float64))

    def over(self, interval: Interval) -> ChannelSquare:
        """The same: what arguments are mapped from does not matter to [-1, 1]."""
        assert interval == UNIT
        return self

    def spread(self, values: npt.ArrayLike, elsewhere: float = 0.0) -> FloatArray:
        """Numbers (channels,) as they meet arguments, and one where no element lies."""
        numbers = np.asarray(values, dtype=np.float64)
        if self.pack is None:
            return numbers.reshape(-1, *(1,) * (-self.axis - 1))
        channels = channels_of_slots(self.pack, self.axis)
        slots = np.where(channels == NOWHERE, elsewhere, numbers[channels])
        return np.asarray(slots[0] if self.pack.count == 1 else slots)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest arguments at which the error holds, as they meet arguments; any where no element lies."""
        low, high = np.array(self.parts).T
        return self.spread(low, -np.inf), self.spread(high, np.inf)

    def function_arguments(self, x: FloatArray) -> FloatArray:
        """Arguments of the function for those of the square."""
        return np.asarray((x - self.spread(self.offsets)) / self.spread(self.scales))

    def from_values(self, values: FloatArray) -> FloatArray:
        """The squares that give these values of the function."""
        return np.asarray((values - self.spread(self.constants)) / self.spread(self.factors))

    def lying(self, pack: PackMap) -> ChannelSquare:
        """The same of vectors in which the tensor lies so."""
        return replace(self, pack=pack)


def _tuple(numbers: FloatArray) -> tuple[float, ...]:
    return tuple(numbers.tolist())
