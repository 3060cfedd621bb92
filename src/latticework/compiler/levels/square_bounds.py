"""Bounds of squares that stand for functions, another one for each channel."""

from __future__ import annotations

import numpy as np

from latticework.compiler.levels.abstract_value import AbstractValue, multiply
from latticework.values.packing.channel_square import ChannelSquare

TOLERANCE = 1e-8  # of arguments outside of the ends, which rounding may give


def may_leave(x: AbstractValue, square: ChannelSquare) -> bool:
    """Whether an argument may lie where the square is not known to be close to its functions."""
    least, most = square.ends()
    return bool(np.any(x.low < least - TOLERANCE) or np.any(x.high > most + TOLERANCE))


def bound_square(x: AbstractValue, deviations: float, stands_for: ChannelSquare | None = None) -> AbstractValue:
    """The square of a value; or what it stands for, from which the square is so far: its bias."""
    result = multiply(x, x, deviations, same=True)
    if stands_for is None or not stands_for.error:
        return result
    error = stands_for.spread(stands_for.errors)
    low, high = result.low - error, result.high + error
    return AbstractValue(low, high, result.variance, result.bias + error, result.lineage)
