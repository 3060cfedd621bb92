"""Alignment of two tensors for an operation: boxes in which both lie already, or to which they can be brought.

The rules (Rotom, section 2.2, on loops):

1. Slot dims face each other from the right, longer ones being cut where no roll rotates them.
2. A dim of a loop faces the same dim of the same loop, or a repetition: the other operand lacks that loop there.
3. A gap faces a gap or a repetition.
4. Dims that face their like carry the same rolls, by dims that face each other.
5. A roll of a dim that faces a repetition is free, and so is one by a dim that faces one.
6. Vectors are taken in any order and any number of times, so vector dims face each other by what they walk; a
   repetition that rolls others faces any dim of its length, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

from latticework.tensor.layout.assign import OperationLayouts
from latticework.tensor.layout.canonical import CanonicalForm, rotation_order
from latticework.tensor.layout.conversions.convert_take import distinct_vectors
from latticework.tensor.layout.derive import with_axis, without_copies
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.layout_candidates import sort_vectors
from latticework.tensor.layout.loops import Loops, axes_of, restrict
from latticework.tensor.layout.rotation_distance import cut_dims_alike, find_rotation, forms_of, layout_of
from latticework.tensor.layout.sum_layouts import free_sums, summed_layouts
from latticework.values.packing.pack import GAP, REPEAT, PackDim

Facing = list[tuple[int | None, int | None]]  # places of dims of both forms that face each other; None: nothing


def align(loops: Loops, layouts: Sequence[Layout | None], boxes: Iterable[Layout]) -> Iterator[OperationLayouts]:
    """The placements of an operation whose secret operands meet in boxes, layouts of all its loops (None: public).

    An operand lies where its part of the box does, repeating along the loops that it lacks; the result lies where the
    sums over the loops that it lacks may. Of a box that is too large to be packed, only where they take no mask.
    """
    for box in dict.fromkeys(boxes):
        wanted = tuple(
            None if layout is None else loops.operand_layout(side, box) for side, layout in enumerate(layouts)
        )
        if box.fits:
            results = summed_layouts(box, len(loops.extents), loops.summed, keepdims=False)
        else:
            results = free_sums(box, loops.extents, loops.summed, keepdims=False)
        for result in results:
            yield OperationLayouts(wanted, result, box if loops.summed else None)


def meeting(loops: Loops, layouts: Sequence[Layout | None]) -> Layout | None:
    """The box in which two secret operands lie already, if they are aligned."""
    lifted = [loops.layout_in_loops(side, layout) for side, layout in enumerate(layouts) if layout is not None]
    both = merge(*lifted) if len(lifted) == 2 else None
    return None if both is None else stretch(both, loops.extents)


def around(loops: Loops, layouts: Sequence[Layout | None]) -> list[Layout]:
    """Boxes in which one operand lies already, the loops that it lacks where it repeats or in further vectors."""
    lifted = [loops.layout_in_loops(side, layout) for side, layout in enumerate(layouts) if layout is not None]
    return [stretch(layout, loops.extents) for layout in lifted]


def stretch(layout: Layout, extents: Shape) -> Layout:
    """The layout with the loops that it does not walk yet: on slot dims that repeat, what finds no room on vectors."""
    for loop in reversed(range(len(extents))):
        if extents[loop] > 1 and loop not in axes_of(layout):
            layout = with_axis(layout, loop, extents[loop])
    return without_copies(layout)


@lru_cache(maxsize=4096)
def merge(a: Layout, b: Layout) -> Layout | None:
    """The layout of the loops of both in which both lie as they do; None if they are not aligned."""
    if a.slots != b.slots:
        return None
    for whole, part in ((a, b), (b, a)):
        if axes_of(part) <= axes_of(whole) and _lies(part, restrict(whole, axes_of(part))):
            return whole
    for x, y in product(forms_of(a), forms_of(b)):
        cut = cut_dims_alike(x, y)
        for facing in () if cut is None else _facing_vectors(*cut):
            box = _joint(*cut, facing) if cut is not None else None
            if box is not None and all(_lies(own, restrict(box, axes_of(own))) for own in (a, b)):
                return box
    return None


def _lies(lying: Layout, wanted: Layout) -> bool:
    """Whether a tensor lies as is wanted but for which vectors there are."""
    have, want = distinct_vectors(lying).layout, distinct_vectors(wanted).layout
    rotation = find_rotation(have, want)
    return have == want or (rotation is not None and rotation.place is None)


def _facing_vectors(a: CanonicalForm, b: CanonicalForm) -> Iterator[Facing]:
    """Ways in which vector dims face each other: equal ones of loops do; repetitions that roll choose."""
    same: Facing = [
        (i, j)
        for i in range(a.vectors) for j in range(b.vectors)
        if a.dims[i] == b.dims[j] and a.dims[i].axis >= 0
    ]  # fmt: skip
    alone = [
        [i for i in range(form.vectors) if form.dims[i].axis >= 0 and i not in {pair[side] for pair in same}]
        for side, form in enumerate((a, b))
    ]
    rolling = [[i for i in range(form.vectors) if form.dims[i].axis == REPEAT and i in form.read] for form in (a, b)]
    chosen = [[*(j for j in alone[1] + rolling[1] if b.dims[j].extent == a.dims[i].extent), None] for i in rolling[0]]
    for partners in product(*chosen):
        taken = [j for j in partners if j is not None]
        left = [j for j in rolling[1] if j not in taken]
        others = [[*(i for i in alone[0] if a.dims[i].extent == b.dims[j].extent), None] for j in left]
        for back in product(*others):
            matched = [i for i in back if i is not None]
            if len(set(taken)) < len(taken) or len(set(matched)) < len(matched):
                continue
            pairs: Facing = [*same, *zip(rolling[0], partners, strict=True), *zip(back, left, strict=True)]
            pairs += [(i, None) for i in alone[0] if i not in matched]
            yield pairs + [(None, j) for j in alone[1] if j not in taken]


def _joint(a: CanonicalForm, b: CanonicalForm, vectors: Facing) -> Layout | None:
    """Both written as one, if the rules allow it."""
    facing: Facing = [
        *vectors,
        *((a.vectors + place, b.vectors + place) for place in range(len(a.slot_dims))),
    ]
    places = [{own[side]: place for place, own in enumerate(facing) if own[side] is not None} for side in (0, 1)]
    dims, rotations = [], []
    for own in facing:
        met = [form.dims[k] for form, k in zip((a, b), own, strict=True) if k is not None]
        dim = _face(met)
        if dim is None:
            return None
        rows = {
            tuple(sorted((places[side][by], count) for by, count in form.rotations[k]))
            for side, (form, k) in enumerate(zip((a, b), own, strict=True))
            if k is not None and form.dims[k].axis >= 0
        }
        if len(rows) > 1:
            return None
        dims.append(dim)
        rotations.append(next(iter(rows), ()))
    if rotation_order(tuple(rotations)) is None:
        return None
    return sort_vectors(layout_of(CanonicalForm(tuple(dims), len(vectors), tuple(rotations))))


def _face(met: list[PackDim]) -> PackDim | None:
    """Return the dim that `met`, dims that face each other, are together; None if they do not fit."""
    walking = {dim for dim in met if dim.axis >= 0}
    if len(walking) > 1 or (walking and any(dim.axis == GAP for dim in met)):
        return None
    if walking:
        return walking.pop()
    return min(met, key=lambda dim: dim.axis)  # a gap before a repetition
