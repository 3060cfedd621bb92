"""Stored results again as tables: latticework bench show FILE... [--markdown]."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.programs import COUNTS, TIMES
from bench.rows import show
from latticework.errors import UserError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
KEYS = {"suite", "commit", "date", "machine", "conditions", "rows", "summary"}
HEADINGS = ("case", "metric", "ours", "reference", "ratio", "target", "met", "source")


@app.command()
def main(
    files: Annotated[list[Path], typer.Argument(help="JSON files that a suite printed.")],
    markdown: Annotated[bool, typer.Option(help="Tables in Markdown.")] = False,
) -> None:
    """Show results that were stored with --json."""
    for file in files:
        content = load(file)
        if markdown:
            print(as_markdown(content))
        else:
            show(content, as_json=False)


def load(file: Path) -> dict[str, Any]:
    """What a suite printed.

    raises  UserError if the file holds something else
    """
    try:
        content = json.loads(file.read_text())
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"bench show: {file} cannot be read as JSON ({error}); give what a suite printed") from None
    if not isinstance(content, dict) or not content.keys() >= KEYS:
        raise UserError(f"bench show: {file} is not the output of a suite: it needs {', '.join(sorted(KEYS))}")
    return content


def as_markdown(content: dict[str, Any]) -> str:
    """The rows and the summary of a report."""
    lines = [
        f"**{content['suite']}**, commit {content['commit']}, {content['date']}, {content['machine']['cpu']}, "
        f"{content['machine']['cores']} cores, {content['machine']['memory_gb']} GiB",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    for row in content["rows"]:
        sign = {"lower": "<=", "higher": ">="}[row["better"]]
        cells = (
            row["case"],
            row["metric"],
            _quantity(row["ours"], row["unit"]),
            _quantity(row["reference"], row["unit"]),
            "" if row["ratio"] is None else f"{row['ratio']:.2f}x",
            "" if row["target"] is None else f"{sign} {_quantity(row['target'], row['unit'])}",
            {True: "yes", False: "NO", None: ""}[row["meets"]],
            row.get("note") or row["source"] or "",
        )
        lines.append("| " + " | ".join(cells) + " |")
    found = content["summary"]
    lines += ["", f"Targets met: {found['met']} of {found['targets']}.", ""]
    for name, layers in content.get("layers", {}).items():
        lines += [f"**{name}**, by line", "", *_layer_lines(layers), ""]
    return "\n".join(lines)


def _layer_lines(layers: list[dict[str, Any]]) -> list[str]:
    head = ("line", "layout of the result", *COUNTS.values(), *TIMES)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for layer in layers:
        times = ("" if layer[key] is None else f"{1e3 * layer[key]:.3g} ms" for key in TIMES)
        code = layer["line"].replace("|", "\\|")
        cells = (f"`{code}`", f"`{layer['layout']}`", *(str(layer[key]) for key in COUNTS), *times)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _quantity(x: float | None, unit: str) -> str:
    return "" if x is None else f"{x:g} {unit}".rstrip()
