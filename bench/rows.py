"""Rows of suites (bench/reports.py) for a reader: as a table, or as JSON."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.programs import layer_table
from bench.reports import Row as Row
from bench.reports import report as report
from bench.reports import rounded as rounded
from bench.reports import summary as summary

PLAIN_WIDTH = 200  # of a table that is not shown on a terminal


def table(content: dict[str, Any]) -> Table:
    """The rows of a report for a reader."""
    shown = Table(title=f"{content['suite']}, commit {content['commit']}, {content['date']}")
    for heading, right in (
        ("case", False), ("metric", False), ("ours", True), ("reference", True), ("ratio", True),
        ("target", True), ("meets", False), ("checked", False), ("source", False),
    ):  # fmt: skip
        shown.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in content["rows"]:
        unit = row["unit"]
        shown.add_row(
            row["case"],
            row["metric"],
            _quantity(row["ours"], unit),
            _quantity(row["reference"], unit),
            "" if row["ratio"] is None else f"{row['ratio']:.2f}x",
            _quantity(row["target"], unit, {"lower": "<= ", "higher": ">= "}[row["better"]]),
            {True: "yes", False: "NO", None: ""}[row["meets"]],
            "yes" if row["checked"] else "no",
            row.get("note") or row["source"] or "",
        )
    return shown


def _quantity(x: float | None, unit: str, sign: str = "") -> str:
    return "" if x is None else f"{sign}{x:g} {unit}"


def show(content: dict[str, Any], as_json: bool) -> None:
    """Print a report."""
    if as_json:
        print(json.dumps(content, indent=1))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    console.print(table(content))
    for name, found in content.get("layers", {}).items():
        console.print(layer_table(name, found))
    for name, value in content["conditions"].items():
        console.print(f"{name}: {value if isinstance(value, str) else json.dumps(value)}", soft_wrap=True, markup=False)
    found = content["summary"]
    if found["targets"]:
        console.print(f"targets met: {found['met']} of {found['targets']}", markup=False)
        for name in found["not met"]:
            console.print(f"not met: {name}", soft_wrap=True, markup=False)
    if "worst" in found:
        worst = found["worst"]
        ratio = "" if worst["ratio"] is None else f"{worst['ratio']:.2f}x, "
        share = f"{worst['share of target']:.2f} of its target"
        console.print(f"farthest from its target: {worst['row']}: {ratio}{share}", soft_wrap=True, markup=False)
