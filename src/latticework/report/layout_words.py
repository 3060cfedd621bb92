"""Layouts in words and as a row of slots, for those who know arrays and not the notation."""

from __future__ import annotations

import numpy as np

from latticework.report.quantities import count
from latticework.values.packing.pack import GAP, REPEAT, PackDim, PackMap

LEGEND = (
    "A ciphertext is a row of slots, which hold one number each. A layout says which element of an array lies in "
    "which slot, as nested loops of which the last runs fastest: [1:16] takes 16 steps along axis 1, [1:4:8] takes 4 "
    "of 8 elements each, [R:4] holds the same 4 times, [G:2] uses only the first of 2 places. What stands before ; "
    "numbers the ciphertexts, and Roll(0,1) shifts loop 0 by the index of loop 1, around its end."
)
MAX_SLOTS = 8


def layout_words(pack: PackMap) -> str:
    """One sentence on where the elements lie."""
    if pack.table:
        return f"element@slot, one by one, in {_vectors(pack.count)}"
    if not any(dim.extent > 1 for dim in pack.all_dims):
        return "one number, in the first slot"
    parts = _walks(pack.dims, pack.shape)
    said = "; then ".join(parts) if parts else "one element in each"
    if pack.vector_dims:
        numbered = "; then ".join(_walks(pack.vector_dims, pack.shape, fastest="one for each step along "))
        said = f"{_vectors(pack.count)}, {numbered or 'alike'}; within one: {said}"
    if pack.rolls:
        said += "; " + ", ".join(f"{_roll(pack, i, j)}" for i, j in pack.rolls)
    return said


def _walks(dims: tuple[PackDim, ...], shape: tuple[int, ...], fastest: str = "side by side along ") -> list[str]:
    """Every loop in words, the fastest first."""
    said: list[str] = []
    for dim in reversed(dims):
        if dim.extent == 1:
            continue
        first = not said
        match dim.axis:
            case axis if axis == GAP and first:
                said.append(f"one slot used, {count(dim.extent - 1)} not")
            case axis if axis == GAP:
                said.append(f"room for {count(dim.extent - 1)} more of it, unused")
            case axis if axis == REPEAT:
                said.append(
                    f"{count(dim.extent)} slots with the same" if first else f"{count(dim.extent)} copies of that"
                )
            case axis:
                walk = f"axis {axis}, {count(dim.extent)} steps"
                if dim.stride > 1:
                    walk += f" of {count(dim.stride)}"
                used = -(-shape[axis] // dim.stride)
                if used < dim.extent:
                    walk += f" ({count(used)} in use)"
                said.append(f"{fastest}{walk}" if first else f"along {walk}")
    return said


def _roll(pack: PackMap, i: int, j: int) -> str:
    return f"the index of {pack.all_dims[i]} shifted by that of {pack.all_dims[j]}"


def _vectors(number: int) -> str:
    return "1 ciphertext" if number == 1 else f"{count(number)} ciphertexts"


def first_slots(pack: PackMap) -> str:
    """The elements in the first slots, by subscripts: 0,0 | 0,1 | - | ..."""
    total = pack.count * pack.slots
    held = pack.elements_at(np.arange(min(total, MAX_SLOTS))).tolist()
    shown = ["-" if index < 0 else subscript(index, pack.shape) for index in held]
    return " | ".join(shown) + (" | ..." if total > len(shown) else "")


def subscript(index: int, shape: tuple[int, ...]) -> str:
    """The subscript of an element in C order: 1,4; 0 of a scalar."""
    if not shape:
        return "0"
    return ",".join(str(int(i)) for i in np.unravel_index(index, shape))
