"""Candidate conversions from one layout to another, in one step or through a layout in between.

The cost model decides among them: see `compiler/layout_choice/conversions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from latticework.errors import LayoutError
from latticework.tensor.layout.conversions.base import Conversion
from latticework.tensor.layout.conversions.block import block
from latticework.tensor.layout.conversions.bsgs_roll import bsgs_roll
from latticework.tensor.layout.conversions.compact import compact
from latticework.tensor.layout.conversions.convert_roll import roll
from latticework.tensor.layout.conversions.convert_take import Take, distinct_vectors
from latticework.tensor.layout.conversions.permute import NEAREST, permute
from latticework.tensor.layout.conversions.replicate import replicate
from latticework.tensor.layout.conversions.rot_roll import rot_roll
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.rotation_distance import find_rotation, forms_of, layout_of
from latticework.values.packing.pack import REPEAT

# (shape, source, target) -> the conversions of that kind that apply. Of equally cheap ones the first is taken.
CONVERSIONS: tuple[Callable[[Shape, Layout, Layout], tuple[Conversion, ...]], ...] = (
    rot_roll, replicate, compact, roll, bsgs_roll, permute, block,
)  # fmt: skip


@lru_cache(maxsize=1 << 14)
def direct(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """All conversions that apply, each by another name; between vectors that differ, of which equal ones are taken.

    raises  LayoutError if the vectors of the two differ in length
    """
    if source.slots != target.slots:
        raise LayoutError(
            f"a conversion between vectors of {source.slots} slots ({source}) and of {target.slots} ({target}); "
            "all vectors of a program have one length: fill the shorter up with [R:extent] or [G:extent]"
        )
    rotation = find_rotation(source, target)
    if rotation is not None and rotation.place is None:
        return (Conversion("take", shape, source, target, (Take(rotation.taken),)),)
    once, inside = distinct_vectors(source), distinct_vectors(target)
    taken, spread = Take(once.first), Take(inside.number)
    rotation = find_rotation(once.layout, inside.layout)
    if once.layout == inside.layout or (rotation is not None and rotation.place is None):
        same = () if rotation is None else (Take(rotation.taken),)
        return (Conversion("take", shape, source, target, (taken, *same, spread)),)
    return tuple(
        replace(c, source=source, target=target, recipes=(taken, *c.recipes, spread))
        for kind in CONVERSIONS
        for c in kind(shape, once.layout, inside.layout)
    )


def candidates(
    shape: Shape, source: Layout, target: Layout, spread: bool = True, rolls: bool = True
) -> tuple[Conversion, ...]:
    """The direct conversions that can be the cheapest: nothing is cheaper than to rotate each vector whole.

    spread  also those that begin with any copy of an element
    rolls   also those that roll
    """
    left_out = [*([] if spread else [NEAREST]), *([] if rolls else ["roll", "rot-roll", "bsgs-roll"])]
    allowed = tuple(c for c in direct(shape, source, target) if c.name not in left_out)
    whole = tuple(c for c in allowed if c.name in ("take", "rot-roll"))
    return whole or allowed or direct(shape, source, target)


def find_conversion(name: str, shape: Shape, source: Layout, target: Layout) -> Conversion:
    """The direct conversion of that name; LayoutError if there is none."""
    by_name = {c.name: c for c in direct(shape, source, target)}
    if name not in by_name:
        raise LayoutError(
            f"there is no conversion {name!r} of shape {shape} from {source} to {target}; there are "
            f"{', '.join(by_name)}"
        )
    return by_name[name]


@lru_cache(maxsize=1 << 14)
def stations(target: Layout) -> tuple[Layout, ...]:
    """Layouts that it may pay to go through, from which the target is reached by rotations.

    Its first vectors, each of which holds all elements: without the vector dims that only rotate others, in every
    form of the target. Where there are none, the same without rolls.
    """
    layouts = []
    for form in forms_of(target):
        read = form.read
        gone = [place for place in range(form.vectors) if form.dims[place].axis == REPEAT and place in read]
        for place in reversed(gone):
            form = form.with_dims(place, 1, (), ())
        if gone:
            layouts.append(distinct_vectors(layout_of(form)).layout)
    if not layouts and target.rolls:
        layouts = [Layout(target.dims, target.vector_dims)]
    return tuple(dict.fromkeys(layouts))
