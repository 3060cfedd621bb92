"""The one placement of every operation where layouts are not searched: tensors lie in order, as NumPy has them.

Products of matrices meet in the box of all their loops in order, the summed one fastest (Figure 1 of the Rotom paper,
left; Fhelipe, PLDI 2024): each operand is moved there by masks and rotations and repeated along the loops that it
lacks, vectors are multiplied, and sums are rotations and additions within them. Sums leave gaps, which stay until
another operation needs its operand otherwise. Everything else is one linear map to the tensor in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from latticework.errors import LayoutError
from latticework.ir.core import Op
from latticework.tensor.layout.alignment import align
from latticework.tensor.layout.assign import LayoutRules, OperationLayouts
from latticework.tensor.layout.layout_candidates import in_order
from latticework.tensor.layout.loops import Loops
from latticework.tensor.layout.sum_layouts import summed_layouts
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.choices import Layouts, choices
from latticework.values.packing.pack import MAX_PLACES

_ELEMENTWISE = ("tensor.add", "tensor.sub", "tensor.mul")
_UNMOVED = ("tensor.neg", "tensor.transpose", "tensor.prod", "tensor.trivial")


def row_major(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterable[OperationLayouts]:
    """The placement of an operation whose operands lie in these layouts (None: public)."""
    result = rules.row_major(shape_of(op.result))
    if op.name == "tensor.matmul":
        return [_product(op, layouts, rules)]
    if op.name in _ELEMENTWISE:
        return [_together(op, layouts, rules)]
    if op.name == "tensor.sum":
        assert layouts[0] is not None
        rank = len(shape_of(op.operands[0]))
        layouts_of_sum = summed_layouts(layouts[0], rank, op.attrs["axes"], op.attrs["keepdims"])
        return [OperationLayouts((None,), layouts_of_sum[-1] if layouts_of_sum else result)]
    if op.name in _UNMOVED:
        return choices(op, layouts, rules)
    return _in_order(op, layouts, rules)


def _in_order(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Yield the placement that moves nothing; else row-major order."""
    result = rules.row_major(shape_of(op.result))
    offered = list(choices(op, layouts, rules))
    still = [p for p in offered if len(offered) == 1 and all(wanted is None for wanted in p.operands)]
    yield from (
        still or [p for p in offered if p.result == result][:1] or [OperationLayouts((None,) * len(layouts), result)]
    )


def _product(op: Op, layouts: Layouts, rules: LayoutRules) -> OperationLayouts:
    loops = Loops.matmul(*map(shape_of, op.operands))
    box = in_order(loops.extents, rules.slots)
    if box.count * box.slots > MAX_PLACES:
        left, right = map(shape_of, op.operands)
        raise LayoutError(
            f"matmul: the loops of {left} @ {right} take {box.count} vectors of {box.slots} slots in order, more than "
            f"{MAX_PLACES // box.slots}; have layouts searched",
            at=op.loc,
        )
    *_, first = align(loops, layouts, [box])
    return first


def _together(op: Op, layouts: Layouts, rules: LayoutRules) -> OperationLayouts:
    """Return the operands' layout, if they share one and none has to be stretched; else row-major order."""
    out = shape_of(op.result)
    shapes = [shape_of(value) for value in op.operands]
    lying = {(layout, shape) for layout, shape in zip(layouts, shapes, strict=True) if layout is not None}
    if len(lying) == 1:
        ((layout, shape),) = lying
        if layout is not None and shape == out:
            return OperationLayouts((None,) * len(layouts), layout)
    (result,) = align(Loops.elementwise(*shapes), layouts, [rules.row_major(out)])
    return result
