"""The canonical form of a layout's dimensions and rolls: layouts that mean the same are written the same.

Rolls are read as *rotations*: the index along a dimension is its own place plus a whole number of times the places of
others, `rotations[i][j]` of them, modulo its extent. What has no effect is dropped (extents of 1, rotations by a gap or
of a repetition, whole rotations); a dimension rotated only by multiples of a factor is split there, so that rotations
are by ones; neighbours are joined; and of the forms that say which of two dimensions walks and which repeats, where one
is rolled by the other, the one is taken that walks further right. Rolls that go round in a circle, or pass through a
dimension that a longer one cannot divide, are no rotations: they stay as written, independent ones in a fixed order.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.pack import GAP, REPEAT, IntArray, PackDim, Roll

MOST_FORMS = 64  # of one layout, between which the canonical one is chosen
LayoutParts = tuple[tuple[PackDim, ...], tuple[PackDim, ...], tuple[Roll, ...]]  # slot dims, vector dims, rolls
Rotations = tuple[tuple[tuple[int, int], ...], ...]  # of each dimension: (by which one, how many times), ascending


@dataclass(frozen=True, slots=True)
class CanonicalForm:
    """Dimensions as written, the first `vectors` of which number the vectors, and the rotations of each."""

    dims: tuple[PackDim, ...]
    vectors: int
    rotations: Rotations

    @property
    def slot_dims(self) -> tuple[PackDim, ...]:
        """Those of the slots."""
        return self.dims[self.vectors :]

    @property
    def count(self) -> int:
        """Number of vectors."""
        return prod(d.extent for d in self.dims[: self.vectors])

    @property
    def read(self) -> set[int]:
        """Dimensions by whose places others are rotated."""
        return {by for row in self.rotations for by, _ in row}

    @property
    def rolls(self) -> tuple[Roll, ...]:
        """The rolls that make the rotations: each of the places as they are, before anything rotates those."""
        order = rotation_order(self.rotations)
        assert order is not None
        return tuple((i, by) for i in order for by, count in self.rotations[i] for _ in range(count))

    def vector_index(self) -> IntArray:
        """The place of each vector along each dimension that numbers them, shape (vectors, count)."""
        extents = tuple(d.extent for d in self.dims[: self.vectors])
        return np.indices(extents, dtype=np.int64).reshape(self.vectors, self.count)

    def split(self, place: int, inner: int) -> CanonicalForm:
        """Split a dimension that nothing rotates in two, the faster one of `inner` steps."""
        dim = self.dims[place]
        slower = PackDim(dim.axis, dim.extent // inner, dim.stride * inner if dim.axis >= 0 else 1)
        return self.with_dims(place, 1, (slower, PackDim(dim.axis, inner, dim.stride)), (inner, 1))

    def with_dims(self, first: int, removed: int, added: tuple[PackDim, ...], seen: tuple[int, ...]) -> CanonicalForm:
        """Dimensions [first, first + removed) replaced.

        seen  how many times a step along each new one counts in rotations by those replaced; one by several of
              them must have been a rotation by their joint place, that of the last one
        Rotations of those replaced go; whoever calls puts them back.
        """
        last, moved = first + removed - 1, len(added) - removed

        def rename_roll(rotation: tuple[int, int], extent: int) -> list[tuple[int, int]]:
            by, count = rotation
            if first <= by < last:
                return []
            if by == last:
                return [(first + k, times * count % extent) for k, times in enumerate(seen) if times * count % extent]
            return [(by + moved if by > last else by, count)]

        rotations = [
            tuple(sorted(new for rotation in row for new in rename_roll(rotation, dim.extent)))
            for dim, row in zip(self.dims, self.rotations, strict=True)
        ]
        rotations[first : first + removed] = [()] * len(added)
        dims = (*self.dims[:first], *added, *self.dims[first + removed :])
        return CanonicalForm(dims, self.vectors + (moved if first < self.vectors else 0), tuple(rotations))

    def with_rotations(self, place: int, row: tuple[tuple[int, int], ...]) -> CanonicalForm:
        """Return the form with one dimension's rotations replaced."""
        return CanonicalForm(self.dims, self.vectors, (*self.rotations[:place], row, *self.rotations[place + 1 :]))


