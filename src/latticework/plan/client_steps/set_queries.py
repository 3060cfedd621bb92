"""Private intersections of sets: elements become powers in bins, and the roots of polynomials become elements."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from latticework.errors import ShapeError
from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step import (
    Array,
    Bounded,
    OwnerStep,
    Shape,
    UnfitValueError,
    as_numbers,
    last_axes,
    require,
)
from latticework.values.centred_residues import MAX_MODULUS_BITS, mul_mod
from latticework.values.packing.cuckoo_tables import TABLES, fill_bins

EMPTY = -1  # what lies in empty bins, which is no element


@dataclass(frozen=True)
class SetQuery(OwnerStep):
    """A set of whole numbers becomes powers of what lies in each bin: one element, or -1 where it is empty.

    size     elements at most;  bits  of each
    width    bins of each of three tables, which lie one after the other in `blocks` vectors of so many slots
    degree   of the highest power: vectors are those of the first power, then of the second, and so on
    modulus  that powers are residues of, nearest to zero
    """

    size: int
    bits: int
    width: int
    blocks: int
    slots: int
    degree: int
    modulus: int

    NAME: ClassVar[str] = "set_query"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if min(self.size, self.width, self.blocks, self.slots, self.degree, self.bits) < 1:
            raise ValueError("a set, or its bins, without any")
        if TABLES * self.width > self.blocks * self.slots:
            raise ValueError(f"{TABLES} x {self.width} bins in {self.blocks} vectors of {self.slots} slots")
        if not self.bits + 1 < self.modulus.bit_length() <= MAX_MODULUS_BITS:
            raise ValueError(f"elements of {self.bits} bits modulo {self.modulus}")

    @property
    def depth(self) -> int:
        """The axis of elements."""
        return 1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of vectors and slots; there may be fewer elements than `size`."""
        last_axes(shape, 1)
        return (*shape[:-1], self.degree * self.blocks, self.slots)

    def apply(self, x: Array) -> Array:
        """Return powers, in float64; elements that occur twice count once."""
        numbers = as_numbers(x)
        require(np.full(numbers.shape, numbers.ndim == 1), "is in one of several sets: encrypt one after the other")
        require(numbers == np.rint(numbers), "is no whole number")
        require((numbers >= 0) & (numbers < 1 << self.bits), f"is no element: they are 0 to 2^{self.bits} - 1")
        elements = np.unique(numbers.astype(np.int64))
        if len(elements) > self.size:
            raise UnfitValueError(
                np.ones(numbers.shape, bool), f"is one of {len(elements)} elements: at most {self.size}"
            )
        holders = fill_bins(elements, self.width)
        if holders is None:
            raise UnfitValueError(
                np.ones(numbers.shape, bool), "is in a set that finds no bins for all: encrypt it in two halves"
            )
        held = np.full(self.blocks * self.slots, EMPTY)
        held[: len(holders)] = np.where(holders < 0, EMPTY, elements[holders])
        powers = [held]
        for _ in range(1, self.degree):
            powers.append(mul_mod(powers[-1], held, self.modulus))
        return np.stack(powers).reshape(self.degree * self.blocks, self.slots).astype(np.float64)

    def words(self) -> str:
        """Describe the step by the number of elements and powers."""
        return f"powers 1 to {self.degree} of up to {self.size} elements, in {self.blocks} x {self.slots} bins"


@dataclass(frozen=True)
class CommonElements(OwnerStep):
    """The elements of both sets, ascending: as many as there are.

    It is given (2 * blocks, slots): what lies in each bin, and the bin's polynomial there, 0 for an element of both.
    """

    blocks: int

    NAME: ClassVar[str] = "common_elements"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    @property
    def depth(self) -> int:
        """The axes of vectors and slots."""
        return 2

    def decided(self, shape: Shape, choices: int) -> int:
        """Return that what is found is no number of a choice."""
        super().decided(shape, choices)
        return -1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with all bins in the place of vectors and slots: more elements there cannot be."""
        vectors, slots = last_axes(shape, 2)
        if self.blocks < 1 or vectors != 2 * self.blocks or len(shape) > 2:
            raise ValueError(f"{self.blocks} vectors of bins, and vectors of shape {shape}")
        return (self.blocks * slots,)

    def bounded(self, x: Bounded) -> Bounded:
        """Whole numbers, int64, and certain: polynomials are exact, and have no other roots."""
        if x.value.ndim > 2:
            raise ShapeError("results of several sets, where one was encrypted")
        held, values = np.split(np.rint(x.value).astype(np.int64), 2)
        found = np.sort(held[(values == 0) & (held != EMPTY)])
        return Bounded(found, None, None, np.ones(found.shape, dtype=bool))

    def words(self) -> str:
        """Describe the step."""
        return "elements at which polynomials are 0"


@dataclass(frozen=True)
class NumCommon(OwnerStep):
    """The number of elements of both sets, from the polynomials of bins alone, (blocks, slots)."""

    NAME: ClassVar[str] = "num_common"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    @property
    def depth(self) -> int:
        """The axes of vectors and slots."""
        return 2

    def decided(self, shape: Shape, choices: int) -> int:
        """Return that what is found is no number of a choice."""
        super().decided(shape, choices)
        return -1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape without the axes of vectors and slots."""
        last_axes(shape, 2)
        return shape[:-2]

    def bounded(self, x: Bounded) -> Bounded:
        """A whole number, and certain: polynomials are exact, and have no other roots."""
        count: npt.NDArray[np.int64] = np.asarray((np.rint(x.value) == 0).sum((-1, -2)), dtype=np.int64)
        return Bounded(count, None, None, np.ones(count.shape, dtype=bool))

    def words(self) -> str:
        """Describe the step."""
        return "number of elements at which polynomials are 0"
