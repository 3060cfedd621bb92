"""Scopes of names: an operation reads those that are defined before it, in its region or around that, each once.

Evaluation keeps the values of a function in one table, so it would find a name that another turn or branch has left.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping

from latticework.errors import UserError
from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirRegion, HeirText

_CIPHERTEXT = "!openfhe.ciphertext"


def check_names(text: HeirText, function: HeirFunction) -> None:
    """UserError for a name that is read where it is not to be had, or is made twice, or was overwritten."""
    _Names(text).region(function.body, {}, {}, function.line)


class _Names:
    def __init__(self, text: HeirText) -> None:
        self.text = text

    def region(
        self, region: HeirRegion, names: dict[str, int], overwritten: MutableMapping[str, int], line: int
    ) -> None:
        """A region in this line; names: those around it and the lines that make them.

        overwritten  names whose value an operation in place has replaced, and its line; more are added
        """
        self.make(names, region.arguments, line)
        for op in region.operations:
            windows = (n for key in ("offsets", "sizes", "strides") for n in op.attributes.get(key, ()))
            for name in (*op.operands, *(n for n in windows if isinstance(n, str))):
                if name not in names:
                    self.fail(op.line, f"{op.name} reads {name}, which is nowhere")
                if name in overwritten:
                    self.fail(op.line, f"{op.name} reads {name}, which line {overwritten[name]} overwrites")
            if op.regions:
                after = dict[str, int]()
                for inner in op.regions:
                    inside = ChainMap({}, overwritten)
                    self.region(inner, names, inside, op.line)
                    after |= inside.maps[0]
                overwritten.update({name: at for name, at in after.items() if name in names})
            self.make(names, op.results, op.line)
            replaced = _written_in_place(op)
            if replaced is not None:
                overwritten[replaced] = op.line
        for name in (*region.arguments, *(name for op in region.operations for name in op.results)):
            del names[name]

    def make(self, names: dict[str, int], made: list[str], line: int) -> None:
        """Add names, which have to be new."""
        for name in made:
            if name in names:
                self.fail(line, f"{name} is made in line {names[name]} already")
            names[name] = line

    def fail(self, line: int, what: str) -> None:
        raise UserError(f"{self.text.name}:{line}: {what}; give what heir-opt prints")


def _written_in_place(op: HeirOperation) -> str | None:
    """The ciphertext that an operation in place writes its result to."""
    if not op.name.startswith("openfhe.") or not op.name.endswith("_inplace"):
        return None
    taken = (name for name, kind in zip(op.operands, op.takes, strict=False) if kind.element == _CIPHERTEXT)
    return next(taken, None)
