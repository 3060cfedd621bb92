"""The last part of a linear map: inner sums are rotated by their giant steps and added up.

Each is rotated by itself, or together with all that was rotated onto it (`packing.loop_nests.giant_order`).
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.expand.inner_sums import Part
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.ir import Value
from latticework.values.packing.loop_nests.giant_order import GiantRotation, Order, order_giant_steps


def rotate_and_add(p: Primitives, parts: Sequence[Part], order: Order, *, hoisting: bool) -> Value:
    """All outputs that have products, in order.

    hoisting  rotated sums stay over QP; else every rotation is an operation by itself
    """
    slots, rotate = cipher(parts[0][2]).slots, p.rotate_over_p if hoisting else p.rotate
    together = _group_by_rotation(parts, slots, order)
    arriving: dict[int, list[Sequence[int]]] = {giant: [held] for giant, held, _ in parts}
    for (_, onto, _), held in together:
        arriving.setdefault(onto, []).append(held)
    onto_any = {to.onto for to, _ in together}
    sums = {giant: _Sum(p, held, hoisting and giant in onto_any) for giant, held in arriving.items()}
    for giant, held, part in parts:
        sums[giant].add(held, part)
    for (giant, onto, steps), held in together:
        sums[onto].add(held, rotate(sums[giant].of(held), steps))
    return sums[0].array()


def _group_by_rotation(parts: Sequence[Part], slots: int, order: Order) -> list[tuple[GiantRotation, tuple[int, ...]]]:
    """Return each rotation with its outputs; what is rotated onto a sum comes before that sum's rotation."""
    giants: dict[int, list[int]] = {}
    for giant, held, _ in parts:
        for out in held:
            giants.setdefault(out, []).append(giant)
    outputs: dict[GiantRotation, list[int]] = {}
    for out, own in sorted(giants.items()):
        for giant_turn in order_giant_steps(own, slots, order):
            outputs.setdefault(giant_turn, []).append(out)
    rotations = [(giant_turn, tuple(held)) for giant_turn, held in outputs.items()]
    if order == "own":
        nearest = [giant for giant, _, _ in parts]
        return sorted(rotations, key=lambda item: nearest.index(item[0].giant))
    return sorted(rotations, key=lambda item: -(item[0].giant % slots if order == "around" else abs(item[0].giant)))


class _Sum:
    """The sum of arrays of some outputs; what is over Q comes over QP first, if the sum is to be there."""

    def __init__(self, p: Primitives, arriving: Sequence[Sequence[int]], over_p: bool) -> None:
        self.p, self.over_p = p, over_p
        self.outputs = sorted({out for held in arriving for out in held})
        self.whole: Value | None = None
        self.each: dict[int, Value] = {}
        self.together = all(len(held) == len(self.outputs) for held in arriving)

    def add(self, held: Sequence[int], part: Value) -> None:
        """Add the part of a giant step to the sums of the outputs `held`."""
        p = self.p
        if self.over_p and cipher(part).basis == "Q":
            part = p.extend(part)
        if self.together:
            self.whole = p.add(self.whole, part)
            return
        for i, out in enumerate(held):
            self.each[out] = p.add(self.each.get(out), p.take(part, [i]))

    def array(self) -> Value:
        """All outputs, in order."""
        return self.p.concat([self.each[out] for out in self.outputs]) if self.whole is None else self.whole

    def of(self, held: Sequence[int]) -> Value:
        """These outputs. A map of single vectors has one, which is an array where it is applied to one."""
        array = self.array()
        return array if len(held) == len(self.outputs) else self.p.take(array, [self.outputs.index(o) for o in held])
