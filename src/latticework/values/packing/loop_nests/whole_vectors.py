"""Linear maps that move whole vectors: no product, no level."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from latticework.values.packing.loop_nests.diagonal_values import diagonal_values
from latticework.values.packing.loop_nests.diagonals import MOST_LISTED, at_most, find_diagonals, num_diagonals
from latticework.values.packing.loop_nests.nest import Access, LoopNest
from latticework.values.packing.pack import IntArray

MOST_PLACES = 1 << 20  # of an output that is looked at slot by slot
PROBED = 16  # slots by which rotations are looked at first, an odd number apart: layouts repeat after powers of two
MOST_DIAGONALS = 64  # an output vector, of a map that is looked at


@lru_cache(maxsize=256)
def whole_rotations(nest: LoopNest) -> tuple[tuple[int, int], ...] | None:
    """(input vector, steps) of each output vector, if rotating it brings every element to its place; else None.

    What then lies in the output's other places are whatever numbers the input holds there, where the map has zeros.
    """
    if nest.source is not None or nest.spread > 1 or nest.in_pack is None:
        return None
    keeps = _keeps_elements(nest)
    if keeps and max(nest.count_in, nest.count_out) * nest.slots <= MOST_PLACES:
        elements = nest.out_pack.elements_at(np.arange(nest.slots))
        if _find_rotation(nest, 0, elements) is None:  # told sooner than how many diagonals there are
            return None
    if at_most(nest).diagonals > MOST_LISTED or num_diagonals(nest) > MOST_DIAGONALS * nest.count_out:
        return None
    diagonals = find_diagonals(nest)
    if keeps and np.array_equal(diagonals[:, 0], np.arange(nest.count_out)):
        return tuple(
            (in_, steps) for _, in_, steps in diagonals.tolist()
        )  # one diagonal brings all that a vector holds
    if nest.count_out * nest.slots > MOST_PLACES:
        return None
    rotations = []
    for v in range(nest.count_out):
        wanted = _find_wanted(nest, v, diagonals[diagonals[:, 0] == v], keeps)
        rotation = None if wanted is None else _find_rotation(nest, v, wanted)
        if rotation is None:
            return None
        rotations.append(rotation)
    return tuple(rotations)


def _find_wanted(nest: LoopNest, out: int, diagonals: IntArray, keeps: bool) -> IntArray | None:
    """The input element that each slot of an output vector holds, -1 where it holds none; None if it is a sum."""
    assert nest.in_pack is not None
    slots = nest.slots
    elements = nest.out_pack.element_of_slot()[out * slots : (out + 1) * slots]
    if keeps:
        return elements
    held = elements >= 0
    element = nest.in_pack.element_of_slot().reshape(-1, slots)
    wanted = np.full(slots, -1, dtype=np.int64)
    for _, in_, steps in diagonals.tolist():
        values = diagonal_values(nest, out, in_, steps, {})
        at = np.flatnonzero(values)
        if np.any(values[at] != 1.0) or np.any(wanted[at] >= 0):
            return None
        wanted[at] = element[in_, (at + steps) % slots]
    return wanted if np.array_equal(wanted >= 0, held) else None


def _keeps_elements(nest: LoopNest) -> bool:
    """Whether every element of the output is the input's element of the same number, and all are visited."""
    in_c_order = tuple(prod(nest.domain[j + 1 :]) for j in range(len(nest.domain)))
    accesses = [nest.out_access, nest.in_access]
    sizes = [prod(nest.domain), nest.out_pack.size, nest.in_pack.size if nest.in_pack else 0]
    return len(set(sizes)) == 1 and all(a is not None and _flat_weights(a, nest.domain) == in_c_order for a in accesses)


def _flat_weights(access: Access, domain: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return each loop's weight in the flat index; None if that starts elsewhere than at 0 or leaves the view."""
    reach = [access.reach(a, domain) for a in range(len(access.view))]
    if any(access.offset) or any(low < 0 or high >= n for (low, high), n in zip(reach, access.view, strict=True)):
        return None
    strides = [prod(access.view[a + 1 :]) for a in range(len(access.view))]
    return tuple(sum(row[j] * s for row, s in zip(access.matrix, strides, strict=True)) for j in range(len(domain)))


def _find_rotation(nest: LoopNest, out: int, wanted: IntArray) -> tuple[int, int] | None:
    """The input vector and the fewest steps that bring all that is wanted; of an empty vector any will do."""
    assert nest.in_pack is not None
    slots, element = nest.slots, nest.in_pack.element_of_slot()
    at = np.flatnonzero(wanted >= 0)
    if not at.size:
        return min(out, nest.count_in - 1), 0
    vectors, places = np.divmod(np.flatnonzero(element == wanted[at[0]]), slots)
    element, steps = element.reshape(-1, slots), (places - at[0]) % slots
    probe = at[(np.arange(PROBED) * (at.size // PROBED + 1 | 1)) % at.size]  # a few slots rule out nearly all
    brings = (element[vectors[:, None], (probe + steps[:, None]) % slots] == wanted[probe]).all(axis=1)
    for rotation, vector in sorted(zip(steps[brings].tolist(), vectors[brings].tolist(), strict=True)):
        if np.array_equal(element[vector, (at + rotation) % slots], wanted[at]):
            return vector, rotation
    return None
