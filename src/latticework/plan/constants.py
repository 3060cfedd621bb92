"""Public operands in compact form: gathers of weights, linear maps, polynomials.

Nothing here holds a slot vector. A constant is described by how to gather it
from a source array, and is evaluated when it is encoded, at the level of use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latticework.plan.butterflies import Butterflies
from latticework.plan.pack import REPEAT, FloatArray, IntArray, PackDim, PackMap

Sources = Mapping[str, npt.NDArray[Any]]  # float64, or complex128
SlotArray = npt.NDArray[Any]  # float64, or complex128 where a factor is complex


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

    def flat(self, counters: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
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


@dataclass(frozen=True, slots=True)
class Gather:
    """A nest of loops that reads a source and, for a linear map, an input tensor.

    for t in box(domain):  out[out_access(t)] += source[source_access(t)] * in[in_access(t)]

    source     content hash of the array, or None for an array of ones
    in_access  None when the gather packs a constant tensor (then the product has no second factor)
    spread     the output's outermost repetition, in so many copies, shares the sums out: each term is added in the one
               copy that its input lies nearest to, and the copies still have to be added up
    """

    domain: tuple[int, ...]
    out_pack: PackMap
    out_access: Access
    source: str | None
    source_access: Access | None
    in_pack: PackMap | None = None
    in_access: Access | None = None
    spread: int = 1

    @property
    def slots(self) -> int:
        """Length of the vectors."""
        return self.out_pack.slots


@dataclass(frozen=True, slots=True)
class ConstRef:
    """A slot vector to be gathered: a packed tensor, or one generalised diagonal of a linear map.

    gather  the loop nest that reads it from a source, or stages of the special FFT
    steps   which diagonal (in slot = out slot + steps), or None for a packed tensor
    rotate  the vector is rotated left by this many slots after gathering
    factor  and multiplied by this
    """

    gather: Gather | Butterflies
    steps: int | None = None
    rotate: int = 0
    factor: complex = 1.0

    @property
    def slots(self) -> int:
        """Length of the vector."""
        return self.gather.slots

    @property
    def count(self) -> int:
        """Number of vectors: several only for a packed tensor."""
        return self.gather.out_pack.count if self.steps is None and isinstance(self.gather, Gather) else 1

    @property
    def is_complex(self) -> bool:
        """Whether the vector is complex."""
        return isinstance(self.gather, Butterflies) or isinstance(self.factor, complex)

    def evaluate(self, sources: Sources) -> SlotArray:
        """The slot vector (slots,), or array of them (count, slots); complex if the factor or what is gathered is."""
        if isinstance(self.gather, Butterflies):
            vector: SlotArray = self.gather.diagonal(self.steps or 0)
        else:
            vector = _gathered(self.gather, self.steps or 0, sources)
        if self.rotate % self.slots:
            vector = np.roll(vector, -(self.rotate % self.slots), axis=-1)
        if self.factor == 1.0:
            return vector
        return np.asarray(vector * self.factor)


def _gathered(gather: Gather, steps: int, sources: Sources) -> SlotArray:
    """One diagonal of a gather (0 for a packed tensor)."""
    is_complex = gather.source is not None and sources[gather.source].dtype.kind == "c"
    count = gather.out_pack.count if gather.in_pack is None else 1
    places: SlotArray = np.zeros(count * gather.slots, dtype=np.complex128 if is_complex else np.float64)
    entries = _entries(gather).get(steps)
    if entries is not None and gather.source is None:
        np.add.at(places, entries.out_slot, 1.0)
    elif entries is not None and gather.source is not None:
        np.add.at(places, entries.out_slot, sources[gather.source].reshape(-1)[entries.source_index])
    return places if count == 1 else places.reshape(count, gather.slots)


def splat(value: complex, slots: int) -> ConstRef:
    """One number in every slot."""
    pack = PackMap((), slots, (PackDim(REPEAT, slots),))
    return ConstRef(Gather((), pack, Access((), (), ()), None, None), factor=value)


@dataclass(frozen=True, slots=True)
class Diagonal:
    """One generalised diagonal: contributes values * rotate(x, steps), or of conj(x) if `conj`."""

    steps: int
    values: ConstRef
    conj: bool = False


@dataclass(frozen=True, slots=True)
class LinearMap:
    """y = sum over diagonals of values * rotate(x, steps), kept symbolic until costs are known.

    The diagonals are those of `gather` (all times `factor`), then the explicit ones.
    """

    slots: int
    gather: Gather | Butterflies | None = None
    factor: complex = 1.0
    explicit: tuple[Diagonal, ...] = ()

    @property
    def diagonals(self) -> tuple[Diagonal, ...]:
        """All diagonals that are not structurally zero, by ascending steps."""
        return _diagonals(self)

    def scaled(self, factor: complex) -> LinearMap:
        """The same map times a constant."""
        explicit = tuple(
            Diagonal(
                d.steps, ConstRef(d.values.gather, d.values.steps, d.values.rotate, d.values.factor * factor), d.conj
            )
            for d in self.explicit
        )
        return LinearMap(self.slots, self.gather, self.factor * factor, explicit)

    def apply(self, vector: npt.NDArray[np.generic], sources: Sources) -> npt.NDArray[np.generic]:
        """The map on slot vectors (..., slots), each by itself."""
        is_complex = any(d.values.is_complex for d in self.diagonals)
        total: npt.NDArray[Any] = np.zeros(self.slots, dtype=np.complex128 if is_complex else vector.dtype)
        for diagonal in self.diagonals:
            operand = np.conj(vector) if diagonal.conj else vector
            total = total + diagonal.values.evaluate(sources) * np.roll(operand, -diagonal.steps, axis=-1)
        return total


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial of one variable.

    coefficients   lowest degree first
    interval       (lo, hi): where it approximates; Chebyshev coefficients refer to it mapped to [-1, 1]
    basis          "chebyshev" or "power" (then the interval is only a record)
    """

    coefficients: tuple[float, ...]
    interval: tuple[float, float]
    basis: str = "chebyshev"

    @property
    def degree(self) -> int:
        """Highest power (or Chebyshev index) present."""
        return len(self.coefficients) - 1

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Evaluate elementwise."""
        x = np.asarray(x)
        if self.basis == "power":
            power: FloatArray = np.polynomial.polynomial.polyval(x, np.asarray(self.coefficients))
            return power
        lo, hi = self.interval
        t = (2.0 * x - (lo + hi)) / (hi - lo)
        series: FloatArray = np.polynomial.chebyshev.chebval(t, np.asarray(self.coefficients))
        return series


def num_diagonals(gather: Gather) -> int:
    """Diagonals that are not structurally zero."""
    return len(_entries(gather))


def is_identity(gather: Gather) -> bool:
    """Whether the linear map leaves every slot of the output where it already is."""
    entries = _entries(gather)
    if gather.source is not None or set(entries) != {0}:
        return False
    held = entries[0].out_slot
    return held.size == int(np.count_nonzero(gather.out_pack.element_of_slot() >= 0)) == np.unique(held).size


class _Entries(NamedTuple):
    out_slot: IntArray
    source_index: IntArray


@lru_cache(maxsize=64)
def _entries(gather: Gather) -> dict[int, _Entries]:
    """Contributions grouped by diagonal (key 0 for a packed tensor)."""
    counters = np.indices(gather.domain).reshape(len(gather.domain), prod(gather.domain))
    out_element, valid = gather.out_access.flat(counters)
    source_index = np.zeros_like(out_element)
    if gather.source_access is not None:
        source_index, inside = gather.source_access.flat(counters)
        valid &= inside
    in_element = out_element
    if gather.in_access is not None:
        in_element, inside = gather.in_access.flat(counters)
        valid &= inside
    out_element, in_element, source_index = out_element[valid], in_element[valid], source_index[valid]
    out_slot = gather.out_pack.slots_of_element()[out_element]  # (iterations, copies)
    steps = np.zeros_like(out_slot)
    if gather.in_pack is not None:
        steps = _nearest_steps(gather.in_pack.slots_of_element()[in_element], out_slot, gather.in_pack.slots)
    if gather.spread > 1:
        steps, out_slot = _nearest_copies(steps, out_slot, gather.spread)
    source_index = np.broadcast_to(source_index[:, None], out_slot.shape)
    steps, out_slot, source_index = steps.reshape(-1), out_slot.reshape(-1), source_index.reshape(-1)
    if not steps.size:
        return {}
    order = np.argsort(steps, kind="stable")
    keys, starts = np.unique(steps[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {int(k): _Entries(out_slot[p], source_index[p]) for k, p in zip(keys, parts, strict=True)}


def _nearest_steps(in_slots: IntArray, out_slot: IntArray, slots: int) -> IntArray:
    """For each output slot the smallest left rotation that brings a copy of its input there."""
    best = (in_slots[:, :1] - out_slot) % slots
    for copy in range(1, in_slots.shape[1]):
        best = np.minimum(best, (in_slots[:, copy : copy + 1] - out_slot) % slots)
    return best


def _nearest_copies(steps: IntArray, out_slot: IntArray, spread: int) -> tuple[IntArray, IntArray]:
    """For each term, of the outermost copies of its output slots the one with the smallest rotation."""
    by_copy = (steps.shape[0], spread, -1)  # slots ascend, so the outermost repetition is the slowest
    steps, out_slot = steps.reshape(by_copy), out_slot.reshape(by_copy)
    nearest = np.argmin(steps, axis=1)[:, None, :]
    return np.take_along_axis(steps, nearest, 1)[:, 0], np.take_along_axis(out_slot, nearest, 1)[:, 0]


@lru_cache(maxsize=256)
def _diagonals(linear_map: LinearMap) -> tuple[Diagonal, ...]:
    gather = linear_map.gather
    if gather is None:
        return linear_map.explicit
    present = gather.steps if isinstance(gather, Butterflies) else sorted(_entries(gather))
    found = (Diagonal(steps, ConstRef(gather, steps, 0, linear_map.factor)) for steps in present)
    return (*found, *linear_map.explicit)
