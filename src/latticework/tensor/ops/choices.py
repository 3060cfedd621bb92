"""Placements of an operation that a search may choose from, by the layouts of its operands.

An operation without an entry here is one linear map from its operand to any layout of the result: derived from that of
the operand, or one of the forms that fit the result's shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

from latticework.errors import UnsupportedError
from latticework.ir.core import Op
from latticework.tensor.layout.alignment import align, around, meeting
from latticework.tensor.layout.assign import LayoutRules, OperationLayouts
from latticework.tensor.layout.derive import exchange, fill
from latticework.tensor.layout.iteration_space import boxes
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.layout_candidates import holds, join, pad_shape, seeds, skew
from latticework.tensor.layout.loops import Loops
from latticework.tensor.layout.stacked_rows import part_of, stack_layout
from latticework.tensor.layout.sum_layouts import summed_layouts
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.prod import move_multiplied_first
from latticework.values.packing.pack import GAP, REPEAT, PackDim

Layouts = Sequence[Layout | None]
MOST_SEEDS, FEW_SEEDS = 12, 4  # forms of a result that are tried, of one that takes more than LARGE vectors
LARGE = 4
LARGE_BOX = 512  # vectors of a box of which few are tried, because they take long to price


def choices(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterable[OperationLayouts]:
    """Placements of an operation whose operands lie in these layouts (None: public)."""
    return _BY_NAME.get(op.name, linear_map)(op, layouts, rules)


def linear_map(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Anywhere: every axis that is as long as before stays where it is, or a fresh form."""
    lying = next(layout for layout in layouts if layout is not None)
    before = next(shape_of(v) for v, layout in zip(op.operands, layouts, strict=True) if layout is not None)
    after = shape_of(op.result)
    for start in dict.fromkeys((lying, fill(lying))):
        derived = (
            [] if len(before) != len(after) else [similar(start, before, after), stride_layout(start, before, after)]
        )
        wanted = tuple(None if layout is None or start == layout else start for layout in layouts)
        for result in _distinct([*derived, *_forms(after, rules)], after):
            yield OperationLayouts(wanted, result)


