"""How a tensor's elements lie in the slots of one vector: the map that packing and unpacking follow.

A PackMap is the run-time form of a compiler layout, so that running a plan
needs no compiler. Slot dimensions are nested loops, the rightmost fastest
(Rotom's notation, section 2.1 of the paper, without rolls).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

REPEAT = -1  # the slots along this dimension hold the same element
GAP = -2  # only index 0 along this dimension is used; the rest is undefined

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PackDim:
    """One slot dimension: walks a tensor axis, repeats, or leaves a gap.

    axis     tensor axis >= 0, REPEAT or GAP
    extent   number of slots steps, a power of two
    stride   tensor elements along the axis per step (1 unless the axis is split)
    """

    axis: int
    extent: int
    stride: int = 1

    def __str__(self) -> str:
        name = {REPEAT: "R", GAP: "G"}.get(self.axis, str(self.axis))
        return f"[{name}:{self.extent}]" if self.stride == 1 else f"[{name}:{self.extent}:{self.stride}]"


@dataclass(frozen=True, slots=True)
class PackMap:
    """Where each element of a tensor of `shape` lies among `slots` slots.

    The product of the extents is `slots`. Elements beyond an axis' end
    (padding to powers of two) have no slot of their own.
    """

    shape: tuple[int, ...]
    slots: int
    dims: tuple[PackDim, ...]

    def __post_init__(self) -> None:
        if min(self.shape, default=1) < 1 or self.size > self.slots:
            raise ValueError(f"{self}: shape {self.shape} does not fit {self.slots} slots")
        for dim in self.dims:
            if not GAP <= dim.axis < len(self.shape) or dim.extent < 1 or not 1 <= dim.stride <= self.slots:
                raise ValueError(f"{self}: {dim} is not a dimension of a tensor of shape {self.shape}")
        if prod(d.extent for d in self.dims) != self.slots:
            raise ValueError(f"{self}: the extents multiply to {prod(d.extent for d in self.dims)}, not {self.slots}")

    def __str__(self) -> str:
        return "".join(map(str, self.dims)) or "[]"

    @property
    def size(self) -> int:
        """Number of tensor elements."""
        return prod(self.shape)

    def element_of_slot(self) -> IntArray:
        """Flat (C-order) element index held by each slot, -1 where a slot holds none; shape (slots,)."""
        return _element_of_slot(self)

    def slots_of_element(self) -> IntArray:
        """All slots of every element, ascending; shape (size, copies)."""
        return _slots_of_element(self)

    def pack(self, array: npt.ArrayLike) -> FloatArray:
        """Lay tensors of shape (..., *shape) out in slots, (..., slots); slots without an element are 0."""
        array = np.asarray(array, dtype=np.float64)
        rank = len(self.shape)
        if array.shape[array.ndim - rank :] != self.shape or array.ndim < rank:
            raise ValueError(f"pack: {array.size} elements of shape {array.shape} for tensors of shape {self.shape}")
        flat = array.reshape((*array.shape[: array.ndim - rank], self.size))
        element = self.element_of_slot()
        return np.where(element >= 0, flat[..., np.maximum(element, 0)], 0.0)

    def unpack(self, slots: npt.NDArray[np.float64]) -> FloatArray:
        """Read tensors (..., *shape) back from slots (..., slots), from the first copy of each element."""
        first = slots[..., self.slots_of_element()[:, 0]]
        return np.asarray(first, dtype=np.float64).reshape((*slots.shape[:-1], *self.shape))


@lru_cache(maxsize=512)
def _element_of_slot(pack: PackMap) -> IntArray:
    grid = np.indices(tuple(d.extent for d in pack.dims)).reshape(len(pack.dims), pack.slots)
    used = np.ones(pack.slots, dtype=bool)
    coordinates = np.zeros((len(pack.shape), pack.slots), dtype=np.int64)
    for dim, digit in zip(pack.dims, grid, strict=True):
        if dim.axis >= 0:
            coordinates[dim.axis] += digit * dim.stride
        elif dim.axis == GAP:
            used &= digit == 0
    flat = np.zeros(pack.slots, dtype=np.int64)
    for axis, extent in enumerate(pack.shape):
        used &= coordinates[axis] < extent
        flat = flat * extent + coordinates[axis]
    result = np.where(used, flat, -1)
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
