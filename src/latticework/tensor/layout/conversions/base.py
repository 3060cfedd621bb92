"""Conversions between layouts: recipes in vector operations, priced by the operations that they are lowered to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from latticework.ir.builder import Builder
from latticework.ir.core import Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.values.packing.pack import REPEAT, PackDim, PackMap
from latticework.values.packing.packed_constants import Access, LoopNest


class Recipe(Protocol):
    """Recipe that makes vectors of one layout from vectors of another."""

    def run(self, emit: VectorEmitter, x: Value) -> Value:
        """Emit the conversion and return the converted vectors."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversion of a tensor of `shape` from layout `source` to `target` (or to more than that: copies in gaps).

    Slots that the source does not use may hold anything, and so may those that the target does not use.
    """

    name: str
    shape: Shape
    source: Layout
    target: Layout
    recipes: tuple[Recipe, ...]

    def lower(self, builder: Builder, x: Value) -> Value:
        """The conversion in vec operations; none where nothing moves."""
        emit = VectorEmitter(builder, self.target.slots)
        for recipe in self.recipes:
            x = recipe.run(emit, x)
        return x

    def __str__(self) -> str:
        return f"{self.name}: {self.source} -> {self.target}"


def make_move(shape: Shape, source: Layout, target: Layout) -> LoopNest:
    """The linear map that moves every element from where it lies to where it is to lie."""
    same = Access(
        shape, tuple(tuple(int(i == j) for j in range(len(shape))) for i in range(len(shape))), (0,) * len(shape)
    )
    return LoopNest(shape, target.pack_map(shape), same, None, None, source.pack_map(shape), same)


def box_mask(dims: Sequence[PackDim], slots: int, ranges: dict[int, range]) -> LoopNest:
    """Ones in the slots whose places along the named dimensions are in the ranges, zeros in the others."""
    named = sorted(ranges)
    axes = {place: axis for axis, place in enumerate(named)}
    pack = tuple(PackDim(axes[k], d.extent) if k in axes else PackDim(REPEAT, d.extent) for k, d in enumerate(dims))
    shape = tuple(dims[k].extent for k in named)
    rows = tuple(tuple(ranges[k].step * (i == j) for j in range(len(named))) for i, k in enumerate(named))
    access = Access(shape, rows, tuple(ranges[k].start for k in named))
    return LoopNest(tuple(len(ranges[k]) for k in named), PackMap(shape, slots, pack), access, None, None)
