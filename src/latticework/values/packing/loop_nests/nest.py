"""Affine accesses, and the loop nests in which linear maps and packed constants are stated."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.hashed import HashedOnce
from latticework.values.packing.pack import IntArray, PackMap

CHUNK = 1 << 18  # iterations that are walked at a time

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Access:
    """An affine map from loop counters to an element of an array viewed as `view`.

    Element index along view axis a is sum_j matrix[a][j] * t_j + offset[a]; an
    index outside [0, view[a]) means that the iteration is skipped. A view of
    one axis addresses an array of any shape by flat (C-order) index.
    """

    view: tuple[int, ...]
    matrix: tuple[tuple[int, ...], ...]
    offset: tuple[int, ...]

    def flat(self, counters: IntArray) -> tuple[IntArray, BoolArray]:
        """Flat element index and validity for counters of shape (loops, iterations)."""
        flat = np.zeros(counters.shape[1], dtype=np.int64)
        valid = np.ones(counters.shape[1], dtype=bool)
        for extent, row, start in zip(self.view, self.matrix, self.offset, strict=True):
            index = np.full(counters.shape[1], start, dtype=np.int64)
            for weight, counter in zip(row, counters, strict=True):
                if weight:
                    index += weight * counter
            valid &= (index >= 0) & (index < extent)
            flat = flat * extent + index
        return flat, valid

    def reach(self, axis: int, domain: tuple[int, ...]) -> tuple[int, int]:
        """The least and the largest index along an axis that counters below `domain` give."""
        moves = [weight * (extent - 1) for weight, extent in zip(self.matrix[axis], domain, strict=True)]
        start = self.offset[axis]
        return start + sum(m for m in moves if m < 0), start + sum(m for m in moves if m > 0)


@dataclass(frozen=True, slots=True)
class LoopNest(HashedOnce):
    """Loops that read a source and, for a linear map, an input tensor. Classes that hold a nest call it `gather`.

    for t in box(domain):  out[out_access(t)] += source[source_access(t)] * in[in_access(t)]

    source     content hash of the array, or None for an array of ones
    in_access  None when the nest packs a constant tensor (then the product has no second factor)
    spread     the output's outermost repetition within its vectors, in so many copies, shares the sums out: each term
               is added in the one copy that its input lies nearest to, and the copies still have to be added up

    Both packings may be of several vectors. Of several copies of an input element, an output place reads the one that
    the smallest left rotation brings there, of those at one slot the one in the lowest vector.
    """

    domain: tuple[int, ...]
    out_pack: PackMap
    out_access: Access
    source: str | None
    source_access: Access | None
    in_pack: PackMap | None = None
    in_access: Access | None = None
    spread: int = 1

    __hash__ = HashedOnce.__hash__

    @property
    def slots(self) -> int:
        """Length of the vectors."""
        return self.out_pack.slots

    @property
    def count_in(self) -> int:
        """Number of vectors that are read."""
        return 1 if self.in_pack is None else self.in_pack.count

    @property
    def count_out(self) -> int:
        """Number of vectors that are made."""
        return self.out_pack.count


def distinct(values: IntArray) -> IntArray:
    """The distinct integers of an array, ascending. Sorting takes a fraction of what the hashing of np.unique does."""
    ordered = np.sort(values, axis=None)
    is_new = np.ones(ordered.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    result: IntArray = ordered[is_new]
    return result


def walk(domain: tuple[int, ...], chunk: int = CHUNK) -> Iterator[IntArray]:
    """All counters of a nest, in C order, in chunks of shape (loops, iterations)."""
    if not domain:
        yield np.zeros((0, 1), dtype=np.int64)
        return
    total = prod(domain)
    for start in range(0, total, chunk):
        flat = np.arange(start, min(start + chunk, total), dtype=np.int64)
        yield np.array(np.unravel_index(flat, domain), dtype=np.int64)
