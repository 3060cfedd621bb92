"""Packing of a tensor's elements in the slots of one or more vectors: the map that packing and unpacking follow.

A PackMap is the run-time form of a compiler layout, so that running a plan
needs no compiler. Dimensions are nested loops, the rightmost fastest, first
those that number the vectors, then those of the slots; rolls rotate the index
of one dimension by that of another (Rotom's notation, section 2.1 of the paper).
Where elements lie without any such order, as those of circuits do, a table
lists the places in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.hashed import HashedOnce

REPEAT = -1  # the places along this dimension hold the same element
GAP = -2  # only index 0 along this dimension is used; the rest is undefined

MAX_PLACES = 1 << 26  # slots of all vectors of a tensor
SHOWN = 16  # places of a table that its text form lists

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Roll = tuple[int, int]


def product_within(numbers: Iterable[int], limit: int) -> int:
    """The product of positive numbers, or any number above the limit if it is more than that.

    Numbers from files may be many and long; their whole product could be work for minutes.
    """
    product = 1
    for number in numbers:
        product *= number
        if product > limit:
            break
    return product


@dataclass(frozen=True, slots=True)
class PackDim:
    """One dimension: walks a tensor axis, repeats, or leaves a gap.

    axis     tensor axis >= 0, REPEAT or GAP
    extent   number of steps
    stride   tensor elements along the axis per step (1 unless the axis is split)
    """

    axis: int
    extent: int
    stride: int = 1

    def __str__(self) -> str:
        name = {REPEAT: "R", GAP: "G"}.get(self.axis, str(self.axis))
        return f"[{name}:{self.extent}]" if self.stride == 1 else f"[{name}:{self.extent}:{self.stride}]"


@dataclass(frozen=True, slots=True)
class PackMap(HashedOnce):
    """Places of each element of a tensor of `shape` in `count` vectors of `slots` slots.

    dims         of the slots; their extents multiply to `slots` or less: what remains at the end of a vector is unused
    vector_dims  number the vectors
    rolls        (i, j): the index of dimension i becomes (index i + index j) modulo the extent of i; dimensions are
                 numbered as written, those of the vectors first; rolls apply in order
    table        (place, element) of every place in use, places ascending, instead of `dims` and `rolls`; the dimensions
                 of the vectors then only count them. Elements may have different numbers of places, or none
    Elements beyond an axis' end (padding) have no place.
    """

    shape: tuple[int, ...]
    slots: int
    dims: tuple[PackDim, ...]
    vector_dims: tuple[PackDim, ...] = ()
    rolls: tuple[Roll, ...] = ()
    table: tuple[tuple[int, int], ...] = field(default=(), metadata={"unstored_default": True})

    __hash__ = HashedOnce.__hash__

    @classmethod
    def of_table(cls, size: int, slots: int, places: Iterable[tuple[int, int]], count: int = 1) -> PackMap:
        """A list of `size` elements at the places (place, element), in any order, of `count` vectors."""
        return cls((size,), slots, (), (PackDim(GAP, count),) if count > 1 else (), (), tuple(sorted(places)))

    def __post_init__(self) -> None:
        for dim in self.all_dims:
            if not GAP <= dim.axis < len(self.shape) or dim.extent < 1 or not 1 <= dim.stride <= MAX_PLACES:
                raise ValueError(f"{self}: {dim} is not a dimension of a tensor of shape {self.shape}")
        if not 1 <= product_within((*(d.extent for d in self.vector_dims), self.slots), MAX_PLACES) <= MAX_PLACES:
            raise ValueError(f"{self}: vectors of {self.slots} slots; at most {MAX_PLACES} slots in all")
        if self.table:
            self._check_table()
            return
        room = self.count * self.slots
        if min(self.shape, default=1) < 1 or product_within(self.shape, room) > room:
            where = f"{self.slots} slots" if self.count == 1 else f"{self.count} vectors of {self.slots} slots"
            raise ValueError(f"{self}: shape {self.shape} does not fit {where}")
        if product_within((d.extent for d in self.dims), self.slots) > self.slots:
            raise ValueError(f"{self}: the extents multiply to more than {self.slots}")
        for i, j in self.rolls:
            if not (0 <= i < len(self.all_dims) and 0 <= j < len(self.all_dims)) or i == j:
                raise ValueError(f"{self}: Roll({i}, {j}) does not name two of its {len(self.all_dims)} dimensions")
            if self.all_dims[i].axis == GAP:
                raise ValueError(f"{self}: Roll({i}, {j}) rotates a gap")

    def _check_table(self) -> None:
        size, room = product_within(self.shape, MAX_PLACES), self.count * self.slots
        if self.dims or self.rolls or min(self.shape, default=1) < 1 or size > MAX_PLACES:
            raise ValueError(f"a table of places for shape {self.shape} beside other dimensions")
        last = -1
        for place, element in self.table:
            if not (last < place < room and 0 <= element < size):
                raise ValueError(f"element {element} of {size} at place {place} of {room}, after place {last}")
            last = place

    def __str__(self) -> str:
        if self.table:
            shown = " ".join(f"{element}@{place}" for place, element in self.table[:SHOWN])
            return f"{{{shown}{' ...' if len(self.table) > SHOWN else ''}}}"
        rolls = "".join(f"Roll({i},{j})" for i, j in self.rolls)
        vectors = "".join(map(str, self.vector_dims)) + ";" if self.vector_dims else ""
        return rolls + vectors + "".join(map(str, self.dims)) or "[]"

    @property
    def all_dims(self) -> tuple[PackDim, ...]:
        """Dimensions as written: of the vectors, then of the slots."""
        return self.vector_dims + self.dims

    @property
    def count(self) -> int:
        """Number of vectors."""
        return prod(d.extent for d in self.vector_dims)

    @property
    def size(self) -> int:
        """Number of tensor elements."""
        return prod(self.shape)

    def element_of_slot(self) -> IntArray:
        """Flat (C-order) element index at each place (vector * slots + slot), -1 where there is none."""
        return _element_of_slot(self)

    def elements_at(self, places: IntArray) -> IntArray:
        """Return the elements at some places only, as `element_of_slot` does for all."""
        if self.table:
            return self.element_of_slot()[places]
        vector, slot = np.divmod(places, self.slots)
        walked = prod(d.extent for d in self.dims)
        left = vector * walked + np.minimum(slot, walked - 1)
        index: list[IntArray] = []
        for dim in reversed(self.all_dims):
            left, digit = np.divmod(left, dim.extent)
            index.insert(0, digit)
        return np.where(slot < walked, _elements(self, index), -1)

    def copies(self) -> int:
        """Count the places that hold each element, without looking at a place.

        Rolls permute the steps of the dimensions, so every axis counts by itself: its dimensions hold each of its
        indices equally often only if they are the digits of a mixed radix that reaches its end. Steps beyond it are
        padding.

        raises  ValueError if elements have different numbers of places, or none; not for tables
        """
        digits: dict[int, list[tuple[int, int]]] = {}
        for dim in self.all_dims:
            digits.setdefault(dim.axis, []).append((dim.stride, dim.extent))
        for axis, length in enumerate(self.shape):
            reach = 1
            for stride, extent in sorted(digits.get(axis, [])):
                if extent == 1 or stride >= length:
                    continue
                if stride != reach:
                    raise ValueError(f"{self}: shape {self.shape} is not held evenly along axis {axis}")
                reach *= extent
            if reach < length:
                raise ValueError(f"{self}: shape {self.shape} is held only up to {reach} along axis {axis}")
        return prod(d.extent for d in self.all_dims if d.axis == REPEAT)

    def slots_of_element(self) -> IntArray:
        """All places (vector * slots + slot) of every element, ascending; shape (size, copies)."""
        return _slots_of_element(self)

    def pack(self, array: npt.ArrayLike) -> FloatArray:
        """Lay tensors of shape (..., *shape) out; places without an element are 0.

        returns  (..., slots) if there is one vector, else (..., count, slots)
        """
        array = np.asarray(array, dtype=np.float64)
        rank = len(self.shape)
        if array.shape[array.ndim - rank :] != self.shape or array.ndim < rank:
            raise ValueError(f"pack: {array.size} elements of shape {array.shape} for tensors of shape {self.shape}")
        stack = array.shape[: array.ndim - rank]
        element = self.element_of_slot()
        packed = np.where(element >= 0, array.reshape((*stack, self.size))[..., np.maximum(element, 0)], 0.0)
        return packed if self.count == 1 else packed.reshape((*stack, self.count, self.slots))

    def unpack(self, vectors: npt.NDArray[Any]) -> FloatArray:
        """Read tensors (..., *shape) back from what `pack` returns, from the first copy of each element."""
        stack = vectors.shape[:-1] if self.count == 1 else vectors.shape[:-2]
        places = np.asarray(vectors, dtype=np.float64).reshape((*stack, self.count * self.slots))
        return places[..., self.first_places()].reshape((*stack, *self.shape))

    def first_places(self) -> IntArray:
        """The lowest place of every element.

        raises  ValueError if one has none
        """
        if not self.table:
            return self.slots_of_element()[:, 0]
        held = {element: place for place, element in reversed(self.table)}
        if len(held) < self.size:
            missing = next(element for element in range(self.size) if element not in held)
            raise ValueError(f"{self}: element {missing} of {self.size} has no place")
        return np.array([held[element] for element in range(self.size)], dtype=np.int64)


def _elements(pack: PackMap, index: list[IntArray]) -> IntArray:
    """Flat elements where all dimensions have these indices (arrays that broadcast), -1 where there is none."""
    for i, j in pack.rolls:
        index[i] = (index[i] + index[j]) % pack.all_dims[i].extent
    shape = np.broadcast_shapes(*(digit.shape for digit in index))
    used: npt.NDArray[np.bool_] = np.ones(shape, dtype=bool)
    none = np.zeros((1,) * len(shape), dtype=np.int64)
    coordinates: list[IntArray] = [none for _ in pack.shape]
    for dim, digit in zip(pack.all_dims, index, strict=True):
        if dim.axis >= 0:
            coordinates[dim.axis] = coordinates[dim.axis] + digit * dim.stride
        elif dim.axis == GAP:
            used = used & (digit == 0)
    flat = none
    for coordinate, extent in zip(coordinates, pack.shape, strict=True):
        used = used & (coordinate < extent)
        flat = flat * extent + coordinate
    return np.where(used, flat, -1)


@lru_cache(maxsize=512)
def _element_of_slot(pack: PackMap) -> IntArray:
    if pack.table:
        return _of_table(pack)
    extents = tuple(d.extent for d in pack.all_dims)
    index = list(np.indices(extents, sparse=True)) if extents else []  # broadcast where a roll mixes two of them
    held = _elements(pack, index).reshape(pack.count, -1)
    padded = np.full((pack.count, pack.slots), -1, dtype=np.int64)
    padded[:, : held.shape[1]] = held
    result: IntArray = padded.reshape(-1)
    result.setflags(write=False)
    return result


def _of_table(pack: PackMap) -> IntArray:
    result = np.full(pack.count * pack.slots, -1, dtype=np.int64)
    places = np.array(pack.table, dtype=np.int64)
    result[places[:, 0]] = places[:, 1]
    result.setflags(write=False)
    return result


@lru_cache(maxsize=512)
def _slots_of_element(pack: PackMap) -> IntArray:
    element = _element_of_slot(pack)
    held = np.flatnonzero(element >= 0)
    order = held[np.argsort(element[held], kind="stable")]
    counts = np.bincount(element[held], minlength=pack.size)
    if counts.min(initial=0 if pack.size == 0 else counts[0]) != counts.max(initial=0) or counts.min(initial=1) == 0:
        raise ValueError(f"{pack}: shape {pack.shape} is not held evenly (copies per element {set(counts.tolist())})")
    result = order.reshape(pack.size, -1)
    result.setflags(write=False)
    return result
