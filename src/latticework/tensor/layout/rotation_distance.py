"""Rotation distance of two layouts: whole vectors taken and one slot dimension rotated, which tells what rolls cost.

Both layouts are cut into the same slot dimensions, each written in all forms that mean the same. Then the layouts may
differ in which vectors there are, which is free, and in how far the index along a dimension is rotated: by an amount
that depends on the vector, and by the places along other slot dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.canonical import CanonicalForm, forms
from latticework.tensor.layout.layout import Layout
from latticework.values.packing.pack import GAP, REPEAT, IntArray, PackDim

Part = tuple[tuple[int, int], ...]
_REPETITION, _ROTATIONS = "repetition", "rotations"


@dataclass(frozen=True, slots=True)
class DimRotation:
    """Rotation that makes one layout of another.

    dims     slot dimensions that both have
    taken    for each vector of the target the vector of the source that it is a rotated copy of
    place    the slot dimension that is rotated; None if none is
    amounts  how far, for each vector of the target: it then holds at index t what the source has at (t + amount)
             modulo the extent
    by       (slot dimension, times): how far besides, for each step along another slot dimension
    cyclic   rotating the whole vector rotates that dimension: all outside it repeats, all slots are in use
    """

    dims: tuple[PackDim, ...]
    taken: tuple[int, ...]
    place: int | None
    amounts: tuple[int, ...]
    by: tuple[tuple[int, int], ...]
    cyclic: bool

    @property
    def extent(self) -> int:
        """Length of the dimension that is rotated."""
        return 1 if self.place is None else self.dims[self.place].extent

    @property
    def step(self) -> int:
        """Slots that one step along it is."""
        return 1 if self.place is None else prod(d.extent for d in self.dims[self.place + 1 :])


@lru_cache(maxsize=4096)
def find_rotation(source: Layout, target: Layout) -> DimRotation | None:
    """The rotation with the fewest rotated vectors that makes the target of the source; None if there is none."""
    if source.slots != target.slots:
        return None
    candidates = [
        rotation
        for a, b in product(forms_of(source), forms_of(target))
        for cut in [cut_dims_alike(a, b)]
        if cut is not None
        for alike in (_REPETITION, _ROTATIONS, None)
        for rotation in [_find_between(*cut, alike, target.slots)]
        if rotation is not None
    ]
    return min(candidates, key=_preference, default=None)


def forms_of(layout: Layout) -> tuple[CanonicalForm, ...]:
    """All forms of a layout, the canonical one first; none where its rolls are no rotations."""
    return forms(layout.dims, layout.vector_dims, layout.rolls)


def layout_of(form: CanonicalForm) -> Layout:
    """The layout that is written so."""
    return Layout(form.slot_dims, form.dims[: form.vectors], form.rolls)


def with_gaps(form: CanonicalForm, places: Sequence[int]) -> Layout:
    """The layout with slot dimensions, by which nothing is rotated, made gaps."""
    dims = list(form.dims)
    for place in places:
        dims[form.vectors + place] = PackDim(GAP, dims[form.vectors + place].extent)
    return layout_of(CanonicalForm(tuple(dims), form.vectors, form.rotations))


def _preference(rotation: DimRotation) -> tuple[object, ...]:
    return (
        bool(rotation.by),
        not rotation.cyclic,
        sum(a != 0 for a in rotation.amounts),
        rotation.taken,
        rotation.amounts,
        rotation.place or 0,
    )


def cut_dims_alike(a: CanonicalForm, b: CanonicalForm) -> tuple[CanonicalForm, CanonicalForm] | None:
    """Both with slot dimensions of the same extents, longer ones split where they can be; None where they cannot."""
    place = 1  # from the right
    while place <= min(len(a.slot_dims), len(b.slot_dims)):
        left, right = a.slot_dims[-place].extent, b.slot_dims[-place].extent
        if left != right:
            longer, inner = (a, right) if left > right else (b, left)
            if max(left, right) % inner or longer.rotations[-place]:
                return None
            cut = longer.split(len(longer.dims) - place, inner)
            a, b = (cut, b) if left > right else (a, cut)
        place += 1
    return (a, b) if len(a.slot_dims) == len(b.slot_dims) else None


def _find_between(a: CanonicalForm, b: CanonicalForm, alike: str | None, slots: int) -> DimRotation | None:
    """The rotation from a to b; None if there is none.

    alike  whether vectors of b are those of a at the same index of repetition, or rotated as far; else the first of a
           that hold the same
    """
    if any(not _serves(x, y) for x, y in zip(a.slot_dims, b.slot_dims, strict=True)):
        return None
    taken = _find_taken(a, b, alike)
    if taken is None:
        return None
    rotated: list[int] = []
    amounts: tuple[int, ...] = ()
    by: tuple[tuple[int, int], ...] = ()
    for place, dim in enumerate(b.slot_dims):
        if dim.axis < 0:
            continue
        far = (_by_vectors(b, place) - _by_vectors(a, place)[list(taken)]) % dim.extent
        besides = _by_slots(b, place)
        for slot, count in _by_slots(a, place).items():
            besides[slot] = (besides.get(slot, 0) - count) % dim.extent
        steps = tuple(sorted((slot, count) for slot, count in besides.items() if count))
        if far.any() or steps:
            rotated.append(place)
            amounts, by = tuple(far.tolist()), steps
    if len(rotated) > 1:
        return None
    if not rotated:
        return DimRotation(b.slot_dims, taken, None, (0,) * len(taken), (), True)
    place = rotated[0]
    read = a.read
    if place + a.vectors in read:
        return None
    outside = range(place)
    cyclic = (
        not by
        and prod(d.extent for d in b.slot_dims) == slots
        and all(a.slot_dims[k].axis == REPEAT and k + a.vectors not in read for k in outside)
    )
    return DimRotation(b.slot_dims, taken, place, amounts, by, cyclic)


def _serves(a: PackDim, b: PackDim) -> bool:
    """Whether slots along a dimension of the source hold what the target has there."""
    return a == b or (b.axis == GAP and a.axis == REPEAT)


def _by_vectors(form: CanonicalForm, place: int) -> IntArray:
    """Return the amount by which each vector rotates a slot dimension."""
    total = np.zeros(form.count, dtype=np.int64)
    index = form.vector_index()
    for by, count in form.rotations[form.vectors + place]:
        if by < form.vectors:
            total += count * index[by]
    return total


def _by_slots(form: CanonicalForm, place: int) -> dict[int, int]:
    return {by - form.vectors: count for by, count in form.rotations[form.vectors + place] if by >= form.vectors}


def _find_taken(a: CanonicalForm, b: CanonicalForm, alike: str | None) -> tuple[int, ...] | None:
    """Find for each vector of b the one of a that holds the same part of the tensor; None if there is none."""
    if any(by >= form.vectors for form in (a, b) for row in form.rotations[: form.vectors] for by, _ in row):
        return None
    numbers: dict[object, int] = {}
    keep = alike == _REPETITION
    rotations = [_vector_rotations(form) if alike == _ROTATIONS else [()] * form.count for form in (a, b)]
    for number, key in enumerate(zip(vector_parts(a, keep), rotations[0], strict=True)):
        numbers.setdefault(key, number)
    wanted = zip(vector_parts(b, keep), rotations[1], strict=True)
    taken = tuple(0 if part is None else numbers.get((part, rotation), -1) for part, rotation in wanted)
    return None if -1 in taken else taken


def _vector_rotations(form: CanonicalForm) -> list[tuple[int, ...]]:
    """Return for each vector the amounts by which it rotates the slot dimensions."""
    rotations = [_by_vectors(form, place) % dim.extent for place, dim in enumerate(form.slot_dims)]
    return list(map(tuple, np.array(rotations).reshape(-1, form.count).T.tolist()))


def vector_parts(form: CanonicalForm, keep: bool = False) -> list[Part | None]:
    """Return the start of each vector as (axis, index) of every index that is not 0; None for unused vectors.

    keep  also which repetition it is, as if that were an axis
    """
    index = form.vector_index()
    axes = sorted({d.axis for d in form.dims if d.axis >= 0})
    starts = np.zeros((len(axes) + 1, form.count), dtype=np.int64)
    used = np.ones(form.count, dtype=bool)
    for place, dim in enumerate(form.dims[: form.vectors]):
        digit = index[place]
        for by, count in form.rotations[place]:
            digit = (digit + count * index[by]) % dim.extent
        if dim.axis >= 0:
            starts[axes.index(dim.axis)] += digit * dim.stride
        elif dim.axis == GAP:
            used &= digit == 0
        elif keep:
            starts[-1] = starts[-1] * dim.extent + digit
    names = [*axes, REPEAT]
    return [
        tuple((axis, at) for axis, at in zip(names, column, strict=True) if at) if is_used else None
        for column, is_used in zip(starts.T.tolist(), used, strict=True)
    ]
