"""What every suite prints as JSON: rows that set a figure of ours beside one of others. Needs no package but ours."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from latticework.commands.machine.machine_description import commit, describe_machine

BETTER = ("lower", "higher")
DIGITS = 4


@dataclass(frozen=True)
class Row:
    """One figure.

    ours       None if it could not be measured; `note` says why
    reference  what it is compared with, in the same unit;  source  where that comes from
    target     what `ours` has to reach, in the same unit
    checked    the result behind the figure was compared with an independent oracle
    details    facts about both sides, by name
    """

    case: str
    metric: str
    unit: str
    ours: float | None
    reference: float | None = None
    source: str | None = None
    target: float | None = None
    better: str = "lower"
    checked: bool = False
    note: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    required: bool = False

    def __post_init__(self) -> None:
        if self.better not in BETTER:
            raise ValueError(f"better is {self.better!r}; give one of {', '.join(BETTER)}")

    @property
    def ratio(self) -> float | None:
        """How many times better ours is than the reference."""
        if not self.ours or not self.reference:
            return None
        return self.reference / self.ours if self.better == "lower" else self.ours / self.reference

    @property
    def meets(self) -> bool | None:
        """Whether the target is met; a required figure that is missing or not checked does not meet it."""
        if self.target is None:
            return False if self.required else None
        if self.ours is None or not self.checked:
            return False
        return self.ours <= self.target if self.better == "lower" else self.ours >= self.target

    @property
    def share(self) -> float | None:
        """How much of the target is reached: 1 is just enough, 0.5 takes twice as long as wanted."""
        if not self.ours or not self.target:
            return None
        return self.target / self.ours if self.better == "lower" else self.ours / self.target

    def content(self) -> dict[str, Any]:
        """The row as it is printed."""
        row: dict[str, Any] = {
            "case": self.case,
            "metric": self.metric,
            "unit": self.unit,
            "ours": rounded(self.ours),
            "reference": rounded(self.reference),
            "source": self.source,
            "ratio": rounded(self.ratio),
            "target": rounded(self.target),
            "better": self.better,
            "meets": self.meets,
            "checked": self.checked,
        }
        if self.note is not None:
            row["note"] = self.note
        if self.details:
            row["details"] = self.details
        return row


def rounded(x: float | None) -> float | None:
    """To four significant digits."""
    if x is None or not math.isfinite(x):
        return None
    return float(f"{x:.{DIGITS}g}")


def report(
    suite: str, rows: Iterable[Row], conditions: dict[str, Any], layers: dict[str, list[dict[str, Any]]] | None = None
) -> dict[str, Any]:
    """The object that a suite prints with --json.

    layers  what the lines of a program cost, by program (`bench.programs.Layer`)
    """
    rows = list(rows)
    content = {
        "suite": suite,
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "machine": describe_machine(),
        "conditions": conditions,
        "rows": [row.content() for row in rows],
        "summary": summary(rows),
    }
    return content if layers is None else content | {"layers": layers}


def summary(rows: Iterable[Row]) -> dict[str, Any]:
    """How many targets there are and how many are met, by name those that are not, and the row farthest from its."""
    wanted = [row for row in rows if row.meets is not None]
    reached = [row for row in wanted if row.share is not None]
    found: dict[str, Any] = {
        "targets": len(wanted),
        "met": sum(row.meets is True for row in wanted),
        "not met": [f"{row.case}: {row.metric}" for row in wanted if not row.meets],
    }
    if reached:
        worst = min(reached, key=lambda row: row.share or 0.0)
        found["worst"] = {
            "row": f"{worst.case}: {worst.metric}",
            "ratio": rounded(worst.ratio),
            "share of target": rounded(worst.share),
        }
    return found
