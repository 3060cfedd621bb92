"""assign-layouts: give every secret tensor the layout that a search decided on; conversions become explicit.

In:  tensor IR without layouts.
Out: tensor IR whose secret types carry a layout; `tensor.convert_layout` where
     an operand must lie otherwise than it does, naming the recipe.
Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from latticework.ir import Block, Builder, Module, Op, Region, Type, Value, rebuild
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.rewrite import rebuild_block
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions import Conversion
from latticework.tensor.layout.conversions.convert_take import distinct_vectors
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.layout_candidates import in_order
from latticework.values.packing.pack import GAP, REPEAT


@dataclass(frozen=True)
class LayoutRules:
    """The vectors in which the tensors of a program lie.

    slots   the length of each, a power of two
    rolls   whether layouts may be rolled
    copies  whether a client may send elements repeatedly
    asked   whether a client sends a tensor as its first use wants it; else in order
    """

    slots: int
    rolls: bool = True
    copies: bool = True
    asked: bool = True

    def row_major(self, shape: Shape) -> Layout:
        """The default layout of a shape."""
        return in_order(shape, self.slots)

    def input_layout(self, shape: Shape) -> Layout:
        """The default layout of an encrypted input."""
        return in_order(shape, self.slots, fill=REPEAT if self.copies else GAP)

    def may_send(self, layout: Layout) -> bool:
        """Whether a client may send a tensor so, because its first use wants it."""
        return self.asked and (self.copies or all(dim.axis != REPEAT or dim.extent == 1 for dim in layout.all_dims))


@dataclass(frozen=True)
class OperationLayouts:
    """Layouts of an operation: of each operand (None: public, or as it is), of the result, and of the product's box.

    box  of a product of two secrets: the layout of all its loops
    """

    operands: tuple[Layout | None, ...]
    result: Layout
    box: Layout | None = None

    @property
    def fits(self) -> bool:
        """Whether all it moves and makes can be packed: vectors that are equal count once in an operand."""
        wanted = (layout for layout in self.operands if layout is not None)
        return self.result.fits and all(layout.fits or distinct_vectors(layout).layout.fits for layout in wanted)


class LayoutDecisions(Protocol):
    """Results of a search that assigning layouts needs."""

    @property
    def inputs(self) -> Mapping[Value, Layout]:
        """Layout of every encrypted input."""

    @property
    def heads(self) -> Mapping[Value, Layout]:
        """Layout of what loops carry, where it is not that of the initial value."""

    @property
    def chosen(self) -> Mapping[Op, OperationLayouts]:
        """Layouts of every operation with a secret result."""

    def find_conversions(self, value: Value, old: Layout, new: Layout) -> Sequence[Conversion]:
        """The conversions of a value, one after the other."""


def is_trivial(value: Value) -> bool:
    """Whether a value is a public array in the form of a secret one, which lies anywhere for nothing."""
    return isinstance(value.owner, Op) and value.owner.name == "tensor.trivial"


def assign_layouts(module: Module, decisions: LayoutDecisions, feedback: Mapping[int, int] = {}) -> Module:
    """A module with the layouts that a search decided on.

    feedback  numbers of outputs that are to lie as an input does -> the number of that input
    """

    def layout_of(value: Value) -> Layout | None:
        return value.type.layout if isinstance(value.type, TensorType) else None

    def convert(builder: Builder, old: Value, value: Value, layout: Layout | None) -> Value:
        lying = layout_of(value)
        if layout is None or lying is None or lying == layout:
            return value
        for step in decisions.find_conversions(old, lying, layout):
            value = builder.build("tensor.convert_layout", [value], layout=step.target, recipe=step.name)
        return value

    def convert_initial(builder: Builder, head: Value, init: Value, value: Value) -> Value:
        """The initial value of what a loop carries, where the loop wants it."""
        layout = decisions.heads.get(head)
        if layout is None or layout == layout_of(value):
            return value
        if is_trivial(init):
            return builder.build("tensor.trivial", list(value.owner.operands), layout=layout)  # type: ignore[union-attr]
        return convert(builder, init, value, layout)

    def loop(op: Op, builder: Builder, mapping: dict[Value, Value]) -> None:
        """A loop, from values that lie as it wants them."""
        block, body = op.regions[0].block, Block()
        starts = [mapping[v] for v in op.operands]
        count = len(block.args) - 1
        heads = block.args[1:]
        inits = op.operands[len(op.operands) - count :]
        starts[len(starts) - count :] = [
            convert_initial(builder, head, init, mapping[init]) for head, init in zip(heads, inits, strict=True)
        ]
        mapping[block.args[0]] = body.add_arg(block.args[0].type, block.args[0].origin)
        for head, start in zip(heads, starts[len(starts) - count :], strict=True):
            mapping[head] = body.add_arg(start.type, head.origin)
        rebuild_block(block, body, visit, mapping)
        new_loop = builder.create(op.spec, starts, op.attrs, [Region(body)])
        mapping.update(zip(op.results, new_loop.results, strict=True))

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.name == "loop.for" and any(arg in decisions.heads for arg in op.regions[0].block.args):
            loop(op, builder, mapping)
            return True
        operands = [mapping[v] for v in op.operands]
        choice = decisions.chosen.get(op)
        if choice is not None:
            moved = [
                convert(builder, old, v, layout)
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
                convert(builder, old, v, layout_of(head))
                for old, v, head in zip(op.operands, operands, heads, strict=True)
            ]
            builder.create("loop.yield", moved)
            return True
        if op is module.body.terminator and feedback:
            for number, of in feedback.items():
                operands[number] = convert(
                    builder, op.operands[number], operands[number], decisions.inputs[module.inputs[of]]
                )
            builder.create("loop.yield", operands)
            return True
        return False

    types: list[Type] = [
        v.type.replace(layout=decisions.inputs[v]) if isinstance(v.type, TensorType) else v.type for v in module.inputs
    ]
    return rebuild(module, visit, input_types=types)
