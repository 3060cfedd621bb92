"""Measure twenty fixed cases at a commit, keep the figures, and warn of what became slower.

`python -m bench.performance [REVISION]` builds the wheel of the commit (HEAD by default), measures it in an environment
of its own, adds a record to bench/results/performance.jsonl, and writes bench/results/performance.html. What looks
slower by 5 % or more, or is unsteady, is measured again with as many rounds more; what still is slower gets a warning,
and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.performance.history_page import render
from bench.performance.installed import ROOT, build_wheel, commit_of, make_environment
from bench.performance.interleaved import Samples
from bench.performance.records import Change, Record, add, compare, read, write

FILE = ROOT / "bench" / "results" / "performance.jsonl"
ROUNDS = 15
UNSTEADY = 0.1  # distance of the quartiles, as a share of the median


class Measurement:
    """What an environment's interpreter measured so far."""

    def __init__(self, python: Path, rounds: int) -> None:
        self.python, self.rounds = python, rounds
        self.samples: dict[str, Samples] = {}
        self.facts: dict[str, Any] = {}

    def run(self, only: Sequence[str] = ()) -> None:
        """Measure all cases, or these, and add the samples to those that are there."""
        names = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        done = subprocess.run(
            [self.python, "-m", "bench.performance.worker", str(self.rounds), *only],
            cwd=ROOT, env=names | {"OPENBLAS_NUM_THREADS": "1"}, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        found = json.loads(done.stdout)
        for name, (seconds, ratios) in found.pop("samples").items():
            samples = self.samples.setdefault(name, Samples([], []))
            samples.seconds += seconds
            samples.ratios += ratios
        self.facts = found

    def record(self, commit: str, date: str) -> Record:
        """The figures of a commit."""
        cases = {name: samples.summary() for name, samples in self.samples.items()}
        return {"commit": commit, "date": date, **self.facts, "cases": cases}


def slower(changes: Sequence[Change]) -> list[Change]:
    """The changes to warn of."""
    return [change for change in changes if change.is_slower]


def suspects(records: Sequence[Record], new: Record) -> list[str]:
    """The cases to measure again: what looks slower, and what differs from round to round by more than is warned of."""
    return [c.case for c in compare(records, new) if c.is_slower or new["cases"][c.case]["spread"] > UNSTEADY]


def keep(file: Path, records: Sequence[Record], new: Record) -> list[Change]:
    """Write the record and the page beside it; the changes to warn of."""
    kept = add(records, new)
    write(file, kept)
    file.with_suffix(".html").write_text(render(kept))
    return slower(compare(records, new))


def table(new: Record, changes: Sequence[Change]) -> str:
    """The figures for a reader."""
    lines = [f"{'case':<42}{'ms':>9}{'loops':>9}{'spread':>9}{'change':>9}"]
    for change in changes:
        figures = new["cases"][change.case]
        said = "" if change.before is None else f"{100 * change.share:+.1f} %"
        lines.append(
            f"{change.case:<42}{1e3 * figures['seconds']:>9.4g}{figures['ratio']:>9.4g}"
            f"{100 * figures['spread']:>7.1f} %{said:>9}"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, keep, print; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.performance", description=__doc__)
    parser.add_argument("revision", nargs="?", default="HEAD", help="the commit to measure; HEAD by default")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each case")
    parser.add_argument("--wheel", type=Path, help="the wheel of that commit, where it was built before")
    parser.add_argument("--file", type=Path, default=FILE, help="where records are kept; the page lies beside it")
    given = parser.parse_args()
    commit, date = commit_of(given.revision)
    records = read(given.file)
    with tempfile.TemporaryDirectory() as folder:
        wheel = given.wheel or build_wheel(given.revision, Path(folder))
        measurement = Measurement(make_environment(wheel, Path(folder)), given.rounds)
        measurement.run()
        if again := suspects(records, measurement.record(commit, date)):
            measurement.run(again)
    new = measurement.record(commit, date)
    warnings = keep(given.file, records, new)
    print(f"commit {commit}, {new['cpu']}, load {new['load']}")
    print(table(new, compare(records, new)))
    for change in warnings:
        print(f"warning: {change.sentence()}", file=sys.stderr)
    return 1 if warnings else 0


if __name__ == "__main__":
    sys.exit(main())
