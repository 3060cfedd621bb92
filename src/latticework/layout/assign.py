"""assign-layouts: give every secret tensor a layout; conversions become explicit.

In:  tensor IR without layouts.
Out: tensor IR whose secret types carry a layout; `tensor.convert_layout` where
     an operand must lie otherwise than it does.
First version: inputs row-major, repeated to fill; every operation has one rule,
which keeps data where they are if it can. Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from latticework.dialects.tensor import TensorType
from latticework.errors import LayoutError
from latticework.ir import Builder, Loc, Module, Op, Type, Value, rebuild
from latticework.layout.forms import in_order
from latticework.layout.layout import Layout, Shape, num_bits


@dataclass(frozen=True)
class Room:
    """The vector that all tensors of a program share.

    slots  its length, a power of two
    row    slots kept for the last axis of tensors of two and more axes
    """

    slots: int
    row: int = 1

    def row_major(self, shape: Shape) -> Layout:
        """The default layout of a shape."""
        return in_order(shape, self.slots)


@dataclass(frozen=True)
class Placement:
    """Where each operand has to lie (None: public, or as it is), where the result then lies, and where operands meet.

    box  of a product of two secrets: the layout of all its loops, the summed one first
    """

    operands: tuple[Layout | None, ...]
    result: Layout
    box: Layout | None = None


Rule = Callable[[Op, Sequence[Layout | None], Room], Placement]


def room_needed(module: Module, extra: Callable[[Op], Sequence[Shape]], most: int | None = None) -> Room:
    """The smallest room in which every secret tensor fits.

    extra   shapes that an operation needs room for besides its operands and results
    most    slots that there are; None: any number
    raises  LayoutError naming the tensor and its line that needs more than `most`
    """
    placed: list[tuple[Shape, Loc | None]] = []
    for value in module.inputs:
        if isinstance(value.type, TensorType):
            placed.append((value.type.shape, value.origin.loc if value.origin is not None else None))
    for op in module.walk():
        values = [*op.results, *(arg for region in op.regions for arg in region.block.args)]
        shapes = [v.type.shape for v in values if isinstance(v.type, TensorType) and v.type.secret]
        placed += [(shape, op.loc) for shape in (*shapes, *extra(op))]
    row = 1 << max((num_bits(shape[-1]) for shape, _ in placed if shape), default=0)

    def slots(shape: Shape) -> int:
        leading = prod(1 << num_bits(n) for n in shape[:-1])
        return leading * (row if len(shape) > 1 else 1 << num_bits(shape[-1] if shape else 1))

    largest, line = max(placed, key=lambda item: slots(item[0]), default=((), None))
    if most is not None and slots(largest) > most:
        raise LayoutError(
            f"a tensor of shape {largest} needs {slots(largest)} slots, its axes padded to powers of two and its last "
            f"one to {row}, the longest last axis of the program; there are {most}: use fewer rows at a time, or split "
            "it",
            at=line,
        )
    return Room(max(row, slots(largest)), row)


class Decisions(Protocol):
    """What is needed to know of a search."""

    @property
    def inputs(self) -> Mapping[Value, Layout]:
        """Layout of every encrypted input."""

    @property
    def placed(self) -> Mapping[Op, Placement]:
        """Placement of every operation with a secret result."""

    def way(self, value: Value, old: Layout, new: Layout) -> Sequence[Layout]:
        """The layouts that a conversion passes through, the new one last."""


def assign_layouts(module: Module, decisions: Decisions) -> Module:
    """A module with the layouts that a search decided on."""

    def placed(value: Value) -> Layout | None:
        return value.type.layout if isinstance(value.type, TensorType) else None

    def converted(builder: Builder, old: Value, value: Value, layout: Layout | None) -> Value:
        lying = placed(value)
        if layout is None or lying is None or lying == layout:
            return value
        for step in decisions.way(old, lying, layout):
            value = builder.build("tensor.convert_layout", [value], layout=step)
        return value

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        operands = [mapping[v] for v in op.operands]
        choice = decisions.placed.get(op)
        if choice is not None:
            moved = [
                converted(builder, old, v, layout)
                for old, v, layout in zip(op.operands, operands, choice.operands, strict=True)
            ]
            attrs = {**op.attrs, "layout": choice.result}
            if choice.box is not None:
                attrs["box"] = choice.box
            mapping[op.result] = builder.build(op.spec, moved, **attrs)
            return True
        if op.name == "loop.yield" and op.block is not None and op.block.parent is not None:
            # A carried value lies at the end of the body as it did at the head.
            heads = [mapping[a] for a in op.block.args[len(op.block.args) - len(operands) :]]
            moved = [
                converted(builder, old, v, placed(head))
                for old, v, head in zip(op.operands, operands, heads, strict=True)
            ]
            builder.create("loop.yield", moved)
            return True
        return False

    types: list[Type] = [
        v.type.replace(layout=decisions.inputs[v]) if isinstance(v.type, TensorType) else v.type for v in module.inputs
    ]
    return rebuild(module, visit, input_types=types)
