"""The loop nest of a matrix product: which loop walks which axis of the operands and of the result."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from latticework.layout.layout import Shape
from latticework.ops.base import broadcast_shape


@dataclass(frozen=True)
class Nest:
    """for stack..., m, j, k: c[stack, m, j] += a[stack, m, k] * b[stack, k, j], where m or j may be missing."""

    a: Shape
    b: Shape
    stack: Shape

    @staticmethod
    def of(a: Shape, b: Shape) -> Nest:
        """The nest of a @ b by NumPy's rules."""
        return Nest(a, b, broadcast_shape("matmul", a[:-2], b[:-2]))

    @property
    def has_row(self) -> bool:
        """Whether the left operand is a matrix."""
        return len(self.a) > 1

    @property
    def has_column(self) -> bool:
        """Whether the right operand is a matrix."""
        return len(self.b) > 1

    @property
    def domain(self) -> Shape:
        """Extents of the loops: those of the result, then the summed one."""
        rows = self.a[-2:-1] if self.has_row else ()
        columns = self.b[-1:] if self.has_column else ()
        return (*self.stack, *rows, *columns, self.a[-1])

    @property
    def out_loops(self) -> list[int | None]:
        """Loop of each axis of the result."""
        return list(range(len(self.domain) - 1))

    def loops(self, side: int) -> list[int | None]:
        """Loop of each axis of an operand (0 left, 1 right)."""
        shape = (self.a, self.b)[side]
        depth = len(self.stack)
        stack: list[int | None] = list(range(depth - max(len(shape) - 2, 0), depth))
        summed = len(self.domain) - 1
        if len(shape) == 1:
            return [summed]
        column = depth + int(self.has_row)
        return [*stack, depth, summed] if side == 0 else [*stack, summed, column]

    def summed_axis(self, side: int) -> int:
        """The axis of an operand that is summed over."""
        return self.loops(side).index(len(self.domain) - 1)

    def out_axes(self, side: int) -> dict[int, int]:
        """Axis of an operand -> axis of the result, for those that stay and are not broadcast."""
        shape = (self.a, self.b)[side]
        summed = len(self.domain) - 1
        return {
            axis: loop for axis, loop in enumerate(self.loops(side))
            if loop is not None and loop != summed and shape[axis] > 1
        }  # fmt: skip

    @property
    def box(self) -> Shape:
        """Extents with the summed axis first, as a product of two secrets is laid out."""
        return (self.domain[-1], *self.domain[:-1])

    def box_axes(self, side: int) -> dict[int, int]:
        """Axis of the box -> axis of an operand, for those that are not broadcast."""
        shape = (self.a, self.b)[side]
        summed = len(self.domain) - 1
        return {
            0 if loop == summed else loop + 1: axis
            for axis, loop in enumerate(self.loops(side))
            if loop is not None and shape[axis] > 1
        }

    @property
    def own_axes(self) -> tuple[set[int], set[int]]:
        """Axes of the box, the summed one aside, that only the left, and only the right operand has."""
        left, right = (set(self.box_axes(side)) for side in (0, 1))
        return left - right, right - left

    def __str__(self) -> str:
        return f"{self.a} @ {self.b}: {prod(self.domain)} products"
