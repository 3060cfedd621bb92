"""Copies of elements, and the copy that serves a slot: the one that the smallest left rotation brings there.

Copies at one slot of several vectors are equally near; the lowest vector is taken.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from latticework.values.packing.pack import IntArray, PackMap


class Copies(NamedTuple):
    """Places of all elements of a packing, ordered by element, then slot, then vector.

    key     element * slots + slot, ascending
    vector  of each
    first   where the copies of each element begin; shape (size + 1,)
    """

    key: IntArray
    vector: IntArray
    first: IntArray


@lru_cache(maxsize=64)
def copies(pack: PackMap) -> Copies:
    """The places of all elements."""
    element = pack.element_of_slot()
    place = np.flatnonzero(element >= 0)
    key = element[place] * pack.slots + place % pack.slots
    order = np.argsort(key, kind="stable")  # places ascend, so among equal keys the vectors do
    key = key[order]
    first = np.searchsorted(key, np.arange(pack.size + 1, dtype=np.int64) * pack.slots)
    return Copies(key, place[order] // pack.slots, first)


def nearest(pack: PackMap, element: IntArray, slot: IntArray) -> tuple[IntArray, IntArray]:
    """(vector, steps) of the copy of each element that the smallest left rotation brings to a slot."""
    table = copies(pack)
    place = np.searchsorted(table.key, element * pack.slots + slot)
    place = np.where(place < table.first[element + 1], place, table.first[element])  # past the last one: around
    return table.vector[place], (table.key[place] - slot) % pack.slots


@lru_cache(maxsize=64)
def row_service(pack: PackMap, width: int) -> tuple[IntArray, IntArray]:
    """(from, below): rotations by which each place serves where the slots `width` apart share the sums of one output.

    Of the slots residue, residue + width, ... only that is served which has a copy the nearest to its right, of equally
    near ones the lowest. Of a row one slot lies less than `width` to the left of any copy, so only what the copies are
    modulo the width tells how near they are. Where several are the same modulo the width, the first of them serves
    slots of its own row; those of the row before are served by the first that lies not in the lowest row.

    shape (count, slots); 0 and 0 where nothing is served
    """
    table, slots = copies(pack), pack.slots
    (distinct,) = np.nonzero(np.diff(table.key, prepend=-1))
    element, slot = np.divmod(table.key[distinct], slots)
    order = np.lexsort((slot, slot % width, element))
    element, slot, vector = element[order], slot[order], table.vector[distinct[order]]
    residue = slot % width
    is_first = np.diff(element * width + residue, prepend=-1) != 0  # of those that are the same modulo the width
    is_second = np.roll(is_first, 1) & ~is_first
    is_last = np.roll(is_first, -1)
    lowest = slot < width
    of_before = (is_first & (~lowest | is_last)) | (is_second & np.roll(lowest, 1))
    groups = np.flatnonzero(is_first)
    residues, begins = residue[groups], np.diff(element[groups], prepend=-1) != 0
    before = np.roll(residues, 1)
    before[begins] = residues[np.roll(begins, -1)]  # the last one of the same element: around
    gap = (residues - before) % width
    gap = np.repeat(np.where(gap == 0, width, gap), np.diff(np.append(groups, slot.size)))
    begin, end = np.zeros((2, pack.count, slots), dtype=np.int64)
    own = np.minimum(residue + 1, gap)  # rotations that do not leave the row
    begin[vector, slot] = np.where(is_first, 0, own)
    end[vector, slot] = np.where(of_before, gap, np.where(is_first, own, 0))
    begin.setflags(write=False)
    end.setflags(write=False)
    return begin, end


@lru_cache(maxsize=64)
def service(pack: PackMap) -> IntArray:
    """Return how far to the left each place serves: rotations below that bring it to where it is the nearest.

    shape (count, slots); 0 where there is no element, or where a lower vector holds the same one at the same slot
    """
    table = copies(pack)
    slots = pack.slots
    slot = table.key % slots
    is_new = np.ones(table.key.size, dtype=bool)
    is_new[1:] = table.key[1:] != table.key[:-1]
    distinct = np.flatnonzero(is_new)
    element = table.key[distinct] // slots
    before = np.roll(slot[distinct], 1)
    begins = np.ones(distinct.size, dtype=bool)
    begins[1:] = element[1:] != element[:-1]
    ends = np.roll(begins, -1)
    before[begins] = slot[distinct[ends]]  # the last copy of the same element: around
    gap = (slot[distinct] - before) % slots
    reached = np.zeros((pack.count, slots), dtype=np.int64)
    reached[table.vector[distinct], slot[distinct]] = np.where(gap == 0, slots, gap)
    reached.setflags(write=False)
    return reached
