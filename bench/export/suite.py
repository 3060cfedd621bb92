"""`latticework bench export`: exported programs run by OpenFHE's package, beside ours and NumPy.

The environment that OpenFHE needs (CPython 3.10) is made when it is not there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.export import lowering, twin
from bench.export.agreement import Failed, compare
from bench.export.programs import CASES
from bench.peers.environments import PEERS, environment
from bench.rows import Row, report, show
from latticework.errors import UserError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
OPENFHE = next(peer for peer in PEERS if peer.name == "openfhe")


@app.command()
def main(
    names: Annotated[str, typer.Option("--programs", help="by comma; all if not given")] = "",
    heir: Annotated[bool, typer.Option("--heir", help="also lower each by heir-opt")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say for each program how far OpenFHE's results are from NumPy's, over the bound that the plan states."""
    chosen = names.split(",") if names else list(CASES)
    unknown = [name for name in chosen if name not in CASES]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: programs are {', '.join(CASES)}")
    python = environment(OPENFHE)
    conditions: dict[str, Any] = {
        "library": OPENFHE.requirements[0],
        "ours": "the largest difference of OpenFHE's results from NumPy's; of exact programs 0",
        "target": "the plan's stated error, and a millionth of the largest result; checked: ours from NumPy too, and "
        "both from each other",
        "twin": "our parameters take OpenFHE's primes, our key its secret; residues of the same operations",
    }
    made = list(rows(chosen, python))
    if heir:
        made += list(lowered_rows(chosen))
    if not names:
        with err.status("ciphertexts of both libraries"):
            made += list(twin.rows(python))
    show(report("export", made, conditions), json)


def rows(names: list[str], python: Path) -> Iterator[Row]:
    """A row for each program."""
    for name in names:
        with err.status(name), tempfile.TemporaryDirectory(prefix="latticework-export-") as folder:
            try:
                found = compare(CASES[name](), Path(folder), python)
            except (Failed, UserError) as error:
                yield Row(name, "difference from NumPy", "", None, note=str(error), required=True)
                continue
        details = {"ours from NumPy": found.ours, "apart": found.apart, "seconds": round(found.seconds, 2)}
        yield Row(
            name, "difference from NumPy", "", found.openfhe, target=found.bound, checked=found.is_right,
            details=details, required=True,
        )  # fmt: skip


def lowered_rows(names: list[str]) -> Iterator[Row]:
    """A row for each program that HEIR's text is written of."""
    for name in names:
        with err.status(f"heir, {name}"), tempfile.TemporaryDirectory(prefix="latticework-export-") as folder:
            yield lowering.row(name, CASES[name](), Path(folder))
