"""Which conversion to use: the cheapest of all that apply, by itself or through one layout in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from latticework.errors import LayoutError
from latticework.layout.canonical import Form
from latticework.layout.conversions.base import Conversion, conversion, then
from latticework.layout.conversions.block import block
from latticework.layout.conversions.bsgs_roll import bsgs_roll
from latticework.layout.conversions.compact import compact
from latticework.layout.conversions.permute import permute
from latticework.layout.conversions.price import Price, Weights
from latticework.layout.conversions.replicate import replicate
from latticework.layout.conversions.roll import roll
from latticework.layout.conversions.rot_roll import rot_roll
from latticework.layout.conversions.take import Take, distinct_vectors
from latticework.layout.layout import Layout, Shape
from latticework.layout.turning import forms_of, layout_of
from latticework.plan.pack import REPEAT

# (shape, source, target) -> the conversions of that kind that apply. Of equally cheap ones the first is taken.
CONVERSIONS: tuple[Callable[[Shape, Layout, Layout], tuple[Conversion, ...]], ...] = (
    rot_roll, replicate, compact, roll, bsgs_roll, permute, block,
)  # fmt: skip


@lru_cache(maxsize=1 << 14)
def direct(shape: Shape, source: Layout, target: Layout) -> tuple[Conversion, ...]:
    """All conversions that apply; between vectors that differ, from which equal ones are then taken.

    raises  LayoutError if the vectors of the two differ in length
    """
    if source.slots != target.slots:
        raise LayoutError(
            f"a conversion between vectors of {source.slots} slots ({source}) and of {target.slots} ({target}); "
            "all vectors of a program have one length: fill the shorter up with [R:extent] or [G:extent]"
        )
    if source == target:
        return (Conversion("kept", shape, source, target, (), Price()),)
    free = [c for c in rot_roll(shape, source, target) if c.price.rotations == 0]
    if free:
        return tuple(free)
    once, inside = distinct_vectors(source), distinct_vectors(target)
    taken = conversion("taken", shape, source, once.layout, Take(once.first))
    spread = conversion("taken", shape, inside.layout, target, Take(inside.number))
    if once.layout == inside.layout:
        return (then(taken, spread),)
    between = (c for kind in CONVERSIONS for c in kind(shape, once.layout, inside.layout))
    return tuple(then(then(taken, c), spread) for c in between)


def cheapest(
    shape: Shape, source: Layout, target: Layout, weights: Weights, through: Iterable[Layout] = ()
) -> Conversion:
    """The cheapest conversion, directly or through one layout in between: of `through`, or one that rolls suggest."""

    def cost(c: Conversion) -> float:
        return c.price.weighted(weights)

    best = min(direct(shape, source, target), key=cost)
    if best.price.rotations == best.price.products == 0:
        return best
    for middle in dict.fromkeys((*stations(source, target), *through)):
        if middle.slots == source.slots and middle not in (source, target):
            first = min(direct(shape, source, middle), key=cost)
            if cost(first) < cost(best):
                best = min(best, then(first, min(direct(shape, middle, target), key=cost)), key=cost)
    return best


@lru_cache(maxsize=1 << 14)
def stations(source: Layout, target: Layout) -> tuple[Layout, ...]:
    """Layouts that it may pay to go through: without rolls, without repeated vectors, without either."""
    found: list[Layout] = []
    for layout in (target, source):
        for form in forms_of(layout):
            unrolled = Form(form.dims, form.vectors, ((),) * len(form.dims))
            found += [layout_of(_without_repeated_vectors(f)) for f in (form, unrolled)] + [layout_of(unrolled)]
    return tuple(dict.fromkeys(found))


def _without_repeated_vectors(form: Form) -> Form:
    for place in reversed(range(form.vectors)):
        if form.dims[place].axis == REPEAT:
            form = form.with_dims(place, 1, (), ())
    return form
