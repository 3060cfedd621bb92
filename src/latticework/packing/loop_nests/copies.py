"""Which copy of an element serves a slot: the one that the smallest left rotation brings there.

Copies at one slot of several vectors are equally near; the lowest vector is taken.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from latticework.packing.pack import IntArray, PackMap


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
    found = np.searchsorted(table.key, element * pack.slots + slot)
    found = np.where(found < table.first[element + 1], found, table.first[element])  # past the last one: around
    return table.vector[found], (table.key[found] - slot) % pack.slots


@lru_cache(maxsize=64)
def _folded(pack: PackMap, width: int) -> Copies:
    """The slots that hold each element, ordered by element, then slot modulo a width, then slot.

    key     element * width + slot % width, ascending
    vector  the slot, not the vector
    """
    table = copies(pack)
    element, slot = np.divmod(np.unique(table.key), pack.slots)
    key = element * width + slot % width
    order = np.argsort(key, kind="stable")  # slots of an element ascend
    key = key[order]
    first = np.searchsorted(key, np.arange(pack.size + 1, dtype=np.int64) * width)
    return Copies(key, slot[order], first)


def nearest_of_row(pack: PackMap, width: int, element: IntArray, residue: IntArray) -> tuple[IntArray, IntArray]:
    """(steps, place) of the slots `residue + place * width`: which has a copy of an element the nearest to its right.

    Of equally near ones the lowest place. A rotation by `steps` brings the copy there. Of the slots of a row one lies
    less than `width` to the left of any copy, so only what the copies are modulo the width tells how near they are.
    """
    key, slot, first = _folded(pack, width)
    begin = np.searchsorted(key, element * width + residue)
    begin = np.where(begin < first[element + 1], begin, first[element])  # past the last one: around
    steps = (key[begin] - residue) % width
    rows = pack.slots // width
    around = residue + steps >= width  # the slot served lies in the row before that of the copy
    after = np.minimum(begin + 1, key.size - 1)
    is_more = (after > begin) & (key[after] == key[begin])
    skips = around & (slot[begin] < width) & is_more  # the first copy serves the last row, the second a lower one
    place = slot[np.where(skips, after, begin)] // width
    return steps, (place - around) % rows


@lru_cache(maxsize=64)
def service(pack: PackMap) -> IntArray:
    """How far to the left of itself each place serves: the rotations below it bring it to where it is the nearest.

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
