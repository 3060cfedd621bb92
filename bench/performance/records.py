"""Records of commits, one JSON object a line, and the comparison of a new one with those before it.

{"commit", "date", "cpu", "python", "load", "calibration", "cases": {name: {"seconds", "ratio", "spread", "rounds"}}}
`ratio` is processor time over that of the calibration loop; only records of one processor are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

Record = dict[str, Any]
LIMIT = 0.05  # slower by this share on is warned of
LAST = 5  # records whose median a new one is compared with


@dataclass(frozen=True)
class Change:
    """One case of a new record beside the records before it.

    before  the median ratio of these records, None where none has the case
    """

    case: str
    ratio: float
    before: float | None

    @property
    def share(self) -> float:
        """How much slower, as a share: 0.1 is 10 % slower, below 0 is faster; 0 where nothing is known."""
        return 0.0 if self.before is None else self.ratio / self.before - 1.0

    @property
    def is_slower(self) -> bool:
        """Whether it is to be warned of; a share of exactly the limit is."""
        return self.share >= LIMIT - 1e-9

    def sentence(self) -> str:
        """The warning."""
        return f"{self.case}: {100 * self.share:.1f} % slower ({self.before:.4g} -> {self.ratio:.4g} calibration loops)"


def read(file: Path) -> list[Record]:
    """All records in the order of the file; none where there is no file."""
    return [json.loads(line) for line in file.read_text().splitlines() if line] if file.exists() else []


def write(file: Path, records: Iterable[Record]) -> None:
    """Write all records."""
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def is_same(one: Record, other: Record) -> bool:
    """Whether both are of one commit on one processor."""
    return (one["commit"], one["cpu"]) == (other["commit"], other["cpu"])


def add(records: Sequence[Record], new: Record) -> list[Record]:
    """The records with a new one, which takes the place of an earlier one of its commit and processor."""
    where = next((number for number, record in enumerate(records) if is_same(record, new)), None)
    return [*records, new] if where is None else [*records[:where], new, *records[where + 1 :]]


def compare(records: Sequence[Record], new: Record) -> list[Change]:
    """Every case of a new record beside the last few records before it of the same processor."""
    until = next((number for number, record in enumerate(records) if is_same(record, new)), len(records))
    past = [record["cases"] for record in records[:until] if record["cpu"] == new["cpu"]]
    changes = []
    for name, figures in new["cases"].items():
        known = [cases[name]["ratio"] for cases in past if name in cases][-LAST:]
        changes.append(Change(name, figures["ratio"], median(known) if known else None))
    return changes