@lru_cache(maxsize=4096)
def canonical(dims: tuple[PackDim, ...], vector_dims: tuple[PackDim, ...], rolls: tuple[Roll, ...]) -> LayoutParts:
    """The canonical slot dims, vector dims and rolls."""
    every = tuple(PackDim(d.axis, d.extent, d.stride if d.axis >= 0 else 1) for d in (*vector_dims, *dims))
    rolls = _effective(every, rolls)
    rotations = _find_rotations(every, rolls)
    if rotations is None:
        form, rolls = _as_written(every, len(vector_dims), rolls)
    else:
        form = _tidy(CanonicalForm(every, len(vector_dims), rotations))
        if any(form.rotations):
            form = min(_find_forms(form), key=_preference)
        rolls = form.rolls
    return form.dims[form.vectors :], form.dims[: form.vectors], rolls


def _effective(dims: tuple[PackDim, ...], rolls: tuple[Roll, ...]) -> tuple[Roll, ...]:
    """Drop rolls that plainly do nothing: by a gap, of one step, of a repetition that rolls nothing afterwards."""
    effective: list[Roll] = []
    read: set[int] = set()
    for i, j in reversed(rolls):
        idle = dims[j].axis == GAP or 1 in (dims[i].extent, dims[j].extent)
        if not idle and (dims[i].axis >= 0 or i in read):
            effective.append((i, j))
            read.add(j)
    return tuple(reversed(effective))


@lru_cache(maxsize=4096)
def forms(
    dims: tuple[PackDim, ...], vector_dims: tuple[PackDim, ...], rolls: tuple[Roll, ...]
) -> tuple[CanonicalForm, ...]:
    """All forms of a canonical layout, the canonical one first; none where its rolls are no rotations."""
    rotations = _find_rotations((*vector_dims, *dims), rolls)
    return (
        ()
        if rotations is None
        else tuple(_find_forms(CanonicalForm((*vector_dims, *dims), len(vector_dims), rotations)))
    )


def _find_rotations(dims: tuple[PackDim, ...], rolls: tuple[Roll, ...]) -> Rotations | None:
    """The rotations that rolls amount to, or None if they are none."""
    rows: list[dict[int, int]] = [{} for _ in dims]
    for i, j in rolls:
        extent = dims[i].extent
        if rows[j] and dims[j].extent % extent:
            return None
        for by, count in (*rows[j].items(), (j, 1)):
            if by == i:
                return None
            rows[i][by] = (rows[i].get(by, 0) + count) % extent
    walking = [dim.axis >= 0 for dim in dims]
    rotations = tuple(
        tuple(sorted((by, count) for by, count in row.items() if count)) if walks else ()
        for row, walks in zip(rows, walking, strict=True)
    )
    return rotations if rotation_order(rotations) is not None else None


def rotation_order(rotations: Rotations) -> list[int] | None:
    """Rotated dimensions, each before those that it is rotated by, the lowest first; None if they go in a circle."""
    left = {i: {by for by, _ in row if rotations[by]} for i, row in enumerate(rotations) if row}
    order: list[int] = []
    while left:
        free = next((i for i in left if not any(i in by for by in left.values())), None)
        if free is None:
            return None
        order.append(free)
        del left[free]
    return order


