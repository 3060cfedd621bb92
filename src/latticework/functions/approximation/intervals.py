"""Intervals of numbers, for what values can become: ends are exact while they are small, and infinite beyond."""

from __future__ import annotations

from math import inf

MOST = 1 << 1000  # of whole numbers that are ends; a sum of two such is a finite float still

Public = int | float
Interval = tuple[Public, Public]


def make_interval(low: Public, high: Public) -> Interval:
    """An interval around these ends, of whole numbers of few bits, or infinite to the outside."""
    if not low >= -MOST:
        low = -inf
    if not high <= MOST:
        high = inf
    return min(low, MOST), max(high, -MOST)


def plus(a: Interval, b: Interval) -> Interval:
    """The interval of a sum."""
    return make_interval(a[0] + b[0], a[1] + b[1])


def minus(a: Interval, b: Interval) -> Interval:
    """The interval of a difference."""
    return make_interval(a[0] - b[1], a[1] - b[0])


def times(a: Interval, b: Interval, *, same: bool = False) -> Interval:
    """The interval of a product; `same`: of a number with itself."""
    if same:
        corners = [_product(a[0], a[0]), _product(a[1], a[1]), *([0] if a[0] < 0 < a[1] else [])]
    else:
        corners = [_product(x, y) for x in a for y in b]
    return make_interval(min(corners), max(corners))


def negative(a: Interval) -> Interval:
    """The interval of the opposite."""
    return -a[1], -a[0]


def intersection(a: Interval, b: Interval) -> Interval:
    """The interval of what lies in both."""
    return max(a[0], b[0]), min(a[1], b[1])


def _product(x: Public, y: Public) -> Public:
    if abs(x) < inf and abs(y) < inf:
        return x * y
    return 0 if 0 in (x, y) else inf if (x > 0) == (y > 0) else -inf
