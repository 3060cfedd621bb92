"""Comparisons for programs: exact on NumPy arrays; of secrets right where they differ by at least a gap.

No polynomial follows a step: within the gap the sign is a number between -1 and 1, and what is computed from it lies
between the two outcomes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.frontend.recording.annotations import Result
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.tracing import Traced, user_line
from latticework.functions.approximation.chebyshev import Interval
from latticework.functions.approximation.real_functions import Function, checked_range, sign_from
from latticework.functions.approximation.sign import check_gap
from latticework.tensor.ops import apply as applying
from latticework.tensor.ops.base import normal_axis


def sign(x: Any, *, gap: float, range: Interval | None = None) -> Result:
    """-1, 0 or 1, elementwise.

    gap     the distance of x from 0 from which on the result is as precise as is asked for. Closer to 0 it lies
            between -1 and 1; calibration data that come so close are refused
    range   (lo, hi) of the values of x; without it, from calibration data
    It spends about as many levels as the bits of range / gap, and half the bits of precision.
    """
    return apply_sign(x, sign_from(float(gap)), range)


def apply_sign(x: Any, function: Function, range: Interval | None = None) -> Result:
    """-1, 0 or 1, by a function that `sign_from` made."""
    with user_line():
        check_gap(function.gap)
        if isinstance(x, Traced):
            return x._tracer.call(applying.trace, x, function, None, range)
        if range is not None:
            checked_range(function, range)
        return np.sign(plain_array(x))


def greater(a: Any, b: Any, *, gap: float, range: Interval | None = None) -> Result:
    """1 where a > b, 0 where a < b, and 1/2 where they are equal, elementwise.

    gap, range   of a - b, as for `sign`
    """
    return 0.5 + 0.5 * sign(a - b, gap=gap, range=range)


def where(bit: Any, a: Any, b: Any) -> Result:
    """a where the bit is 1, b where it is 0: b + bit * (a - b), elementwise, one level.

    bit  secret, as from `greater` (nothing checks that it is 0 or 1), or public
    """
    if not isinstance(bit, Traced):
        bit = plain_array(bit)
    return b + bit * (a - b)


def argmax(x: Any, axis: int = -1, *, gap: float, range: Interval | None = None) -> Result:
    """The place of the largest element along an axis.

    gap     by which the largest is larger than the others
    range   of differences of two elements
    Of n elements it takes n^2 comparisons in one, and a product of n, which spends log2(n) levels.
    """
    with user_line():
        given: Any = x if isinstance(x, Traced) else plain_array(x)
        if not given.shape:
            raise ShapeError("argmax: a number has no axis; give an array")
        place = normal_axis("argmax", axis, len(given.shape))
        check_gap(float(gap))
    if not isinstance(x, Traced):
        return np.argmax(given, axis=place).astype(np.float64)
    rows = np.moveaxis(given, place, -1)
    count = rows.shape[-1]
    itself = 2.0 * gap * np.eye(count)  # every element counts as larger than itself
    wins = greater(rows[..., :, None] - rows[..., None, :] + itself, 0.0, gap=gap, range=range)
    return np.prod(wins, axis=-1) @ np.arange(count, dtype=np.float64)
