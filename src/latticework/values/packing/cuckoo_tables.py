"""Sets in bins of one number each (cuckoo hashing): a number may lie in one bin of each of three tables.

Whoever looks for a number looks into its three bins; a set in such bins meets another set whose numbers lie in all of
their bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, inf, lgamma, log

import numpy as np

from latticework.values.packing.number_hashes import IntArray, hash_numbers

TABLES = 3


def bins_of(numbers: Iterable[int], width: int) -> IntArray:
    """The bins of each number, (numbers, 3): one in each table of this width, and tables come after each other."""
    return hash_numbers(numbers, TABLES) % width + np.arange(TABLES) * width


def fill_bins(numbers: Sequence[int] | IntArray, width: int) -> IntArray | None:
    """Lay different numbers out: the place among them of what lies in each bin, -1 where it is empty; None: it fails.

    A number that finds its bins taken moves the others on, along the shortest path to an empty one: where there is a
    way to lay all out, it is found.
    """
    bins = bins_of(numbers, width).tolist()
    holders = [-1] * (TABLES * width)
    for number, waiting in enumerate(map(list, bins)):
        came_from = dict.fromkeys(waiting, -1)
        for place in waiting:  # which grows on the way
            if holders[place] < 0:
                break
            for other in bins[holders[place]]:
                if other not in came_from:
                    came_from[other] = place
                    waiting.append(other)
        else:
            return None
        while came_from[place] >= 0:
            holders[place], place = holders[came_from[place]], came_from[place]
        holders[place] = number
    return np.array(holders, dtype=np.int64)


def log2_of_failure(size: int, width: int) -> float:
    """A bound on log2 of the probability that not all of so many numbers, chosen without a look at their hashes, find
    a bin in tables of this width.

    By Hall's theorem some s of them then have all their bins among s - 1: a, b and c of the three tables. The bound
    adds up the probabilities of that over all s, all numbers and all bins, and takes those of unequal a, b and c as
    large as of equal ones, which they are not.
    """
    if size > TABLES * width:
        return 0.0
    total = -inf
    for count in range(TABLES + 1, size + 1):
        share = (count - 1) / TABLES
        splits = (count - 2) * (count - 3) / 2
        term = (
            log(splits) + _log_choices(size, count) + TABLES * (_log_choices(width, share) + count * log(share / width))
        )
        high, low = max(total, term), min(total, term)
        total = high + log(1.0 + exp(low - high))
    return min(0.0, total / log(2.0))


def _log_choices(items: int, chosen: float) -> float:
    """The logarithm of a binomial coefficient, also between whole numbers."""
    return lgamma(items + 1) - lgamma(chosen + 1) - lgamma(items - chosen + 1)
