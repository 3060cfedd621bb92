"""Operands whose value another operation may read too.

Loops insert into tensors element by element. What is inserted into needs no copy if nobody reads it afterwards: its
name has one use, in the region where it is made, or in a branch there. `evaluate_text.py` makes arrays that are read by
any other name read-only, and `tensor.insert` copies only those.
"""

from __future__ import annotations

from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirRegion

_Use = tuple[HeirOperation, int, int]


def mark_shared(function: HeirFunction) -> None:
    """Set `shared` of every operation: the numbers of its operands that others may read."""
    _Walk().region(function.body, {}, 0)


class _Walk:
    def __init__(self) -> None:
        self.regions = 0

    def region(self, region: HeirRegion, names: dict[str, tuple[int, list[_Use]]], number: int) -> None:
        """A region; names: those around it, with the number of the region that each is of, and their uses."""
        made: list[list[_Use]] = []
        hidden: dict[str, tuple[int, list[_Use]] | None] = {}  # what names of the region stand for around it

        def make(own: list[str]) -> None:
            for name in own:
                hidden.setdefault(name, names.get(name))
                names[name] = number, []
                made.append(names[name][1])

        make(region.arguments)
        for op in region.operations:
            for position, name in enumerate(op.operands):
                if name in names:
                    names[name][1].append((op, position, number))
            for inner in op.regions:
                if op.name != "scf.if":
                    self.regions += 1
                self.region(inner, names, number if op.name == "scf.if" else self.regions)
            make(op.results)
        for uses in made:
            if len(uses) != 1 or uses[0][2] != number:
                for op, position, _ in uses:
                    op.shared.append(position)
        for name, around in hidden.items():
            if around is None:
                del names[name]
            else:
                names[name] = around