def _tidy(form: CanonicalForm) -> CanonicalForm:
    """Drop extents of 1, split where a rotation is a multiple, join neighbours, widen the leading gap."""
    for place in reversed(range(len(form.dims))):
        if form.dims[place].extent == 1:
            form = form.with_dims(place, 1, (), ())
    place = 0
    while place < len(form.dims):
        dim, row = form.dims[place], form.rotations[place]
        step = gcd(dim.extent, *(count for _, count in row)) if row else 1
        if step > 1:
            form = form.split(place, step)
            slower = dim.extent // step
            form = form.with_rotations(place, tuple((by + (by > place), count // step % slower) for by, count in row))
        place += 1
    place = 0
    while place + 1 < len(form.dims):
        joined = _join(form, place)
        form, place = (form, place + 1) if joined is None else (joined, max(place - 1, 0))
    return _wide_gap(form)


def _join(form: CanonicalForm, place: int) -> CanonicalForm | None:
    """A dimension joined with its right neighbour, or None where they cannot be."""
    a, b = form.dims[place], form.dims[place + 1]
    if a.axis != b.axis or place + 1 == form.vectors or form.rotations[place] or form.rotations[place + 1]:
        return None
    if a.axis >= 0 and a.stride != b.stride * b.extent:
        return None
    for dim, row in zip(form.dims, form.rotations, strict=True):
        counts = dict(row)
        if (counts.get(place, 0) - counts.get(place + 1, 0) * b.extent) % dim.extent:
            return None
    return form.with_dims(place, 2, (PackDim(a.axis, a.extent * b.extent, b.stride),), (1,))


def _wide_gap(form: CanonicalForm) -> CanonicalForm:
    """A gap before all other slots takes as many steps as fit in the vector, which is a power of two long."""
    slot_dims = form.dims[form.vectors :]
    if not slot_dims or slot_dims[0].axis != GAP:
        return form
    rest = prod(d.extent for d in slot_dims[1:])
    extent = vector_slots(slot_dims) // rest
    dims = (*form.dims[: form.vectors], PackDim(GAP, extent), *slot_dims[1:])
    return CanonicalForm(dims, form.vectors, form.rotations)


def vector_slots(dims: tuple[PackDim, ...]) -> int:
    """Length of the vectors that slot dims need: a power of two."""
    return 1 << (prod(d.extent for d in dims) - 1).bit_length()


def _find_forms(form: CanonicalForm) -> list[CanonicalForm]:
    """All forms that differ in which of a dimension and a repetition that it is rolled by is called the repetition."""
    result = [form]
    for known in result:
        for place, row in enumerate(known.rotations):
            for by, count in row:
                other = _exchange(known, place, by) if count == 1 else None
                if other is not None and other not in result and len(result) < MOST_FORMS:
                    result.append(other)
    return result


def _exchange(form: CanonicalForm, place: int, by: int) -> CanonicalForm | None:
    """The dimension at `place` walking along the repetition that rotates it, the sum being the same; None if not so."""
    extent = form.dims[place].extent
    if form.dims[by].axis != REPEAT or form.dims[by].extent % extent:
        return None
    if form.dims[by].extent > extent:
        row = form.rotations[place]
        form = form.split(by, extent)
        place += place > by
        by += 1
        assert dict(form.rotations[place]).get(by) == 1, row
    row = tuple(sorted((place, 1) if rotation == (by, 1) else rotation for rotation in form.rotations[place]))
    dims = list(form.dims)
    dims[place], dims[by] = dims[by], dims[place]
    form = CanonicalForm(tuple(dims), form.vectors, form.rotations).with_rotations(place, ()).with_rotations(by, row)
    return _tidy(form) if rotation_order(form.rotations) is not None else None


def _preference(form: CanonicalForm) -> tuple[object, ...]:
    """Few dimensions, few rotations, repetition to the left."""
    rotations = sum(count for row in form.rotations for _, count in row)
    return len(form.dims), rotations, [(d.axis, d.extent, d.stride) for d in form.dims], form.vectors, form.rotations


def _as_written(
    dims: tuple[PackDim, ...], vectors: int, rolls: tuple[Roll, ...]
) -> tuple[CanonicalForm, tuple[Roll, ...]]:
    """Rolls that are no rotations, independent ones in order; dimensions that have a part in them stay as they are."""
    remaining, ordered = list(rolls), []
    while remaining:
        free = min(r for n, r in enumerate(remaining) if all(r[0] != k[1] and r[1] != k[0] for k in remaining[:n]))
        remaining.remove(free)
        ordered.append(free)
    # Marked as rotated by themselves, dimensions are neither joined nor split.
    used = {place for roll in ordered for place in roll}
    form = _tidy(CanonicalForm(dims, vectors, tuple(((i, 1),) if i in used else () for i in range(len(dims)))))
    places = [i for i, row in enumerate(form.rotations) if row]
    renumbered = dict(zip(sorted(used), places, strict=True))
    return form, tuple((renumbered[i], renumbered[j]) for i, j in ordered)
