"""Order of the giant steps of a linear map, and the number of different rotation keys that it takes.

y = B0 + r1(B1) + r2(B2) + r3(B3) = B0 + r1( B1 + r1( B2 + r1(B3) ) ): in Horner's form a sum is rotated by its distance
from the next one, together with all that was rotated onto it before. So there are as many key switches as there
are giant steps in either form, and where these are evenly spaced there is one key, not one for each. "horner" goes to 0
from both sides of it, "around" from one side only, for steps that go all the way around. What an output lacks is left
out: then the next sum of it is rotated from farther away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from latticework.values.packing.key_manifest import signed_steps
from latticework.values.packing.pack import IntArray

Order = Literal["own", "horner", "around"]
ORDERS: tuple[Order, ...] = ("own", "horner", "around")


class GiantRotation(NamedTuple):
    """The sum at `giant` is rotated left by `steps` onto that at `onto`; steps are signed."""

    giant: int
    onto: int
    steps: int


def order_giant_steps(giants: Iterable[int], slots: int, order: Order) -> list[GiantRotation]:
    """Return the giant rotations of one output, one for each of its signed giant steps but 0.

    They are in an order in which a sum has everything that is rotated onto it before it is rotated itself.
    """
    if order == "own":
        return [GiantRotation(giant, 0, giant) for giant in giants if giant]
    places = {(giant % slots if order == "around" else giant): giant for giant in giants if giant}
    result = []
    for side in (sorted(p for p in places if p > 0), sorted((p for p in places if p < 0), reverse=True)):
        before = [0, *side][: len(side)]
        result += [
            GiantRotation(places[place], places.get(under, 0), signed_steps(place - under, slots))
            for place, under in zip(side, before, strict=True)
        ][::-1]
    return result


def rotation_keys(line: IntArray, giants: IntArray, slots: int, order: Order) -> IntArray:
    """The steps of all rotations, for many splits at once: a row each, in [0, slots), 0 where there is none.

    line    (n,) the output of each column of
    giants  (splits, n) giant steps in [0, slots)
    """
    if order == "own":
        return giants
    signed = giants if order == "around" else np.where(2 * giants > slots, giants - slots, giants)
    outputs = np.unique(line)
    ahead = np.broadcast_to(outputs * 4 * slots, (len(giants), outputs.size))
    code = np.sort(np.concatenate([line * 4 * slots + signed, ahead], axis=1), axis=1) + slots
    distance = np.where(np.diff(code // (4 * slots), axis=1) == 0, np.diff(code, axis=1), 0)
    is_behind = code[:, 1:] % (4 * slots) <= slots
    result: IntArray = np.where(is_behind, -distance, distance) % slots
    return result
