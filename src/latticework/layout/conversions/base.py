"""What a conversion is: a recipe in vector operations, priced by counting what it does and lowered by doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from latticework.ir.builder import Builder
from latticework.ir.core import Value
from latticework.layout.conversions.machines import Counter, Emitter
from latticework.layout.conversions.price import Price
from latticework.layout.layout import Layout, Shape
from latticework.plan.constants import Access, Gather
from latticework.plan.pack import REPEAT, PackDim, PackMap

X = TypeVar("X")


class Machine(Protocol[X]):
    """Operations on arrays of vectors that recipes are written in."""

    def take(self, x: X, vectors: Sequence[int]) -> X:
        """The array of those vectors."""

    def concat(self, parts: Sequence[X]) -> X:
        """One array of all."""

    def rotate(self, x: X, steps: int) -> X:
        """Every vector turned left."""

    def masked(self, x: X, mask: Gather) -> X:
        """Every vector times a vector of zeros and ones."""

    def add(self, x: X, y: X) -> X:
        """Vector by vector."""

    def sub(self, x: X, y: X) -> X:
        """Vector by vector."""

    def transform(self, x: X, gather: Gather, clear: bool = False) -> X:
        """A block linear map; if it is to clear the slots that it does not fill, also where nothing moves."""


class Recipe(Protocol):
    """How vectors of one layout become vectors of another."""

    def run(self, machine: Machine[X], x: X) -> X:
        """The vectors, converted."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A way to have a tensor of `shape`, that lies in `source`, in `target` (or with more than that: copies in gaps).

    Slots that the source does not use may hold anything, and so may those that the target does not use.
    """

    name: str
    shape: Shape
    source: Layout
    target: Layout
    recipes: tuple[Recipe, ...]
    price: Price = field(compare=False)

    def lower(self, builder: Builder, x: Value) -> Value:
        """The conversion in vec operations."""
        machine = Emitter(builder, self.target.slots)
        for recipe in self.recipes:
            x = recipe.run(machine, x)
        return x

    def __str__(self) -> str:
        return f"{self.name}: {self.source} -> {self.target}"


def conversion(name: str, shape: Shape, source: Layout, target: Layout, recipe: Recipe) -> Conversion:
    """A conversion of one recipe, priced by counting its operations."""
    counter = Counter(target.slots, source.count)
    result = recipe.run(counter, counter.operand)
    assert len(result.vectors) == target.count, name
    return Conversion(name, shape, source, target, (recipe,), counter.spent + Price(levels=result.levels))


def then(first: Conversion, second: Conversion) -> Conversion:
    """One conversion after the other."""
    assert first.target == second.source and first.shape == second.shape
    names = [c.name for c in (first, second) if c.price != Price()]
    return Conversion(
        ", ".join(names) or second.name,
        first.shape, first.source, second.target, first.recipes + second.recipes, first.price + second.price,
    )  # fmt: skip


def moved(shape: Shape, source: Layout, target: Layout) -> Gather:
    """The linear map that moves every element from where it lies to where it is to lie."""
    same = Access(
        shape, tuple(tuple(int(i == j) for j in range(len(shape))) for i in range(len(shape))), (0,) * len(shape)
    )
    return Gather(shape, target.pack_map(shape), same, None, None, source.pack_map(shape), same)


def box_mask(dims: Sequence[PackDim], slots: int, ranges: dict[int, range]) -> Gather:
    """Ones in the slots whose places along the named dimensions are in the ranges, zeros in the others."""
    named = sorted(ranges)
    axes = {place: axis for axis, place in enumerate(named)}
    pack = tuple(PackDim(axes[k], d.extent) if k in axes else PackDim(REPEAT, d.extent) for k, d in enumerate(dims))
    shape = tuple(dims[k].extent for k in named)
    rows = tuple(tuple(ranges[k].step * (i == j) for j in range(len(named))) for i, k in enumerate(named))
    access = Access(shape, rows, tuple(ranges[k].start for k in named))
    return Gather(tuple(len(ranges[k]) for k in named), PackMap(shape, slots, pack), access, None, None)
