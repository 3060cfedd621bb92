"""What a conversion costs: operations on single ciphertexts, counted; a search turns them into time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from math import gcd, log2

import numpy as np

from latticework.plan.constants import Gather
from latticework.plan.gathers.gather import distinct
from latticework.plan.gathers.steps import TYPICAL, Counts, Places, Prices, Split, choose, count, signed
from latticework.plan.gathers.structure import reached

EXACT = 512  # diagonals up to which every width of baby steps is tried


@dataclass(frozen=True, slots=True)
class Weights:
    """What each operation of a Price is worth, in seconds or any one unit.

    level  what losing one level is worth besides the operations: the later bootstrap that it brings nearer
    """

    hoist: float
    rotation: float
    division: float
    product: float
    addition: float
    level: float

    @staticmethod
    def of(parts: Prices, level: float) -> Weights:
        """From what the parts of a block map cost, in the same unit."""
        division = max(parts.giant - parts.hoist - parts.baby, 0.0)
        return Weights(parts.hoist, parts.baby, division, parts.product, parts.addition, level)


@dataclass(frozen=True, slots=True)
class Price:
    """Operations on single ciphertexts.

    hoists     decompositions of a ciphertext, which its rotations share
    rotations  products with a key
    divisions  by the special primes after them (rotations that are summed share one), or by a level's
    products   by public vectors
    additions  and subtractions
    levels     that the value loses
    """

    hoists: int = 0
    rotations: int = 0
    divisions: int = 0
    products: int = 0
    additions: int = 0
    levels: int = 0

    def __add__(self, other: Price) -> Price:
        return Price(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Price)))

    def weighted(self, weights: Weights) -> float:
        """The price in the units of the weights."""
        return float(sum(getattr(self, f.name) * getattr(weights, _WEIGHT[f.name]) for f in fields(Price)))


_WEIGHT = {f.name + "s": f.name for f in fields(Weights)}


@lru_cache(maxsize=1 << 14)
def transform_price(gather: Gather) -> Price:
    """A block linear map by baby steps, shared among the results, and giant steps, shared among the operands."""
    out, in_, steps = reached(gather).T
    if not steps.size:
        return Price(levels=1)
    where = Places(gather.slots, np.zeros_like(out), out, in_, signed(steps, gather.slots))
    counts = choose(where, mode="cost").counts if steps.size <= EXACT else _roughly(where, gather)
    return Price(
        counts.hoists + counts.giants, counts.key_switches, counts.mod_downs, counts.products, counts.additions, 1
    )


def _roughly(where: Places, gather: Gather) -> Counts:
    """The best of three widths, powers of two, about where baby and giant steps cost the same."""
    different = distinct(where.steps)
    unit = gcd(where.slots, *different.tolist())
    share = TYPICAL.giant * gather.count_out * different.size / (TYPICAL.baby * gather.count_in)
    bits = max(round(log2(share) / 2), 1)
    tried = [count(where, Split(min(unit << k, where.slots))) for k in (bits - 1, bits, bits + 1)]
    return min(tried, key=lambda counts: counts.price(TYPICAL))
