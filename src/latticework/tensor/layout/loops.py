"""The loops of an operation on two tensors, and what a layout of all of them says of operands and result.

A *box* is a layout whose axes are the loops: both operands and the products lie in it, each operand repeating along the
loops that it lacks (Rotom, section 2.2: the index nest in any order, R for a missing iterator).
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors import ShapeError
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.layout import Layout, Shape


@dataclass(frozen=True, slots=True)
class Loops:
    """for t in box(extents): result[...] (+)= operand[...] o operand[...]; loops that the result lacks are summed.

    operands  the loop of each axis of each operand; None where the axis is 1 long and is broadcast
    result    the loop of each axis of the result
    """

    extents: Shape
    operands: tuple[tuple[int | None, ...], ...]
    result: tuple[int, ...]

    @staticmethod
    def elementwise(*shapes: Shape) -> Loops:
        """Slot by slot, by NumPy's broadcasting: a loop for each axis of the result."""
        rank = max(map(len, shapes), default=0)
        wide = [(1,) * (rank - len(shape)) + shape for shape in shapes]
        extents = tuple(max(column) for column in zip(*wide, strict=True))
        if any(n not in (1, m) for shape in wide for n, m in zip(shape, extents, strict=True)):
            raise ShapeError(f"alignment: shapes {', '.join(map(str, shapes))} do not broadcast")
        operands = tuple(
            tuple(loop if shape[loop] > 1 else None for loop in range(rank - len(own), rank))
            for shape, own in zip(wide, shapes, strict=True)
        )
        return Loops(extents, operands, tuple(range(rank)))

    @staticmethod
    def matmul(a: Shape, b: Shape) -> Loops:
        """A product of (m, k) and (k, j), of stacks of these, or with a vector on a side: the summed loop last."""
        rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
        stack = Loops.elementwise(a[:-2], b[:-2])
        depth, inner = len(stack.extents), b[-2] if len(b) > 1 else b[0]
        if a[-1] != inner:
            raise ShapeError(f"alignment: shapes {a} and {b} do not fit: {a[-1]} and {inner} are summed together")
        summed = depth + len(rows) + len(columns)
        left = (*stack.operands[0], *range(depth, depth + len(rows)), summed)
        right = (*stack.operands[1], summed, *range(depth + len(rows), summed))
        return Loops((*stack.extents, *rows, *columns, inner), (left, right), tuple(range(summed)))

    @property
    def summed(self) -> tuple[int, ...]:
        """Loops that the result lacks."""
        return tuple(loop for loop in range(len(self.extents)) if loop not in self.result)

    def layout_in_loops(self, side: int, layout: Layout) -> Layout:
        """An operand's layout in the loops that it walks."""
        return layout.renumber_axes({axis: loop for axis, loop in enumerate(self.operands[side]) if loop is not None})

    def operand_layout(self, side: int, box: Layout) -> Layout:
        """The layout of an operand that lies in a box."""
        return box.renumber_axes({loop: axis for axis, loop in enumerate(self.operands[side]) if loop is not None})

    def kept_axes(self, side: int) -> dict[int, int]:
        """Axis of an operand -> axis of the result, for those that are not broadcast or summed."""
        axes = {loop: axis for axis, loop in enumerate(self.result)}
        return {axis: axes[loop] for axis, loop in enumerate(self.operands[side]) if loop in axes}

    def own(self, side: int) -> set[int]:
        """Loops of the result that only this operand has."""
        others = {loop for number, loops in enumerate(self.operands) for loop in loops if number != side}
        return {loop for loop in self.operands[side] if loop in self.result and loop not in others}


def axes_of(layout: Layout) -> set[int]:
    """Axes that a layout walks."""
    return {dim.axis for dim in layout.all_dims if dim.axis >= 0}


def restrict(box: Layout, axes: Sequence[int] | set[int]) -> Layout:
    """The layout of what walks these axes alone and repeats along the others."""
    return box.renumber_axes({axis: axis for axis in axes})
