"""Features as whole numbers: the grid that is public, and on which trees compare exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.models.trees.leaves import Reals, TreeSplit

MOST_DECIMALS = 9
EXACT = 1 << 50  # decimals up to here are one number of float64 each, told apart in what is divided
STEPS_COUNTED = 16  # in which samples are counted, and
BITS_GAINED = 0.5  # by which a logarithm has to tell them better apart, since it tells the owner one number more
OF_STEP = 1e-3  # how close to decimals samples in float32 have to be


class FeatureGrid:
    """The grid of features' numbers: number q is for features from its place less half a step on, up to the next.

    low, step  (features,), public: the owner makes numbers with them. Where all samples are decimals of so few places
               that each within the range has a number of its own, these are the decimals
    unit       (features,), public: where it is not 0, steps are even in log(1 + (x - low) / unit), for features most of
               whose samples would share a few even steps
    is_whole   (features,): whose samples are whole numbers, each with a number of its own
    """

    def __init__(self, samples: Reals, digits: int) -> None:
        most = (1 << digits) - 1
        self.digits, self.low = digits, samples.min(axis=0)
        reach = samples.max(axis=0) - self.low
        self.is_whole = (samples == np.rint(samples)).all(axis=0) & (reach <= most)
        self._scale = np.array([_scale(column, most) for column in samples.T])  # of decimals; 0: none
        self._scale[self.is_whole] = 1.0
        decimal = self._scale > 0
        self.unit = np.array([0.0 if exact else _unit(c) for c, exact in zip(samples.T, decimal, strict=True)])
        bent = self.unit > 0
        reach[bent] = np.log1p(reach[bent] / self.unit[bent])
        self.step = np.where(reach == 0, 1.0, reach / most)
        self.step[decimal] = 1.0 / self._scale[decimal]
        self.low[decimal] = np.rint(self.low[decimal] * self._scale[decimal]) / self._scale[decimal]

    def numbers(self, x: Reals) -> npt.NDArray[np.int64]:
        """Rows (n, features) as whole numbers from 0 to 2^digits - 1."""
        above = x - self.low
        bent = self.unit > 0
        above[:, bent] = np.log1p(np.maximum(above[:, bent], 0.0) / self.unit[bent])
        made: npt.NDArray[np.int64] = np.rint(above / self.step).clip(0, (1 << self.digits) - 1).astype(np.int64)
        return made

    def least(self, split: TreeSplit, is_single: bool) -> int:
        """The smallest number that is above a threshold, however little.

        is_single  what is compared is rounded to float32 before
        """
        low, step, unit = (float(each[split.feature]) for each in (self.low, self.step, self.unit))
        above = split.threshold - low
        number = int(np.floor((np.log1p(max(above, 0.0) / unit) if unit else above) / step)) - 1
        while not self._is_above(split, number, is_single):
            number += 1
        return number

    def _is_above(self, split: TreeSplit, number: int, is_single: bool) -> bool:
        """Whether the features in the middle of those that have a number are above a threshold."""
        scale, low, step, unit = (float(each[split.feature]) for each in (self._scale, self.low, self.step, self.unit))
        if scale:
            value = (float(np.rint(low * scale)) + number) / scale  # the decimal, and not the closest to a sum
        else:
            value = low + (unit * np.expm1(number * step) if unit else number * step)
        return float(np.float32(value) if is_single else value) > split.threshold


def _unit(column: Reals) -> float:
    """The unit of steps even in a logarithm, where they tell samples much better apart than even ones; else 0."""
    above = column - column.min()
    unit = float(np.median(above))
    if unit == 0.0 or not np.isfinite(above.max() / unit):
        return 0.0
    return unit if _told_apart(np.log1p(above / unit)) - _told_apart(above) >= BITS_GAINED else 0.0


def _told_apart(column: Reals) -> float:
    """Bits that say in which of a few even steps samples lie: their entropy."""
    shares = np.histogram(column, STEPS_COUNTED)[0] / len(column)
    return float(-np.sum(shares * np.log2(shares, where=shares > 0, out=np.zeros_like(shares))))


def _scale(column: Reals, most: int) -> float:
    """The power of ten that makes whole numbers of all samples, as far as float32 tells; 0 without one that fits."""
    for scale in 10.0 ** np.arange(MOST_DECIMALS + 1):
        whole = np.rint(column * scale)
        if np.ptp(whole) > most or np.abs(whole).max() > EXACT:
            return 0.0
        off = np.abs(whole / scale - column)
        if np.all(off <= np.minimum(np.abs(column) * 2.0**-24, OF_STEP / scale)):
            return float(scale)
    return 0.0
