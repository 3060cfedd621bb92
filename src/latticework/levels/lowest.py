"""How low values may be made: what reads them says so, and whatever takes fewer limbs is quicker.

Of programs with bootstraps every target is as high as the way to the next one needs, but values that bypass a
bootstrap, or come from an input, may lie higher than what they meet. What works on one ciphertext, and products, which
take key switches, come down before they are computed; they would come down afterwards as well. Sums do not, since they
take no time, and products of one sum stay together, for they are relinearised and rescaled as one.
Cost: O(ops).
"""

from __future__ import annotations

from collections import defaultdict

from latticework.ir import INDEX, Module, Value
from latticework.levels.depth import Levels, Needs, spent_by

_ALONE = ("vec.rotate", "vec.conjugate", "vec.linear_transform", "vec.polynomial")
_SUMS = ("vec.add", "vec.sub", "vec.neg", "vec.sum", "vec.take", "vec.concat", "vec.take_at", "vec.put_at")


def lowest_levels(module: Module, levels: Levels, floor: int) -> dict[Value, int]:
    """The lowest level of every value whose operands are brought down before it is made.

    floor  the lowest level of the chain
    """
    needs = Needs(levels, -floor)
    needs.block(module.body, [floor] * len(module.body.terminator.operands))
    groups = _Groups()
    products = []
    for op in module.walk():
        if op.name == "vec.mul" and spent_by(op):
            products.append(op.result)
        elif op.name == "vec.mul" or op.name in _SUMS:
            for value in op.operands:
                if value.type is not INDEX:
                    groups.join(op.result, value)
    highest: dict[Value, int] = defaultdict(lambda: floor)
    for value in products:
        group = groups.of(value)
        highest[group] = max(highest[group], needs.of(value))
    found = {value: highest[groups.of(value)] for value in products}
    found.update((op.result, needs.of(op.result)) for op in module.walk() if op.name in _ALONE)
    return {value: level for value, level in found.items() if levels.of[value] is not None}


class _Groups:
    """Values that are terms of one sum, or such a sum."""

    def __init__(self) -> None:
        self.parents: dict[Value, Value] = {}

    def of(self, value: Value) -> Value:
        """One of the values of its group, the same for all."""
        while (parent := self.parents.get(value, value)) is not value:
            value = parent
        return value

    def join(self, a: Value, b: Value) -> None:
        """Their groups are one."""
        self.parents[self.of(a)] = self.of(b)
