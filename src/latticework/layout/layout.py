"""Layouts: which tensor index each slot holds, as nested loops of power-of-two extent.

Written as in Rotom (section 2.1): `[R:2][0:4][1:8]` repeats the whole twice and
walks axis 0 slowly and axis 1 fast. Every extent being a power of two, a layout
is equally a list of slot-address bits, each of which repeats or adds a weight
to one axis; equality and alignment are decided on the bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from latticework.errors import LayoutError
from latticework.ir import register_attribute
from latticework.plan.pack import REPEAT, PackDim, PackMap

Shape = tuple[int, ...]
Bit = tuple[int, int]  # (axis, weight along the axis), or REPEATED
REPEATED: Bit = (REPEAT, 1)

_DIM = re.compile(r"\[(R|\d+):(\d+)(?::(\d+))?\]")


def num_bits(extent: int) -> int:
    """Address bits of an axis padded to a power of two."""
    return max(extent - 1, 0).bit_length()


@register_attribute("layout")
@dataclass(frozen=True, slots=True)
class Layout:
    """Slot dimensions, slowest first, in canonical form: no extents of 1, neighbours joined where they can be."""

    dims: tuple[PackDim, ...]

    @staticmethod
    def from_bits(bits: Iterable[Bit]) -> Layout:
        """The canonical layout of address bits given fastest first."""
        dims: list[PackDim] = []  # fastest first while building
        for axis, weight in bits:
            if dims and dims[-1].axis == axis and (axis == REPEAT or weight == dims[-1].stride * dims[-1].extent):
                dims[-1] = PackDim(axis, 2 * dims[-1].extent, dims[-1].stride)
            else:
                dims.append(PackDim(axis, 2, 1 if axis == REPEAT else weight))
        return Layout(tuple(reversed(dims)))

    @staticmethod
    def parse(text: str) -> Layout:
        """The layout of a text such as `[R:2][0:4][1:8:2]`; LayoutError if it is not one."""
        bits: list[Bit] = []
        if _DIM.sub("", text) and text != "[]":
            raise LayoutError(
                f"{text!r} is not a layout; write dims as [axis:extent], [axis:extent:stride] or [R:extent]"
            )
        for name, extent, stride in reversed(_DIM.findall(text)):
            if int(extent) & (int(extent) - 1) or int(extent) < 1:
                raise LayoutError(f"{text!r}: extent {extent} is not a power of two")
            axis = REPEAT if name == "R" else int(name)
            weight = int(stride or 1)
            if weight < 1:
                raise LayoutError(f"{text!r}: stride {weight} is not at least 1")
            bits += [(axis, 1 if axis == REPEAT else weight << k) for k in range(num_bits(int(extent)))]
        walked = [bit for bit in bits if bit != REPEATED]
        if len(set(walked)) != len(walked):
            raise LayoutError(f"{text!r} walks the same elements twice; write [R:extent] to repeat")
        return Layout.from_bits(bits)

    @staticmethod
    def row_major(shape: Shape, slots: int, row: int) -> Layout:
        """The last axis fastest, repeated to `row` slots; the other axes in order; the whole repeated to `slots`."""
        bits: list[Bit] = []
        for axis in reversed(range(len(shape))):
            bits += [(axis, 1 << k) for k in range(num_bits(shape[axis]))]
            if axis == len(shape) - 1 and len(shape) > 1:
                bits += [REPEATED] * (num_bits(row) - len(bits))
        if len(bits) > num_bits(slots):
            raise LayoutError(
                f"a tensor of shape {shape} padded to powers of two takes 2^{len(bits)} slots, the vectors have {slots}"
            )
        return Layout.from_bits(bits + [REPEATED] * (num_bits(slots) - len(bits)))

    def __str__(self) -> str:
        return "".join(map(str, self.dims)) or "[]"

    @property
    def bits(self) -> tuple[Bit, ...]:
        """Address bits, fastest first."""
        found: list[Bit] = []
        for dim in reversed(self.dims):
            weights = range(num_bits(dim.extent))
            found += [REPEATED if dim.axis == REPEAT else (dim.axis, dim.stride << k) for k in weights]
        return tuple(found)

    @property
    def slots(self) -> int:
        """Length of the vector."""
        return prod(d.extent for d in self.dims)

    @property
    def outer_copies(self) -> int:
        """Copies that the outermost dimension makes of everything inside it; 1 if it walks an axis."""
        return self.dims[0].extent if self.dims and self.dims[0].axis == REPEAT else 1

    def pack_map(self, shape: Shape) -> PackMap:
        """The run-time form for a tensor of a shape."""
        return PackMap(shape, self.slots, self.dims)

    def mapped(self, change: Callable[[Bit], Bit]) -> Layout:
        """Every address bit replaced by another."""
        return Layout.from_bits(map(change, self.bits))

    def renumbered(self, axes: Mapping[int, int]) -> Layout:
        """Axes renamed; those not named become repetition."""
        return self.mapped(lambda bit: (axes[bit[0]], bit[1]) if bit[0] in axes else REPEATED)

    def with_axis(self, axis: int, extent: int, preferred: Iterable[int] = ()) -> Layout | None:
        """An axis added where the layout repeats: on the preferred address bits first, then the fastest free ones.

        returns  None if there is not enough repetition
        """
        bits = list(self.bits)
        free = [p for p in preferred if bits[p] == REPEATED]
        free += [p for p, bit in enumerate(bits) if bit == REPEATED and p not in free]
        needed = num_bits(extent)
        if len(free) < needed:
            return None
        for weight, place in enumerate(sorted(free[:needed])):
            bits[place] = (axis, 1 << weight)
        return Layout.from_bits(bits)

    def places(self, axes: Iterable[int]) -> tuple[int, ...]:
        """Positions of the address bits that walk any of these axes."""
        wanted = set(axes)
        return tuple(p for p, (axis, _) in enumerate(self.bits) if axis in wanted)


def aligned(a: Layout, b: Layout) -> Layout | None:
    """The layout in which both operands of an elementwise operation already lie, or None.

    Axes are numbered as in the result; an operand repeats where it is broadcast.
    """
    if len(a.bits) != len(b.bits):
        return None
    merged: list[Bit] = []
    for left, right in zip(a.bits, b.bits, strict=True):
        if left != right and REPEATED not in (left, right):
            return None
        merged.append(right if left == REPEATED else left)
    # An axis walked by one operand only must not be walked elsewhere by the other.
    for layout in (a, b):
        own = {bit for bit in layout.bits if bit != REPEATED}
        axes = {axis for axis, _ in own}
        if any(bit[0] in axes and bit not in own for bit in merged if bit != REPEATED):
            return None
    if len({bit for bit in merged if bit != REPEATED}) != sum(bit != REPEATED for bit in merged):
        return None
    return Layout.from_bits(merged)
