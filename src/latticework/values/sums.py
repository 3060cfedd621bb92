"""Sums of floats whose last bits are the same on every Python, so that plans are.

From Python 3.12 on sum() carries the rounding errors of floats along, and from 3.14 on those of complex numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add


def add_up(numbers: Iterable[float]) -> float:
    """Their sum, each rounded as it is added, from the first to the last; 0 of none.

    For what decides on a plan or stands in one; whole numbers, and what is only shown, need no more than sum().
    """
    return reduce(add, numbers, 0)
