"""Layouts: which tensor index each slot of each vector holds, as nested loops and rolls.

Written as in Rotom (section 2.1), `rolls [dims];[dims]`: the dims before `;` number the vectors, those after it walk
the slots, the rightmost fastest. `[1:8]` walks axis 1, `[0:4:8]` takes axis 0 in steps of 8, `[R:2]` repeats, `[G:2]`
leaves all but index 0 unused; `Roll(i,j)` adds the index of dim j to that of dim i, modulo the extent of dim i, dims
being numbered as written from 0. `Roll(1,0)[1:4][0:4]` is the diagonal layout: column c rotated by c.

Two layouts are equal if their canonical forms are (`canonical.py`), and every layout is kept in its own. A
*plain* layout has one vector, powers of two for extents and no rolls: it is equally a list of slot-address bits, each
of which repeats or adds a weight to one axis, and many rules are stated on those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod

from latticework.errors import LayoutError
from latticework.ir import register_attribute
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.canonical import canonical, vector_slots
from latticework.values.packing.hashed import HashedOnce
from latticework.values.packing.pack import GAP, MAX_PLACES, REPEAT, PackDim, PackMap, Roll

Shape = tuple[int, ...]
Bit = tuple[int, int]  # (axis, weight along the axis), or REPEATED
REPEATED: Bit = (REPEAT, 1)

_AXES = {"R": REPEAT, "G": GAP}
_DIM = re.compile(r"\[([RG]|\d+):(\d+)(?::(\d+))?\]")
_ROLL = re.compile(r"Roll\((\d+),\s*(\d+)\)")
_LAYOUT = re.compile(
    rf"(?P<rolls>(?:{_ROLL.pattern}\s*)*)(?:(?P<vectors>(?:{_DIM.pattern}\s*)*);)?(?P<slots>(?:\s*{_DIM.pattern})*|\[\])\s*"
)


def num_bits(extent: int) -> int:
    """Address bits of an axis padded to a power of two."""
    return max(extent - 1, 0).bit_length()


@register_attribute("layout")
@dataclass(frozen=True, slots=True)
class Layout(HashedOnce):
    """Layout of a tensor's elements in vectors of slots, in canonical form.

    dims         of the slots, slowest first
    vector_dims  number the vectors
    rolls        (i, j): index i becomes (index i + index j) modulo extent i, one after the other
    """

    dims: tuple[PackDim, ...]
    vector_dims: tuple[PackDim, ...] = ()
    rolls: tuple[Roll, ...] = ()

    __hash__ = HashedOnce.__hash__

    def __post_init__(self) -> None:
        every = self.all_dims
        for dim in every:
            if dim.axis < GAP or dim.extent < 1 or dim.stride < 1:
                raise LayoutError(f"{dim} is not a dimension of a layout; extent and stride are at least 1")
        for i, j in self.rolls:
            if not (0 <= i < len(every) and 0 <= j < len(every)) or i == j or every[i].axis == GAP:
                raise LayoutError(
                    f"Roll({i},{j}) of {''.join(map(str, every))}: name two of its {len(every)} dims, counted from 0 "
                    "with those of the vectors first; a gap cannot be rolled"
                )
        dims, vector_dims, rolls = canonical(self.dims, self.vector_dims, self.rolls)
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "vector_dims", vector_dims)
        object.__setattr__(self, "rolls", rolls)

    @staticmethod
    def from_bits(bits: Iterable[Bit]) -> Layout:
        """The plain layout of address bits given fastest first."""
        return Layout(tuple(PackDim(axis, 2, weight if axis >= 0 else 1) for axis, weight in bits)[::-1])

    @staticmethod
    def parse(text: str) -> Layout:
        """The layout of a text such as `Roll(1,0)[R:4];[0:4][1:8:2]`; LayoutError if it is not one."""
        match = _LAYOUT.fullmatch(text.strip())
        if match is None:
            raise LayoutError(
                f"{text!r} is not a layout; write dims as [axis:extent], [axis:extent:stride], [R:extent] or "
                "[G:extent], those of the vectors before a semicolon, and rolls as Roll(i,j) in front"
            )
        dims, vectors = (_dims(text, match[part] or "") for part in ("slots", "vectors"))
        _refuse_twice(text, (*vectors, *dims))
        return Layout(dims, vectors, tuple((int(i), int(j)) for i, j in _ROLL.findall(match["rolls"])))

    def __str__(self) -> str:
        rolls = "".join(f"Roll({i},{j})" for i, j in self.rolls)
        vectors = "".join(map(str, self.vector_dims)) + ";" if self.vector_dims else ""
        return rolls + vectors + ("".join(map(str, self.dims)) or "[]")

    @property
    def all_dims(self) -> tuple[PackDim, ...]:
        """Dimensions as written and as rolls number them: of the vectors, then of the slots."""
        return self.vector_dims + self.dims

    @property
    def count(self) -> int:
        """Number of vectors."""
        return prod(d.extent for d in self.vector_dims)

    @property
    def slots(self) -> int:
        """Length of the shortest vectors that hold the slot dims: a power of two."""
        return vector_slots(self.dims)

    @property
    def fits(self) -> bool:
        """Whether its vectors have no more slots together than a packing may have."""
        return self.count * self.slots <= MAX_PLACES

    @property
    def is_plain(self) -> bool:
        """Whether this is one vector of powers of two without rolls, of which the methods on bits speak."""
        return not self.vector_dims and not self.rolls and all(d.extent & (d.extent - 1) == 0 for d in self.dims)

    @property
    def bits(self) -> tuple[Bit, ...]:
        """Address bits of a plain layout, fastest first."""
        if not self.is_plain:
            raise LayoutError(f"{self} has no address bits: it has vector dims, rolls, or extents not powers of two")
        return tuple(
            (dim.axis, dim.stride << k if dim.axis >= 0 else 1)
            for dim in reversed(self.dims)
            for k in range(num_bits(dim.extent))
        )

    @property
    def outer_copies(self) -> int:
        """Copies that the outermost slot dimension makes of all inside it; 1 if it walks an axis or rolls one."""
        if not self.dims or self.dims[0].axis != REPEAT:
            return 1
        return 1 if any(j == len(self.vector_dims) for _, j in self.rolls) else self.dims[0].extent

    def pack_map(self, shape: Shape, slots: int | None = None) -> PackMap:
        """The run-time form for a tensor of a shape, in vectors of `slots`."""
        return PackMap(shape, slots or self.slots, self.dims, self.vector_dims, self.rolls)

    def renumber_axes(self, axes: Mapping[int, int]) -> Layout:
        """Axes renumber_dim; those not named become repetition."""

        def renumber_dim(dim: PackDim) -> PackDim:
            if dim.axis < 0:
                return dim
            return PackDim(axes[dim.axis], dim.extent, dim.stride) if dim.axis in axes else PackDim(REPEAT, dim.extent)

        return Layout(tuple(map(renumber_dim, self.dims)), tuple(map(renumber_dim, self.vector_dims)), self.rolls)

    def places(self, axes: Iterable[int]) -> tuple[int, ...]:
        """Positions of the address bits of a plain layout that walk any of these axes."""
        wanted = set(axes)
        return tuple(p for p, (axis, _) in enumerate(self.bits) if axis in wanted)


def _dims(text: str, part: str) -> tuple[PackDim, ...]:
    dims = []
    for name, extent, stride in _DIM.findall(part):
        if int(extent) < 1 or int(stride or 1) < 1:
            raise LayoutError(f"{text!r}: extent {extent} and stride {stride or 1} must be at least 1")
        axis = _AXES.get(name)
        dims.append(PackDim(int(name), int(extent), int(stride or 1)) if axis is None else PackDim(axis, int(extent)))
    return tuple(dims)


def _refuse_twice(text: str, dims: tuple[PackDim, ...]) -> None:
    """LayoutError where an axis is walked by steps that meet the same elements."""
    reached: dict[int, int] = {}
    for dim in sorted((d for d in dims if d.axis >= 0 and d.extent > 1), key=lambda d: d.stride):
        if dim.stride < reached.get(dim.axis, 1):
            raise LayoutError(f"{text!r} walks the same elements twice; write [R:extent] to repeat")
        reached[dim.axis] = dim.stride * dim.extent
