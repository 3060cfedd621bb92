"""Which operands have a value that something else may read too.

Loops insert into tensors element by element. What is inserted into needs no copy if nobody reads it afterwards: its
name has one use, in the region where it is made, or in a branch there. `evaluate.py` makes arrays that are read by any
other name read-only, and `tensor.insert` copies only those.
"""

from __future__ import annotations

from latticework.interop.heir.syntax import HeirFunction, HeirOperation, HeirRegion

_Use = tuple[HeirOperation, int, int]


def mark_shared(function: HeirFunction) -> None:
    """Set `shared` of every operation: the numbers of its operands that others may read."""
    _Walk().region(function.body, {}, 0)


class _Walk:
    def __init__(self) -> None:
        self.regions = 0

    def region(self, region: HeirRegion, outer: dict[str, tuple[int, list[_Use]]], number: int) -> None:
        """A region; outer: the names around it, with the number of the region that each is of, and their uses."""
        names = {**outer, **{name: (number, []) for name in region.arguments}}
        for op in region.operations:
            for position, name in enumerate(op.operands):
                if name in names:
                    names[name][1].append((op, position, number))
            for inner in op.regions:
                if op.name != "scf.if":
                    self.regions += 1
                self.region(inner, names, number if op.name == "scf.if" else self.regions)
            names.update({name: (number, []) for name in op.results})
        for name, (made, uses) in names.items():
            if outer.get(name) is names[name]:
                continue
            if len(uses) != 1 or uses[0][2] != made:
                for op, position, _ in uses:
                    op.shared.append(position)
