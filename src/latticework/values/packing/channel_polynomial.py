"""Polynomials of one variable, another one for each channel of a tensor: one operation, with coefficients in vectors.

Channels of a layer take different ranges, and one polynomial for all has to be close to its function on the widest. In
the same basis each can have coefficients of its own: as many products of ciphertexts and as many levels, and products
with public vectors where there were some with numbers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.approximants import Interval, Series
from latticework.values.packing.hashed import HashedOnce
from latticework.values.packing.loop_nests.const_ref import ConstRef
from latticework.values.packing.loop_nests.nest import Access, LoopNest
from latticework.values.packing.pack import FloatArray, IntArray, PackMap
from latticework.values.packing.series import series_at

NOWHERE = -1  # in the place of a channel's number, where no element lies


@dataclass(frozen=True)
class ChannelPolynomial(Series, HashedOnce):
    """Polynomial by channel of tensors or, once their packing is known, of vectors; zero where no element lies.

    table     by channel, coefficients in Chebyshev basis on the interval, lowest degree first, the same number of each
    parts     by channel, (low, high) of arguments mapped to [-1, 1] between which the error holds
    axis      of the tensor along which channels follow one another, counted from the end: -1 is the last
    interval  of all arguments together
    error     largest distance from the function there, of all; 0: it stands for itself
    pack      how the tensor lies in vectors; None: arguments are tensors
    """

    table: tuple[tuple[float, ...], ...]
    parts: tuple[Interval, ...]
    axis: int
    interval: Interval
    error: float = 0.0
    pack: PackMap | None = None

    __hash__ = HashedOnce.__hash__

    @cached_property
    def coefficients(self) -> FloatArray:
        """(degree + 1, channels)."""
        return np.array(self.table).T

    @property
    def degree(self) -> int:  # type: ignore[override]
        """Highest Chebyshev index present."""
        return len(self.table[0]) - 1

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise: a tensor, or vectors (..., slots) or (..., count, slots)."""
        if self.pack is None:
            return series_at(self.to_unit(x), self.coefficients, self.axis)
        return series_at(self.to_unit(x), self.spread(self.coefficients))

    def spread(self, values: FloatArray) -> FloatArray:
        """Numbers (..., channels) as they meet arguments: 0 where no element lies."""
        if self.pack is None:
            return values.reshape(*values.shape, *(1,) * (-self.axis - 1))
        channels = channels_of_slots(self.pack, self.axis)
        slots = np.where(channels == NOWHERE, 0.0, values[..., channels])
        return slots[..., 0, :] if self.pack.count == 1 else slots

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest arguments at which the error holds, as they meet arguments."""
        low, high = self.interval
        units = np.array(self.parts).T
        bounds = self.spread((low + high) / 2 + (high - low) / 2 * units)
        if self.pack is not None:  # nothing is said where no element lies
            free = channels_of_slots(self.pack, self.axis).reshape(bounds.shape[1:]) == NOWHERE
            bounds = np.where(free, np.array([low, high]).reshape(2, *(1,) * free.ndim), bounds)
        return bounds[0], bounds[1]

    def scale_by(self, factor: float) -> ChannelPolynomial:
        """A number times the same."""
        table = tuple(tuple(c * factor for c in row) for row in self.table)
        return replace(self, table=table, error=abs(factor) * self.error)

    def lying(self, pack: PackMap) -> ChannelPolynomial:
        """The same of vectors in which the tensor lies so."""
        return replace(self, pack=pack)


@lru_cache(maxsize=256)
def channels_of_slots(pack: PackMap, axis: int) -> IntArray:
    """(count, slots): the place along an axis, from the end, of each slot's element; NOWHERE where there is none."""
    elements = pack.element_of_slot().reshape(pack.count, pack.slots)
    behind = prod(pack.shape[len(pack.shape) + axis + 1 :])
    result = np.where(elements < 0, NOWHERE, elements // behind % pack.shape[axis])
    result.flags.writeable = False
    return result


def channel_vectors(pack: PackMap, axis: int, source: str) -> ConstRef:
    """Vectors of numbers (channels,), each where the elements of its channel lie.

    source  hash of the array of these numbers
    """
    rank = len(pack.shape)
    whole = tuple(tuple(int(i == j) for j in range(rank)) for i in range(rank))
    read = Access((pack.shape[axis],), (whole[axis],), (0,))
    return ConstRef(LoopNest(pack.shape, pack, Access(pack.shape, whole, (0,) * rank), source, read))
