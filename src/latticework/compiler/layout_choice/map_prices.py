"""Prices of linear maps: operations are counted once for each strategy of evaluation, then priced at any level."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import sqrt

import numpy as np

from latticework.compiler.options.techniques import Techniques
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.loop_nests.baby_giant import (
    ROTOM,
    BlockMapPrices,
    Counts,
    Mode,
    Places,
    options,
    places,
    sign_steps,
)
from latticework.values.packing.loop_nests.diagonals import find_diagonals, structure
from latticework.values.packing.loop_nests.nest import distinct
from latticework.values.packing.pack import IntArray
from latticework.values.packing.packed_constants import MOST_LISTED, LinearMap, LoopNest, at_most

MOST_PACKED = 1024  # diagonals of a map whose complex packing is priced in a search; expansion tries all
MOST_KEPT = 256  # diagonals of a map whose counts are kept for others like it
MOST_COUNTED = 4096  # diagonals of a map that a search prices exactly


def cheapest(linear_map: LinearMap, parts: BlockMapPrices, real: bool, may: Techniques) -> float:
    """The price of the cheapest strategy for a map."""
    counted = _count(linear_map, real and may.complex_packing, may.baby_steps)
    if isinstance(counted, Rough):
        return counted.price(parts, stepped=may.baby_steps)
    if may.tuned_widths:
        return min(counts.price(counted.each(parts)) for counts in counted.strategies)
    return min(counted.strategies, key=lambda counts: counts.price(counted.each(ROTOM))).price(counted.each(parts))


@dataclass(frozen=True)
class Rough:
    """A map of very many diagonals, by numbers alone."""

    steps: int
    diagonals: int
    count_in: int
    count_out: int

    def price(self, parts: BlockMapPrices, stepped: bool = True) -> float:
        """Steps shared out evenly between babies and giants, if there are to be giants (`stepped`)."""
        babies = sqrt(self.steps * self.count_out * parts.giant / (self.count_in * parts.baby))
        babies = min(max(babies, 1.0), float(self.steps)) if stepped else float(self.steps)
        giants = self.steps / babies if stepped else 0.0
        switches = self.count_in * babies * parts.baby + self.count_out * giants * parts.giant
        ends = self.count_in * parts.hoist + self.count_out * parts.finish
        return switches + ends + self.diagonals * (parts.product + parts.addition)


@dataclass(frozen=True)
class Exact:
    """A map, or of one that does the same to many vectors, what it does to the first ones.

    strategies                      operations of each strategy that carries it out
    inputs, outputs, vectors  how many times as much it does: to inputs, to outputs, to pairs of them
    """

    strategies: tuple[Counts, ...]
    inputs: int = 1
    outputs: int = 1
    vectors: int = 1

    def each(self, parts: BlockMapPrices) -> BlockMapPrices:
        """Multiply prices of parts by their counts."""
        return BlockMapPrices(
            hoist=parts.hoist * self.inputs,
            baby=parts.baby * self.inputs,
            giant=parts.giant * self.outputs,
            rotation=parts.rotation * self.inputs,
            conjugation=parts.conjugation * self.outputs,
            product=parts.product * self.vectors,
            addition=parts.addition * self.vectors,
            finish=parts.finish * self.outputs,
        )


@lru_cache(maxsize=1 << 13)
def _count(linear_map: LinearMap, packing: bool, stepped: bool) -> Rough | Exact:
    gather = linear_map.gather
    mode: Mode = "counts" if stepped else "rotations"
    if not isinstance(gather, LoopNest) or linear_map.explicit or linear_map.parts:
        return _exact(places(linear_map), packing, mode)
    bound = at_most(gather)
    if bound.diagonals > MOST_LISTED or len(structure(gather).moves) > MOST_COUNTED:
        return Rough(bound.steps, bound.diagonals, gather.count_in, gather.count_out)
    repeated = structure(gather)
    if repeated.size <= MOST_COUNTED:
        return _exact(_rows(gather, find_diagonals(gather)), packing, mode)
    num_outputs, num_inputs = (len(distinct(repeated.vectors[:, side])) for side in (0, 1))
    return replace(
        _exact(_rows(gather, repeated.moves), packing, mode),
        inputs=num_inputs,
        outputs=num_outputs,
        vectors=len(repeated.vectors),
    )


def places_of(linear_map: LinearMap, most: int) -> Places | None:
    """The diagonals of a map as columns; None where there are more than `most`."""
    gather = linear_map.gather
    if not isinstance(gather, LoopNest) or linear_map.explicit or linear_map.parts:
        return places(linear_map)
    return _rows(gather, find_diagonals(gather)) if structure(gather).size <= most else None


def _exact(where: Places, packing: bool, mode: Mode) -> Exact:
    packing = packing and where.steps.size <= MOST_PACKED
    if where.steps.size > MOST_KEPT:
        return Exact(_count_strategies(where, packing, mode))
    return Exact(_cached_counts(where.slots, np.array(where[1:], dtype=np.int64).tobytes(), packing, mode))


def _count_strategies(where: Places, packing: bool, mode: Mode) -> tuple[Counts, ...]:
    return tuple(dict.fromkeys(strategy.counts for strategy in options(where, packing=packing, mode=mode)))


@lru_cache(maxsize=1 << 12)
def _cached_counts(slots: int, columns: bytes, packing: bool, mode: Mode) -> tuple[Counts, ...]:
    """`_ways` by contents: of the maps that a search counts, nearly half have their diagonals where others have."""
    conj, out, in_, steps = np.frombuffer(columns, dtype=np.int64).reshape(4, -1)
    return _count_strategies(Places(slots, conj, out, in_, steps), packing, mode)


def _rows(gather: LoopNest, rows: IntArray) -> Places:
    out, in_, steps = rows.T
    return Places(gather.slots, np.zeros_like(out), out, in_, sign_steps(steps, gather.slots))
