"""What kinds of model cost: the table of README.md, from stored results of the zoo.

    python -m bench.zoo.kinds [--check]

Writes the table into README.md, or says whether it is there as it would be written (exit status 1 if not).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from typing import Any

from latticework.commands.benchmarks import ROOT

RESULTS = ROOT / "bench" / "results"
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=<!-- costs -->\n\n).*?(?=<!-- end -->)", re.DOTALL)
HEAD = ("kind of model", "levels", "one row", "memory", "keys", "measured by")


@dataclass(frozen=True)
class Kind:
    """One row.

    title   what it is, for people who know their model
    case    of the zoo, and  file  the stored results that have it
    needs   what else the command that measures it takes
    """

    title: str
    case: str
    file: str
    needs: str = ""


SMALL, LARGE, LATEST = "zoo-20-2026-11-28.json", "zoo-23-2026-11-29.json", "zoo-24-2026-11-29.json"
KINDS = (
    Kind("logistic regression, 30 raw columns", "logistic", SMALL),
    Kind("100 boosted trees, exact (BFV)", "boosting-exact", SMALL),
    Kind("the same by signs (CKKS)", "boosting-signs", LATEST),
    Kind("ReLU network 64-32-16-10", "relu-network", SMALL),
    Kind("two convolutions, average pools, 8 x 8", "cnn-average", SMALL),
    Kind("the same with max-pools", "cnn-max", SMALL),
    Kind("ResNet-20 on digits", "resnet20", LARGE, "--digits FILE.npz"),
    Kind("a transformer layer (MiniLM)", "minilm", LARGE),
    Kind("training: logistic regression, 256 rows, 8 turns", "training", LATEST),
    Kind("highest of eight 16-bit bids, exact (BFV)", "highest-bid", LATEST),
)


def costs() -> str:
    """The table in Markdown, with a blank line after it."""
    rows = [HEAD, ("---",) * len(HEAD), *map(_row, KINDS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def _row(kind: Kind) -> tuple[str, ...]:
    found = _figures(kind)
    plan = found["compile"]["details"]
    refreshed = f", {plan['bootstraps']} bootstraps" if plan["bootstraps"] else ""
    return (
        kind.title,
        f"{plan['levels']}{refreshed}",
        _seconds(found["later run"]["ours"]),
        _megabytes(found["peak memory"]["ours"]),
        _megabytes(found["keys stored"]["ours"]),
        " ".join(f"`latticework bench zoo --only {kind.case} {kind.needs}`".split()).replace(" `", "`"),
    )


def _figures(kind: Kind) -> dict[str, Any]:
    """Metric -> the stored row of a case."""
    content = json.loads((RESULTS / kind.file).read_text())
    return {row["metric"]: row for row in content["rows"] if row["case"] == kind.case}


def _seconds(number: float) -> str:
    return f"{number * 1000:.2g} ms" if number < 0.1 else f"{number:.2g} s" if number < 10 else f"{number:.0f} s"


def _megabytes(number: float) -> str:
    return f"{number / 1000:.1f} GB" if number >= 1000 else f"{number:.2g} MB" if number < 10 else f"{number:.0f} MB"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    text = README.read_text()
    wanted = BLOCK.sub(lambda _: costs(), text)
    if arguments.check:
        return int(text != wanted)
    README.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
