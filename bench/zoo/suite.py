"""`latticework bench zoo`: trained models, most of them made by others, imported, compiled and run encrypted."""

from __future__ import annotations

import json as json_format
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import latticework as lw
from bench.processes import parts_of
from bench.programs import layer_table
from bench.rows import PLAIN_WIDTH, Row, report
from bench.zoo.cases import ENTRIES
from bench.zoo.entry import ZooEntry
from bench.zoo.measure import stages

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
out, err = Console(highlight=False), Console(stderr=True, highlight=False)
HEADINGS = (
    "model", "import, s", "compile, s", "peak, MB", "levels", "bootstraps", "rotations", "keys, MB", "predicted, s",
    "first, s", "later, s", "client, s", "peak, MB", "score, float", "encrypted", "agreement", "largest error",
)  # fmt: skip


@app.command()
def zoo(
    only: Annotated[
        str, typer.Option(help=f"Models, by commas; * stands for anything. Of {', '.join(ENTRIES)}.")
    ] = "*",
    encrypted: Annotated[int, typer.Option(min=0, help="Rows of each that a client and a server compute.")] = 8,
    everything: Annotated[bool, typer.Option(help="Run encrypted what is only priced and simulated, too.")] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a server; times of one are processor times.")] = 1,
    limit: Annotated[float, typer.Option(min=1, help="Seconds of wall time that a model may take.")] = 1800.0,
    lines: Annotated[bool, typer.Option(help="Show times by line of each model.")] = False,
    digits: Annotated[
        Path | None, typer.Option(help="An .npz of images and labels, for models that are trained on them.")
    ] = None,
    cost_table: Annotated[Path | None, typer.Option(help="Table of `measure` to predict by.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the JSON object there too, after every model.")] = None,
) -> None:
    """Import, compile and run each model in a fresh process, and say how accurate it is."""
    chosen = [name for name in ENTRIES if any(fnmatch(name, wanted) for wanted in only.split(","))]
    if not chosen:
        raise typer.BadParameter(f"no model is {only!r}; there are {', '.join(ENTRIES)}", param_hint="--only")
    if digits is None and (lacking := [name for name in chosen if ENTRIES[name].of_digits]):
        if chosen == lacking:
            raise typer.BadParameter(f"{', '.join(lacking)}: give --digits, an .npz of images and labels")
        chosen = [name for name in chosen if name not in lacking]
    conditions: dict[str, Any] = {
        "threads": threads,
        "time": "processor time of the process" if threads == 1 else "wall time",
        "compile": "processor time of lw.compile, in a process of its own; peak memory of that process",
        "later": "median of three runs of one row on a server that has run it before; client: encryption, decryption",
        "checked": "model.accuracy on rows that calibration did not see, the last column encrypted",
    }
    rows: list[Row] = []
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in chosen:
        with err.status(name):
            rows_run = encrypted if everything or not ENTRIES[name].is_priced else 0
            found, problem = _found(name, rows_run, threads, cost_table, limit, digits)
        rows += rows_of(name, ENTRIES[name], found, problem)
        if "run" in found:
            tables[name] = found["run"].pop("lines")
        content = report("zoo", rows, conditions, tables) | {"models": _described(chosen)}
        if output is not None:
            output.write_text(json_format.dumps(content, indent=1) + "\n")
    if json:
        print(json_format.dumps(content, indent=1))
        return
    out.width = out.width if out.is_terminal else PLAIN_WIDTH
    out.print(table(content["rows"]))
    for row in content["rows"]:
        if row["metric"] == "ended":
            out.print(f"{row['case']}: {row['note']}", markup=False, soft_wrap=True)
    for name, found_lines in tables.items() if lines else ():
        out.print(layer_table(name, found_lines))
    summary = content["summary"]
    out.print(f"targets met: {summary['met']} of {summary['targets']}", markup=False)
    for missed in summary.get("not met", []):
        out.print(f"not met: {missed}", markup=False)


def _found(
    name: str, encrypted: int, threads: int, cost_table: Path | None, limit: float, digits: Path | None
) -> tuple[dict[str, Any], str | None]:
    """What each stage found, and what ended them if something did."""
    found: dict[str, Any] = {}
    try:
        for stage, figures in parts_of(
            stages,
            name,
            encrypted,
            threads,
            None if cost_table is None else str(cost_table),
            digits,
            limit_seconds=limit,
        ):
            found[stage] = figures
    except (lw.UserError, RuntimeError, TimeoutError, ChildProcessError) as error:
        return found, f"{error}"
    return found, None


