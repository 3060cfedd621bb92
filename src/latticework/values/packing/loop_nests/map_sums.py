"""The inner sums of a block map as one constant: which product goes where, and what each is multiplied with.

A plan holds the map alone; its products and their slot vectors follow from it where they are needed.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.loop_nests.const_ref import ConstRef
from latticework.values.packing.loop_nests.linear_map import LinearMap
from latticework.values.packing.loop_nests.map_terms import SELF, Baby, MapStrategy, terms_of
from latticework.values.packing.pack import IntArray


class Products(NamedTuple):
    """The products of a block map.

    babies  that need a key, ascending; number 0 is the input itself, number k is babies[k - 1]
    groups  (giant, output) of each sum: those of one giant follow each other
    rows    (input, number of baby, number of sum) of each product, shape (products, 3), by sum
    values  what each is multiplied with
    """

    babies: tuple[Baby, ...]
    groups: tuple[tuple[int, int], ...]
    rows: IntArray
    values: tuple[ConstRef, ...]

    def switches(self) -> list[tuple[int, int]]:
        """The different (input, number of baby) that need a key."""
        used: list[list[int]] = np.unique(self.rows[:, :2], axis=0).tolist()
        return [(in_, baby) for in_, baby in used if baby]


@dataclass(frozen=True)
class MapSums:
    """sum over inputs u and babies b of diagonal[v, u, g + b] rotated by -g, times baby_b(x[u]); for each (g, v)."""

    map: LinearMap
    way: MapStrategy

    @cached_property
    def products(self) -> Products:
        """All of them; found once, for to look a large map up by its content takes a while too."""
        return _products(self)

    @property
    def sources(self) -> set[str]:
        """Hashes of the arrays that are read."""
        gathers = {part.gather.source for part in self.map.all_parts}
        return {s for s in gathers if s is not None}.union(*(d.values.sources for d in self.map.explicit))

    @property
    def is_complex(self) -> bool:
        """Whether a vector that is multiplied with is complex."""
        parts = any(isinstance(p.factor, complex) or isinstance(p.gather, Butterflies) for p in self.map.all_parts)
        return parts or self.way.packing != "none" or any(d.values.is_complex for d in self.map.explicit)


@lru_cache(maxsize=64)
def _products(sums: MapSums) -> Products:
    terms = terms_of(sums.map, sums.way)
    babies = tuple(sorted({term.baby for term in terms} - {SELF}))
    numbers = {SELF: 0, **{baby: number for number, baby in enumerate(babies, 1)}}
    groups = {group: number for number, group in enumerate(dict.fromkeys((t.giant, t.out) for t in terms))}
    rows = np.array([(t.in_, numbers[t.baby], groups[t.giant, t.out]) for t in terms], dtype=np.int64).reshape(-1, 3)
    return Products(babies, tuple(groups), rows, tuple(t.values for t in terms))
