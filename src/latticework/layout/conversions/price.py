"""What a conversion costs: operations on single ciphertexts, counted; a search turns them into time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from latticework.plan.constants import Gather
from latticework.plan.gathers.steps import Places, choose, signed
from latticework.plan.gathers.structure import reached

EXACT = 512  # diagonals up to which every width of baby steps is tried, beyond it powers of two


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
    counts = choose(where, mode="cost" if steps.size <= EXACT else "counts").counts
    return Price(
        counts.hoists + counts.giants, counts.key_switches, counts.mod_downs, counts.products, counts.additions, 1
    )
