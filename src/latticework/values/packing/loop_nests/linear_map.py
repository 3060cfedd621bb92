"""Block linear maps between arrays of slot vectors, kept as loop nests until costs are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core
from latticework.values.map_in_order import map_in_order
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.hashed import HashedOnce
from latticework.values.packing.loop_nests.const_ref import ConstRef
from latticework.values.packing.loop_nests.diagonal_values import SlotArray, Sources
from latticework.values.packing.loop_nests.diagonals import find_diagonals, num_diagonals
from latticework.values.packing.loop_nests.nest import LoopNest

__all__ = ["Diagonal", "LinearMap", "MapPart", "num_diagonals"]

T = TypeVar("T")

LARGE = 1 << 22  # numbers in diagonals that are worth threads of their own
TOGETHER = 32  # diagonals whose products are added up in one pass: so many stay in the cache


@dataclass(frozen=True, slots=True)
class Diagonal:
    """One generalised diagonal: adds values * rotate(x[in_], steps) to y[out], or of conj(x[in_]) if `conj`."""

    steps: int
    values: ConstRef
    conj: bool = False
    out: int = 0
    in_: int = 0


@dataclass(frozen=True, slots=True)
class MapPart:
    """A loop nest as a block of a larger map: its vectors are those from `out` and from `in_` on."""

    gather: LoopNest | Butterflies
    factor: complex = 1.0
    out: int = 0
    in_: int = 0

    @property
    def end(self) -> tuple[int, int]:
        """The vectors (of output, of input) after its last ones."""
        if isinstance(self.gather, Butterflies):
            return self.out + 1, self.in_ + 1
        return self.out + self.gather.count_out, self.in_ + self.gather.count_in


@dataclass(frozen=True, slots=True)
class LinearMap(HashedOnce):
    """y[v] = sum over diagonals (v, u, s) of values * rotate(x[u], s), from `count_in` vectors to `count_out`.

    The diagonals are those of the nest `gather` (all times `factor`), then of further `parts`, then the explicit ones.
    """

    slots: int
    gather: LoopNest | Butterflies | None = None
    factor: complex = 1.0
    explicit: tuple[Diagonal, ...] = ()
    count_in: int = 1
    count_out: int = 1
    parts: tuple[MapPart, ...] = ()

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        ends = [part.end for part in self.all_parts] + [(d.out + 1, d.in_ + 1) for d in self.explicit]
        if any(out > self.count_out or in_ > self.count_in for out, in_ in ends):
            raise ValueError(f"a map of {self.count_in} vectors to {self.count_out} has a block beyond them")

    @staticmethod
    def of(nest: LoopNest) -> LinearMap:
        """The map of one loop nest, between as many vectors as it has."""
        return LinearMap(nest.slots, nest, count_in=nest.count_in, count_out=nest.count_out)

    @property
    def all_parts(self) -> tuple[MapPart, ...]:
        """All loop nests."""
        first = () if self.gather is None else (MapPart(self.gather, self.factor),)
        return first + self.parts

    @property
    def diagonals(self) -> tuple[Diagonal, ...]:
        """All diagonals that are not structurally zero; those of each gather by (out, in_, steps) ascending."""
        return _diagonals(self)

    @property
    def is_real(self) -> bool:
        """Whether real vectors become real vectors: no factor is complex."""
        factors = [part.factor for part in self.all_parts]
        return not any(isinstance(f, complex) for f in factors) and not any(d.values.is_complex for d in self.explicit)

    def scale_by(self, factor: complex) -> LinearMap:
        """The same map times a constant."""
        return replace(
            self,
            factor=self.factor * factor,
            explicit=tuple(replace(d, values=d.values.times(factor)) for d in self.explicit),
            parts=tuple(replace(part, factor=part.factor * factor) for part in self.parts),
        )

    def rotate_ends(self, before: int, after: int) -> LinearMap:
        """The map of x rotated left by `before` slots to y rotated left by `after`: its diagonals have other places."""
        moved = (replace(d, steps=d.steps + after - before, values=d.values.rotate_left(after)) for d in self.diagonals)
        return LinearMap(self.slots, explicit=tuple(moved), count_in=self.count_in, count_out=self.count_out)

    def apply(self, vectors: npt.NDArray[Any], sources: Sources) -> npt.NDArray[Any]:
        """The map on vectors (count_in, slots), giving (count_out, slots), without the first axis where it is 1.

        A map of one vector to one acts on each of (..., slots).
        """
        single = (self.count_in, self.count_out) == (1, 1)
        x = vectors[None] if single else vectors.reshape(self.count_in, self.slots)
        total = self._sums(x, sources)
        return total[0] if self.count_out == 1 else total

    def _sums(self, x: npt.NDArray[Any], sources: Sources) -> SlotArray:
        """The map on (count_in, ..., slots), giving (count_out, ..., slots)."""
        is_complex = any(d.values.is_complex for d in self.diagonals)
        total: SlotArray = np.zeros((self.count_out, *x.shape[1:]), dtype=np.complex128 if is_complex else x.dtype)
        flat, sums = (y.reshape(len(y), -1, self.slots) for y in (x, total))
        in_core = total.dtype == x.dtype == np.float64 and flat.strides[-1] == flat.itemsize
        finite = in_core and bool(np.isfinite(x).all())
        alike = groupby(self.diagonals, key=lambda d: d.out)
        groups = [some for _, diagonals in alike for some in group_items(diagonals, TOGETHER)]
        is_large = len(self.diagonals) * self.slots >= LARGE
        made = map_in_order(
            lambda some: [d.values.evaluate(sources) for d in some], groups, is_worth_it=is_large
        )  # while products are added up
        for some, weights in zip(groups, made, strict=True):
            steps, added = [d.steps % self.slots for d in some], sums[some[0].out]
            if in_core and all(each.dtype == np.float64 for each in weights):
                _core.maps.add_products(weights, flat, [d.in_ for d in some], steps, finite, added)
                continue
            for d, each, turn in zip(some, weights, steps, strict=True):
                _add_products(each, np.conj(flat[d.in_]) if d.conj else flat[d.in_], turn, added)
        return total

    def apply_to_each(self, arrays: Sequence[npt.NDArray[Any]], sources: Sources) -> list[npt.NDArray[Any]]:
        """The map on each of several inputs, arrays as those of `apply`: diagonals are made once for all of them."""
        stacked = np.stack([x.reshape(self.count_in, self.slots) for x in arrays], axis=1)  # (count_in, runs, slots)
        total = self._sums(stacked, sources)
        return [total[0, n] if self.count_out == 1 else total[:, n] for n in range(len(arrays))]


def group_items(items: Iterable[T], count: int) -> Iterator[tuple[T, ...]]:
    """Up to `count` of the items at a time."""
    left = iter(items)
    while some := tuple(islice(left, count)):
        yield some


def _add_products(weights: SlotArray, vectors: SlotArray, steps: int, sums: SlotArray) -> None:
    """Add a diagonal's products with vectors (rows, slots), rotated left, to sums (rows, slots)."""
    left, product = len(weights) - steps, np.empty(len(weights), dtype=sums.dtype)
    for row, made in zip(vectors, sums, strict=True):
        np.multiply(weights[:left], row[steps:], out=product[:left], casting="unsafe")
        np.multiply(weights[left:], row[:steps], out=product[left:], casting="unsafe")
        made += product


@lru_cache(maxsize=256)
def _diagonals(linear_map: LinearMap) -> tuple[Diagonal, ...]:
    gathered = (d for part in linear_map.all_parts for d in _of_part(part))
    return (*gathered, *linear_map.explicit)


def _of_part(part: MapPart) -> Iterator[Diagonal]:
    nest = part.gather
    if isinstance(nest, Butterflies):
        for steps in nest.steps:
            yield Diagonal(steps, ConstRef(nest, steps, 0, part.factor), False, part.out, part.in_)
        return
    for out, in_, steps in find_diagonals(nest).tolist():
        values = ConstRef(nest, steps, 0, part.factor, out, in_)
        yield Diagonal(steps, values, False, part.out + out, part.in_ + in_)
