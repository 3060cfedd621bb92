"""Early rescaling: the lowest levels at which values may be made, by their readers; fewer limbs are quicker.

Values that meet others further down, leave the program early or bypass a bootstrap may lie higher than what reads them
needs. What works on one ciphertext, and products, which take key switches, come down before they are computed; they
would come down afterwards as well. Sums do not, since they take no time, and products of one sum stay together, for
they are relinearised and rescaled as one; so do rotations of one value, which share its decomposition, linear maps,
which share rotations, and polynomials, which share powers.
Cost: O(ops).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from latticework.compiler.levels.depth import Levels, Needs, spent_by
from latticework.compiler.levels.groups import Groups
from latticework.ir import INDEX, Module, Op, Value

_ALONE = ("vec.rotate", "vec.conjugate", "vec.twice_real", "vec.linear_transform", "vec.polynomial")
_SUMS = (
    "vec.add", "vec.sub", "vec.neg", "vec.times_i", "vec.sum", "vec.take", "vec.concat", "vec.take_at", "vec.put_at",
)  # fmt: skip


def lowest_levels(module: Module, levels: Levels, floor: int, ends: Mapping[int, int] = {}) -> dict[Value, int]:
    """The lowest level of every value whose operands are rescaled before it is computed.

    floor  the lowest level of the chain
    ends   numbers of outputs -> levels that they have to have at least; the floor if not said
    """
    needs = Needs(levels, -floor)
    needs.block(module.body, [ends.get(i, floor) for i in range(len(module.body.terminator.operands))])
    groups: Groups[Value] = Groups()
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
    levels_of = {value: highest[groups.of(value)] for value in products}
    for alike in _alike(module):
        entered = max(needs.of(op.result) + spent_by(op) for op in alike)
        levels_of.update((op.result, entered - spent_by(op)) for op in alike)
    return {value: level for value, level in levels_of.items() if levels.of[value] is not None}


def _alike(module: Module) -> Iterable[Sequence[Op]]:
    """Operations on one ciphertext that share work where they read the same value on one level."""
    groups: dict[tuple[str, Value], list[Op]] = defaultdict(list)
    for op in module.walk():
        if op.name in _ALONE:
            groups[op.name, op.operands[0]].append(op)
    return groups.values()
