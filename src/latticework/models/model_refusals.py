"""All that is wrong with a model, told at once."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors import UnsupportedError
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import ModelGraph

_SHOWN = 20  # refusals that are told one by one


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of one node: why it cannot be imported, and what to do.

    operator  with its name, where it has one
    """

    loc: Loc
    operator: str
    why: str
    instead: str = ""

    def message(self) -> str:
        """One line: where, what, why and what to do."""
        text = self.loc.text
        what = text if text.startswith(self.operator) else self.operator + (f" ({text})" if text else "")
        return f"{self.loc}: {what}: {self.why}" + (f"; {self.instead}" if self.instead else "")


def refuse(
    graph: ModelGraph, refusals: Sequence[Refusal], cannot: str = "cannot be computed encrypted"
) -> UnsupportedError:
    """The error that tells all refusals of a model, equal ones of many nodes once."""
    told: dict[tuple[str, str, str], list[Refusal]] = {}
    for refusal in refusals:
        told.setdefault((refusal.operator, refusal.why, refusal.instead), []).append(refusal)
    lines = []
    for alike in list(told.values())[:_SHOWN]:
        others = "".join(f", {other.loc}" for other in alike[1:4]) + (", ..." if len(alike) > 4 else "")
        lines.append(alike[0].message() + (f" (also {others[2:]})" if others else ""))
    if len(told) > _SHOWN:
        lines.append(f"and {len(told) - _SHOWN} others")
    count = f"{len(refusals)} operators" if len(refusals) > 1 else "one operator"
    error = UnsupportedError(f"{graph.name}: {count} {cannot}: " + " | ".join(lines), at=graph.loc)
    error.refused = graph, tuple(refusals)
    return error
