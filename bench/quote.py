"""`latticework bench quote`: quotes of the zoo's models beside what compiling them finds."""

from __future__ import annotations

import json as json_format
import os
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.processes import parts_of
from bench.rows import Row, report, show
from bench.zoo.cases import ENTRIES
from latticework.compiler.quoting import quote_program
from latticework.errors import UserError
from latticework.plan.machine.shown_prices import SWITCH

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
COMPILED = Path(__file__).parent / "results" / "zoo-18-2026-11-27.json"
WITHIN, SECONDS = 2.0, 5.0
COMPARED = {
    "seconds": ("later run, predicted on one thread", 1.0),
    "memory_bytes": ("server with all keys and constants, predicted", 1e6),
    "key_bytes": ("keys stored", 1e6),
}  # of a quoted price: the stored figure, and its unit


@app.command()
def quote(
    only: Annotated[
        str, typer.Option(help=f"Models, by commas; * stands for anything. Of {', '.join(ENTRIES)}.")
    ] = "*",
    compiled: Annotated[Path, typer.Option(help="Results of `bench zoo`, with what compiling found.")] = COMPILED,
    digits: Annotated[Path | None, typer.Option(help="An .npz of images and labels, for models of them.")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds of wall time that a model may take.")] = 300.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the JSON object there too, after every model.")] = None,
) -> None:
    """Quote each model in a fresh process, by the prices of the package, and compare."""
    os.environ[SWITCH] = "table"  # as what was compiled was predicted by
    conditions = {
        "time": "processor time of the process, imports of the model apart",
        "compared": f"levels, seconds of a later run, memory and key bytes of {compiled.name}; the worst counts",
    }
    rows: list[Row] = []
    stored = _read(compiled)
    for name in (n for n in stored if any(fnmatch(n, wanted) for wanted in only.split(","))):
        if name not in ENTRIES or (ENTRIES[name].of_digits and digits is None):
            continue
        with Console(stderr=True).status(name):
            try:
                (found,) = parts_of(make_quote, name, digits, limit_seconds=limit)
                rows += _rows(name, found, stored[name])
            except (UserError, RuntimeError, TimeoutError, ChildProcessError) as error:
                rows.append(Row(name, "ended", "", None, note=str(error), required=True))
        if output is not None:
            output.write_text(json_format.dumps(report("quote", rows, conditions), indent=1) + "\n")
    show(report("quote", rows, conditions), json)


def make_quote(name: str, digits: Path | None) -> Iterator[dict[str, Any]]:
    """The quote of a model, as plain data, with its text."""
    entry = ENTRIES[name]
    found = entry.made(entry.prepare(digits) if entry.of_digits else entry.prepare())
    data = {} if found.calibrate is None else {"calibrate": found.calibrate}
    made = quote_program(found.program, {**data, **found.options}, seconds=SECONDS, clock=time.process_time)
    yield {**made.data(), "text": made.text()}


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The figures that compiling found, by model and metric; levels and bootstraps of the plan beside them."""
    found: dict[str, dict[str, Any]] = {}
    for row in json_format.loads(path.read_text())["rows"]:
        of = found.setdefault(row["case"], {})
        of[row["metric"]] = row["ours"]
        if row["metric"] == "compile":
            of |= {key: row["details"][key] for key in ("levels", "bootstraps", "ring")}
    return {name: of for name, of in found.items() if "levels" in of and COMPARED["seconds"][0] in of}


def _rows(name: str, found: dict[str, Any], stored: dict[str, Any]) -> Iterator[Row]:
    price = found["prices"][0]
    ratios = {
        field: price[field] / (stored[metric] * unit)
        for field, (metric, unit) in COMPARED.items()
        if price[field] and metric in stored
    }
    if not stored["bootstraps"] and price["levels"] is not None:
        ratios["levels"] = price["levels"] / max(1, stored["levels"])
    details = {"quoted": price, "ratios": ratios, "compiled": stored, "text": found["text"]}
    worst = None if price["seconds"] is None else max((max(r, 1 / r) for r in ratios.values()), default=None)
    note = price["how"] if worst is not None else f"levels alone: {price['problem']}"
    yield Row(name, "off by", "x", worst, target=WITHIN, checked=True, details=details, note=note, required=True)
    yield Row(name, "quote", "s", found["taken_seconds"], target=SECONDS, checked=True)
