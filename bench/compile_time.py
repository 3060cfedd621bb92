"""`latticework bench compile-time`: what compiling models of real sizes takes, and what plans come out."""

from __future__ import annotations

import json as json_format
import os
import resource
import time
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import latticework as lw
from bench.compile_cases import CASES, GB
from bench.compiling import peak_bytes
from bench.processes import parts_of
from bench.rows import PLAIN_WIDTH, Row, report
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.schema.schema import Plan

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
out, err = Console(highlight=False), Console(stderr=True, highlight=False)
COLUMNS = ("ring", "levels", "rotations", "keys", "bootstraps")


@app.command()
def compile_time(
    only: Annotated[str, typer.Option(help=f"Cases, by commas; * stands for anything. Of {', '.join(CASES)}.")] = "*",
    limit: Annotated[float, typer.Option(min=1, help="Processor seconds that a case may take.")] = 600.0,
    memory: Annotated[float, typer.Option(min=0.5, help="Gigabytes of addresses that a case may take.")] = 8.0,
    check: Annotated[bool, typer.Option(help="Simulate each plan once beside the program in NumPy.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the JSON object there too, after every case.")] = None,
) -> None:
    """Compile each case in a fresh process, under limits."""
    chosen = [name for name in CASES if any(fnmatch(name, wanted) for wanted in only.split(","))]
    if not chosen:
        raise typer.BadParameter(f"no case is {only!r}; there are {', '.join(CASES)}", param_hint="--only")
    conditions = {
        "compile": "processor time of lw.compile, one thread of BLAS, in a process of its own; its peak memory",
        "limits": f"{limit:g} s of processor time, {memory:g} GB of addresses",
        "checked": "the plan simulated once agrees with NumPy" if check else "not asked for (--check)",
    }
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of new processes: threads that wait would be counted as work
    rows: list[Row] = []
    for name in chosen:
        with err.status(name):
            rows += case_rows(name, limit, memory, check)
        if output is not None:
            output.write_text(json_format.dumps(report("compile-time", rows, conditions), indent=1))
    content = report("compile-time", rows, conditions)
    if json:
        print(json_format.dumps(content, indent=1))
    else:
        out.width = out.width if out.is_terminal else PLAIN_WIDTH
        out.print(table(rows))
        out.print(f"targets met: {content['summary']['met']} of {content['summary']['targets']}", markup=False)


def case_rows(name: str, limit: float, memory: float, check: bool) -> list[Row]:
    """Processor time, peak memory and the predicted time of a run; one row that says why where there is no plan."""
    case = CASES[name]
    try:
        (found,) = parts_of(compiled, name, limit, memory, check, limit_seconds=3 * limit)
    except (lw.UserError, RuntimeError, TimeoutError, ChildProcessError) as error:
        return [Row(name, "compile", "s", None, target=case.seconds, note=f"{error}", required=True)]
    compiling = {"target": case.seconds, "checked": True, "details": found["plan"]}
    checked = found["share of bound"] is not None and found["share of bound"] <= 1.0
    return [
        Row(name, "compile", "s", found["seconds"], **compiling),
        Row(name, "peak memory", "MB", found["peak"] / 1e6, target=case.memory / 1e6, checked=True,
            details={"before compiling, MB": round(found["before"] / 1e6)}),
        Row(name, "run, predicted on one thread", "s", found["predicted"], checked=checked,
            details={"error, as a share of its bound": found["share of bound"], "warnings": found["warnings"]}),
    ]  # fmt: skip


def compiled(name: str, limit: float, memory: float, check: bool) -> Iterator[dict[str, Any]]:
    """In the process of a case: what compiling took, and facts about the plan."""
    options = CASES[name].options()
    lw.compile  # noqa: B018  (imports the compiler)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory * GB), resource.RLIM_INFINITY))
    spent = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent + int(limit), resource.RLIM_INFINITY))
    before, started = peak_bytes(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = lw.compile(options["program"], **{key: value for key, value in options.items() if key != "program"})
    seconds, peak = time.process_time() - started, peak_bytes()
    cost = estimate(model.plan, CostModel.load())
    yield {
        "seconds": seconds,
        "peak": peak,
        "before": before,
        "predicted": cost.warm_seconds,
        "plan": facts(model.plan, cost.counts.rotations, cost.counts.bootstraps),
        "share of bound": share_of_bound(model, options) if check else None,
        "warnings": [str(each.message) for each in caught],
    }


def facts(plan: Plan, rotations: int, bootstraps: int) -> dict[str, int]:
    """By the names of `COLUMNS`, and what a plan file and its keys take."""
    numbers = plan.chain.ring_degree, plan.chain.main.top, rotations, len(plan.keys), bootstraps
    return dict(zip(COLUMNS, numbers, strict=True)) | {
        "instructions": sum(1 for _ in plan.walk()),
        "stored keys, MB": round(plan.client.manifest.total_stored_bytes / 1e6),
    }


def share_of_bound(model: lw.Model, options: dict[str, Any]) -> float:
    """The largest error of a run on the first sample, simulated with noise, over the bound that results state."""
    data, weights = options["calibrate"], options.get("weights", ())
    inputs = [each[0] for each in (data.values() if isinstance(data, dict) else (data,))]
    found = model.simulate(*inputs, noise=np.random.default_rng(0))
    exact = options["program"](*inputs, *weights)
    pairs = zip(found, exact if isinstance(exact, tuple) else (exact,), model.plan.client.outputs, strict=True)
    return max(float(np.max(np.abs(a - b))) / output.error_bound for a, b, output in pairs)


def table(rows: list[Row]) -> Table:
    """One line a case."""
    shown = Table()
    for heading in ("case", "compile, s", "target", "peak, MB", "target", "predicted, s", *COLUMNS):
        shown.add_column(heading, justify="left" if heading == "case" else "right", overflow="fold")
    for name in dict.fromkeys(row.case for row in rows):
        of = [row for row in rows if row.case == name]
        if of[0].ours is None:
            shown.add_row(name, of[0].note, f"{of[0].target:g}")
            continue
        seconds, peak, run = of
        times = f"{seconds.ours:.2f}", f"{seconds.target:g}"
        sizes = f"{peak.ours:.0f}", f"{peak.target:.0f}"
        shown.add_row(name, *times, *sizes, f"{run.ours:.4g}", *(f"{seconds.details[c]}" for c in COLUMNS))
    return shown