def rows_of(name: str, entry: ZooEntry, found: dict[str, Any], problem: str | None) -> list[Row]:
    """Figures of one model; a row that says what ended it where something did."""
    rows: list[Row] = []
    accuracy = found.get("accuracy")
    columns = {each["name"]: each for each in accuracy["columns"]} if accuracy else {}
    checked = "encrypted" in columns
    if "import" in found:
        rows.append(Row(name, "import", "s", found["import"]["seconds"], details={"notes": found["import"]["notes"]}))
    if "compile" in found:
        plan = found["compile"]
        kept = ("ring", "levels", "bootstraps", "rotations", "keys", "functions", "said")
        rows += [
            Row(name, "compile", "s", plan["seconds"], details={key: plan[key] for key in kept}),
            Row(name, "compile peak memory", "MB", plan["peak"] / 1e6),
            Row(name, "keys stored", "MB", plan["key bytes"] / 1e6),
            Row(name, "later run, predicted on one thread", "s", plan["predicted"]),
            Row(name, "server with all keys and constants, predicted", "MB", plan["memory"] / 1e6),
        ]
    if "run" in found:
        run, published = found["run"], entry.published or (None, None)
        rows += [
            Row(name, "first run", "s", run["first"], checked=checked),
            Row(name, "later run", "s", run["later"], *published, target=entry.seconds, checked=checked),
            Row(name, "encryption and decryption", "s", run["client"], checked=checked),
            Row(name, "peak memory", "MB", run["peak"] / 1e6),
        ]
        if run["bootstrap"] is not None:
            rows.append(Row(name, "one bootstrap of that run", "s", run["bootstrap"], checked=checked))
    if "filled" in found:
        figures = found["filled"]
        target = entry.filled_seconds
        rows.append(
            Row(name, "filled run, a row", "s", figures["seconds"], target=target, checked=checked, details=figures)
        )
    for column, figures in columns.items():
        details = {key: value for key, value in figures.items() if key != "name"} | {
            key: accuracy[key] for key in ("measure", "decision", "refused")
        }
        rows.append(Row(name, f"largest error, {column}", "", figures["error"], details=details, checked=True))
    if problem is not None:
        rows.append(Row(name, "ended", "", None, note=problem, required=True))
    return rows


def _described(chosen: list[str]) -> dict[str, str]:
    return {name: ENTRIES[name].title for name in chosen}


def table(rows: list[dict[str, Any]]) -> Table:
    """One line a model."""
    shown = Table()
    for heading in HEADINGS:
        shown.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    for name in dict.fromkeys(row["case"] for row in rows):
        of = {row["metric"]: row for row in rows if row["case"] == name}
        plan = of.get("compile", {}).get("details", {})
        last = of.get("largest error, encrypted") or of.get("largest error, simulated")
        first = of.get("largest error, float")
        told = [] if last is None else [last["details"]]
        shown.add_row(
            name, _figure(of, "import"), _figure(of, "compile"), _figure(of, "compile peak memory"),
            *(str(plan.get(key, "")) for key in ("levels", "bootstraps", "rotations")), _figure(of, "keys stored"),
            _figure(of, "later run, predicted on one thread"), _figure(of, "first run"), _figure(of, "later run"),
            _figure(of, "encryption and decryption"), _figure(of, "peak memory"),
            "" if first is None or first["details"]["score"] is None else f"{first['details']['score']:.4g}",
            *("" if each["score"] is None else f"{each['score']:.4g}" for each in told),
            *("" if each["agreement"] is None else _agreeing(each) for each in told),
            "" if last is None else f"{last['ours']:.3g}",
        )  # fmt: skip
    return shown


def _agreeing(column: dict[str, Any]) -> str:
    """How many of a column's rows decide as the column before."""
    return f"{round(column['agreement'] * column['rows'])} of {column['rows']}"


def _figure(of: dict[str, Any], metric: str) -> str:
    return f"{of[metric]['ours']:.4g}" if metric in of and of[metric]["ours"] is not None else ""
