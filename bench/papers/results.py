"""Stored results of suites by case and metric."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.papers.evaluation import Cell
from bench.stored import load

FOLDER = Path(__file__).resolve().parents[1] / "results"


@dataclass(frozen=True)
class Result:
    """One stored file: the newest of a name, or an older one.

    place   among those of the name, by date
    raises  FileNotFoundError where there is none
    """

    name: str
    place: int = -1

    @cached_property
    def path(self) -> Path:
        """The file: dates in names are ISO dates, so the last name is the newest."""
        found = sorted(path for path in FOLDER.glob(f"{self.name}-2*.json"))
        if not found:
            raise FileNotFoundError(f"bench/results has no {self.name}-DATE.json")
        return found[self.place]

    @cached_property
    def content(self) -> dict[str, Any]:
        """All of it."""
        return load(self.path)

    @cached_property
    def rows(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Rows by case and metric."""
        return {(row["case"], row["metric"]): row for row in self.content["rows"]}

    def ours(self, case: str, metric: str) -> float | None:
        """A figure of ours; None where the row says why there is none.

        raises  KeyError where there is no such row
        """
        found: float | None = self.rows[case, metric]["ours"]
        return found

    def cell(self, case: str, metric: str, *, higher: bool = False, is_fact: bool = False) -> Cell:
        """A figure of ours beside the reference that the same row has.

        raises  KeyError where there is no such row
        """
        row = self.rows[case, metric]
        return Cell(row["reference"], row["ours"], higher, is_fact)

    def ratio(self, case: str, metric: str) -> float | None:
        """Ours by the reference of the same run."""
        row = self.rows.get((case, metric))
        return None if row is None or not row["reference"] else row["ours"] / row["reference"]

    def __str__(self) -> str:
        return f"[{self.path.stem}](../bench/results/{self.path.name})"


def machine_of(path: Path) -> tuple[str, str]:
    """The commit and the machine of a stored file."""
    content = load(path)
    machine = content["machine"]
    return content["commit"][:7], f"{machine.get('gpu') or machine['cpu']}, {machine['cores']} cores"
