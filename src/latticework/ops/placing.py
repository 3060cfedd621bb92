"""Placement rules that several operations share."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.ir.core import Op
from latticework.layout.assign import Placement, Room
from latticework.layout.layout import REPEATED, Layout, Shape, aligned
from latticework.ops.base import shape_of


def place_same(op: Op, layouts: Sequence[Layout | None], room: Room) -> Placement:
    """The result lies as the operand does."""
    assert layouts[0] is not None
    return Placement((None,), layouts[0])


def place_row_major(op: Op, layouts: Sequence[Layout | None], room: Room) -> Placement:
    """The result lies row-major; operands stay."""
    return Placement((None,) * len(layouts), room.row_major(shape_of(op.result)))


def place_elementwise(op: Op, layouts: Sequence[Layout | None], room: Room) -> Placement:
    """Operands aligned in the result's axes: as they lie if that fits, else the smaller moves to the larger."""
    out = shape_of(op.result)
    shapes = [shape_of(v) for v in op.operands]
    shifts = [len(out) - len(s) for s in shapes]
    lying = [None if a is None else _shifted(a, s) for a, s in zip(layouts, shifts, strict=True)]
    secret = [a for a in lying if a is not None]
    merged = secret[0] if len(secret) == 1 else aligned(secret[0], secret[1])
    complete = None if merged is None else _covering(merged, out)
    if complete is not None:
        return Placement((None,) * len(layouts), complete)
    largest = max(range(len(lying)), key=lambda i: -1 if lying[i] is None else len(_walked(shapes[i])))
    candidate = lying[largest]
    complete = None if candidate is None else _covering(candidate, out)
    target = complete or room.row_major(out)
    wanted = tuple(
        None if a is None else restricted(target, shape, shift)
        for a, shape, shift in zip(lying, shapes, shifts, strict=True)
    )
    return Placement(wanted, target)


def restricted(target: Layout, shape: Shape, shift: int) -> Layout:
    """The layout, in an operand's own axes, of an operand that is broadcast into `target`."""
    walked = {axis + shift: axis for axis in _walked(shape)}
    return target.renumbered(walked)


def covering(layout: Layout, old: Shape, new: Shape) -> Layout | None:
    """An operand's layout in the axes of the shape it is broadcast to, new axes put where it repeats."""
    return _covering(_shifted(layout, len(new) - len(old)), new)


def _walked(shape: Shape) -> list[int]:
    return [axis for axis, extent in enumerate(shape) if extent > 1]


def _shifted(layout: Layout, shift: int) -> Layout:
    return layout if shift == 0 else layout.mapped(lambda b: b if b == REPEATED else (b[0] + shift, b[1]))


def _covering(layout: Layout, shape: Shape) -> Layout | None:
    """The layout with axes that it does not walk yet put where it repeats."""
    found: Layout | None = layout
    for axis in reversed(_walked(shape)):
        if found is not None and not found.places([axis]):
            found = found.with_axis(axis, shape[axis])
    return found
