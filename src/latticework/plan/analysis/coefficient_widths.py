"""Bytes that rounded coefficients of constants take, told from a few of their vectors.

A coefficient of slots v at a scale is at most scale * mean |v|. Constants that gather from the same arrays are alike,
so a few vectors of each such family stand for all of them, with a bit to spare. Where others are larger all the same,
a server keeps fewer of them than it was planned with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from latticework.plan.instructions.value_shapes import WORD_BYTES
from latticework.plan.schema.schema import Plan
from latticework.values.packing.packed_constants import Constant, ConstRef, MapSums, NumberMatrix, slot_vectors

WIDTHS = (2, 3, 4, 5, 6, WORD_BYTES)  # bytes of a coefficient in the core, on a host
WIDTHS_ON_DEVICE = (4, WORD_BYTES)
SAMPLES = 4  # constants of a family, and products of a map
Family = tuple[bool, frozenset[str]]


def width_of(bound: float, widths: Sequence[int] = WIDTHS) -> int:
    """The least bytes that hold all integers up to `bound`, with their sign."""
    return next((width for width in widths if bound < 2.0 ** (8 * width - 1)), WORD_BYTES)


class SlotMeans:
    """Means of |v| over the slots of a plan's constants, by family."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.known: dict[Family, float] = {}

    def bound(self, constant: int) -> float:
        """Return about the most that a coefficient of a constant is at a scale of 1."""
        one = self.plan.constants[constant]
        family = _family(one)
        if family not in self.known:
            self.known[family] = max(self._mean(number) for number in _spread(self.families[family]))
        return 2 * self.known[family] * _factor(one)

    @cached_property
    def families(self) -> dict[Family, list[int]]:
        """Numbers of the constants of each."""
        found = defaultdict[Family, list[int]](list)
        for number, one in enumerate(self.plan.constants):
            if isinstance(one, NumberMatrix):
                continue  # it is not encoded
            found[_family(one)].append(number)
        return found

    def _mean(self, constant: int) -> float:
        """The largest mean among some vectors of a constant, of which its factor is left out."""
        one = self.plan.constants[constant]
        products = _spread(range(len(one.products.values))) if isinstance(one, MapSums) else [None]
        found = [self._vectors_mean(one, product) for product in products]
        return max(found, default=0.0) / (_factor(one) or 1.0)

    def _vectors_mean(self, one: Constant, product: int | None) -> float:
        slots = one.products.values[product].slots if isinstance(one, MapSums) and product is not None else None
        vectors = np.abs(slot_vectors(one, self.plan.sources, product))
        width = slots or (one.slots if isinstance(one, ConstRef) else vectors.size)
        return float(vectors.reshape(-1, width).mean(axis=1).max())


def _family(one: Constant) -> Family:
    return isinstance(one, MapSums), frozenset(one.sources)


def _factor(one: Constant) -> float:
    """Return what a constant is multiplied by, where that is one number."""
    return abs(one.factor) if isinstance(one, ConstRef) and one.plus is None else 1.0


def _spread(items: Sequence[int]) -> list[int]:
    """Some items, as far apart as they can be."""
    step = max(1, len(items) // SAMPLES)
    return list(items[::step][:SAMPLES])