def same(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Slot by slot: where the operand lies."""
    assert layouts[0] is not None
    yield OperationLayouts((None,), layouts[0])


def clean(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Slot by slot, by a function that needs other slots cleared: where the operand lies, or without gaps."""
    assert layouts[0] is not None
    lying = layouts[0]
    yield OperationLayouts((None,), lying)
    if any(d.axis == GAP for d in lying.all_dims):
        out = shape_of(op.result)
        for result in _distinct([join(lying), *_forms(out, rules)], out):
            yield OperationLayouts((result,), result)


def elementwise(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Operands brought together where they lie already, or where one of them does."""
    out = shape_of(op.result)
    loops = Loops.elementwise(*map(shape_of, op.operands))
    copied = [None if layout is None else fill(layout) for layout in layouts]
    lying = _distinct([meeting(loops, layouts), *around(loops, layouts), *around(loops, copied)], out)
    secret = sum(layout is not None for layout in layouts)
    fresh = _forms(out, rules) if secret > 1 or not lying else []
    yield from align(loops, layouts, [*lying, *fresh])


def matmul(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Yield placements: one linear map for a public matrix, boxes for two secrets."""
    loops = Loops.matmul(*map(shape_of, op.operands))
    out = shape_of(op.result)
    if None not in layouts:
        is_large = prod(pad_shape(loops.extents)) > LARGE_BOX * rules.slots
        boxed = list(align(loops, layouts, _boxes(loops, layouts, out, rules, is_large)))
        if is_large and not any(placement.fits for placement in boxed):
            boxed = list(align(loops, layouts, _fresh_boxes(loops, _forms(out, rules), out, rules, is_large)))
        yield from boxed
        return
    (side,) = (side for side in (0, 1) if layouts[side] is not None)
    lying = layouts[side]
    assert lying is not None
    for start in dict.fromkeys((lying, fill(lying))):
        wanted = tuple(start if i == side and start != lying else None for i in (0, 1))
        for result in _distinct([_exchange(loops, side, start, out), *_forms(out, rules)], out):
            yield OperationLayouts(wanted, result)
    rotated = skew(shape_of(op.operands[side]), rules.slots, prod(out)) if rules.rolls else None
    if rotated is not None:
        wanted = tuple(rotated if i == side else None for i in (0, 1))
        yield OperationLayouts(wanted, rules.row_major(out))


def _exchange(loops: Loops, side: int, lying: Layout, out: Shape) -> Layout:
    """Return the layout of a result if an operand's axes stay and others take the place of the summed one."""
    staying = loops.kept_axes(side)
    return exchange(lying, staying, [(axis, out[axis]) for axis in range(len(out)) if axis not in staying.values()])


def _boxes(loops: Loops, layouts: Layouts, out: Shape, rules: LayoutRules, is_large: bool) -> Iterator[Layout]:
    """Yield the box of two secret operands as they lie; and boxes around layouts of the result, fewer of large ones."""
    yield from _distinct([meeting(loops, layouts)], loops.extents)
    sides = [_exchange(loops, side, layout, out) for side, layout in enumerate(layouts) if layout is not None]
    yield from _fresh_boxes(loops, [*sides, *([] if is_large else _forms(out, rules))], out, rules, is_large)


def _fresh_boxes(
    loops: Loops, results: Iterable[Layout], out: Shape, rules: LayoutRules, is_large: bool
) -> Iterator[Layout]:
    """Boxes around places of the result."""
    (summed,), own = loops.summed, (loops.own(0), loops.own(1))
    for result in _distinct(results, out):
        yield from boxes(result, summed, loops.extents[summed], own, is_large, rules.rolls)


def total(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Yield the layouts that sums come to, and others by one linear map."""
    assert layouts[0] is not None
    rank, out = len(shape_of(op.operands[0])), shape_of(op.result)
    axes, keepdims = op.attrs["axes"], op.attrs["keepdims"]
    lying = summed_layouts(layouts[0], rank, axes, keepdims)
    for result in _distinct([*lying, *_forms(out, rules)], out):
        yield OperationLayouts((None,), result)


def products(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Yield the operation's one placement: the multiplied axes in front of one vector."""
    choice = move_multiplied_first(op, layouts, rules)
    lying = choice.operands[0]
    if lying is not None and lying.count > 1:
        raise UnsupportedError(
            f"prod: an array of shape {shape_of(op.operands[0])} takes {lying.count} vectors of {rules.slots} slots; "
            "products over axes stay within one: multiply slices of it instead",
            at=op.loc,
        )
    yield choice


def rename(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """A transpose moves nothing."""
    assert layouts[0] is not None
    yield OperationLayouts((None,), layouts[0].renumber_axes({old: new for new, old in enumerate(op.attrs["axes"])}))


def relabel(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """A reshape moves nothing where every dim lies within one new axis; else anywhere by one linear map."""
    assert layouts[0] is not None
    old, new = shape_of(op.operands[0]), shape_of(op.result)
    reshaped = reshape_layout(layouts[0], old, new)
    if reshaped is not None:
        yield OperationLayouts((None,), reshaped)
        return
    for result in _distinct(_forms(new, rules), new):
        yield OperationLayouts((None,), result)


def reshape_layout(layout: Layout, old: Shape, new: Shape) -> Layout | None:
    """The same places under another shape, or None if a dim walks across axes or padding gets in the way."""
    places: list[list[PackDim]] = []
    for dim in layout.all_dims:
        if dim.axis < 0:
            places.append([dim])
            continue
        parts = _within(dim, old, new)
        if parts is None:
            return None
        places.append(parts)
    if any(len(parts) > 1 and any(i in roll for roll in layout.rolls) for i, parts in enumerate(places)):
        return None
    first = len(layout.vector_dims)
    number = [sum(len(parts) for parts in places[:i]) for i in range(len(places))]
    reshaped = Layout(
        tuple(part for parts in places[first:] for part in parts),
        tuple(part for parts in places[:first] for part in parts),
        tuple((number[i], number[j]) for i, j in layout.rolls),
    )
    before, after = layout.pack_map(old).element_of_slot(), reshaped.pack_map(new).element_of_slot()
    return reshaped if before.shape == after.shape and bool((before == after).all()) else None


def _within(dim: PackDim, old: Shape, new: Shape) -> list[PackDim] | None:
    """A dim as dims of the new axes, slowest first."""
    weight, extent = dim.stride, dim.extent
    for n in old[dim.axis + 1 :]:
        weight *= n
    parts: list[PackDim] = []
    stride = 1
    for axis in reversed(range(len(new))):
        if extent > 1 and stride <= weight < stride * new[axis]:
            if weight % stride:
                return None
            along = weight // stride
            inside = min(extent, -(-new[axis] // along))
            if extent % inside:
                return None
            parts.insert(0, PackDim(axis, inside, along))
            extent //= inside
            weight *= inside
        stride *= new[axis]
    return parts if extent == 1 and parts else ([PackDim(REPEAT, 1)] if dim.extent == 1 else None)


def similar(layout: Layout, before: Shape, after: Shape) -> Layout:
    """Axes of the same padded length where they are; others put where the old ones were, as far as there is rules."""
    staying = {axis: axis for axis in range(len(after)) if pad_shape(before)[axis] == pad_shape(after)[axis]}
    return exchange(layout, staying, [(axis, n) for axis, n in enumerate(after) if axis not in staying])


def stride_layout(layout: Layout, before: Shape, after: Shape) -> Layout | None:
    """Axes that became shorter by a power of two leave gaps where their other elements were; None if that says nothing.

    Only where a slot dim walks the axis by ones, which is where every second element lies beside what is dropped.
    """
    factors = [m // n if m >= n else 0 for m, n in zip(pad_shape(before), pad_shape(after), strict=True)]
    if layout.rolls or 0 in factors or max(factors, default=1) == 1:
        return None
    first = len(layout.vector_dims)
    changed: list[list[PackDim]] = []
    for i, dim in enumerate(layout.all_dims):
        factor = factors[dim.axis] if dim.axis >= 0 else 1
        if factor == 1:
            changed.append([dim])
        elif dim.stride == 1 and dim.extent % factor == 0 and i >= first:
            changed.append([PackDim(dim.axis, dim.extent // factor), PackDim(GAP, factor)])
        elif dim.stride % factor == 0:
            changed.append([PackDim(dim.axis, dim.extent, dim.stride // factor)])
        else:
            return None
    return Layout(
        tuple(d for part in changed[first:] for d in part), tuple(d for part in changed[:first] for d in part)
    )


def _forms(shape: Shape, rules: LayoutRules) -> list[Layout]:
    most = MOST_SEEDS if prod(pad_shape(shape)) <= LARGE * rules.slots else FEW_SEEDS
    return list(seeds(shape, rules.slots))[:most]


def _distinct(layouts: Iterable[Layout | None], shape: Shape) -> list[Layout]:
    return [layout for layout in dict.fromkeys(layouts) if layout is not None and holds(layout, shape)]


def in_rows(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """The leading axis along vectors, and every part in one of its forms."""
    shape = shape_of(op.result)
    assert layouts[0] is not None
    lying = [layouts[0]] if part_of(layouts[0]) is not None else []
    for result in _distinct([*lying, *(stack_layout(part, shape[0]) for part in _forms(shape[1:], rules))], shape):
        yield OperationLayouts((result,), result)


def blank(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Zeros with the leading axis along vectors."""
    shape = shape_of(op.result)
    for result in _distinct((stack_layout(part, shape[0]) for part in _forms(shape[1:], rules)), shape):
        yield OperationLayouts((), result)


def part_taken(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """A part lies as all of them do."""
    assert layouts[0] is not None
    part = part_of(layouts[0])
    if part is not None:
        yield OperationLayouts((None, None), part)


def part_put(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """A part is brought to where the array has it."""
    assert layouts[0] is not None
    part = part_of(layouts[0])
    if part is not None:
        yield OperationLayouts((None, part, None), layouts[0])


def public_part(op: Op, layouts: Layouts, rules: LayoutRules) -> Iterator[OperationLayouts]:
    """Anywhere: a part of a public table is packed as it is wanted."""
    for result in _distinct(_forms(shape_of(op.result), rules), shape_of(op.result)):
        yield OperationLayouts((None,), result)


_BY_NAME: dict[str, Callable[[Op, Layouts, LayoutRules], Iterable[OperationLayouts]]] = {
    "tensor.add": elementwise,
    "tensor.sub": elementwise,
    "tensor.mul": elementwise,
    "tensor.neg": same,
    "tensor.polynomial": clean,
    "tensor.matmul": matmul,
    "tensor.sum": total,
    "tensor.prod": products,
    "tensor.transpose": rename,
    "tensor.reshape": relabel,
    "tensor.rows": in_rows,
    "tensor.part": part_taken,
    "tensor.with_part": part_put,
    "tensor.row": public_part,
    "tensor.blank": blank,
    "tensor.trivial": lambda op, layouts, rules: [OperationLayouts((None,), rules.row_major(shape_of(op.result)))],
}
