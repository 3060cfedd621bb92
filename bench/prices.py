"""`latticework bench prices`: predicted beside measured times of models of the zoo, by different prices.

The variants of the host's backend stand for other machines: a machine without AVX-512, one without AVX2.
"""

from __future__ import annotations

import json as json_format
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import latticework as lw
from bench.processes import parts_of
from bench.rows import Row, report, show
from bench.zoo.cases import ENTRIES
from bench.zoo.measure import as_input
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel, default_table, parse_table, read_table
from latticework.plan.machine.adapted_prices import adapt_prices
from latticework.plan.machine.probe import probe_machine
from latticework.runtime.devices import device

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
MODELS = (
    "logistic",
    "logreg-iris",
    "rbf",
    "relu-network",
    "perceptron-classifier",
    "surfaces-trees",
    "boosting-signs",
    "lenet-squares",
)
LATER_RUNS = 4
TARGETS = {"probe": 1.5, "measured": 1.3}  # times by which a prediction of later runs is off at most


@app.command()
def prices(
    only: Annotated[str, typer.Option(help=f"Models, by commas, of {', '.join(ENTRIES)}.")] = ",".join(MODELS),
    backends: Annotated[str, typer.Option(help="Backends of the core, by commas.")] = "auto,cpu-avx2,ref",
    table: Annotated[Path | None, typer.Option(help="Table that `measure` wrote here, for `auto`.")] = None,
    digits: Annotated[Path | None, typer.Option(help="An .npz of images and labels, for LeNet-5.")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds of wall time that a model may take.")] = 900.0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    output: Annotated[Path | None, typer.Option(help="Write the JSON object there too, after every model.")] = None,
) -> None:
    """Compile each model in a fresh process, predict its runs, and run it."""
    conditions = {
        "times": "processor time of the process, one thread; later runs: the shortest of four, first: of a new server",
        "probe": "prices of the package, brought to the backend by the quick probe, taken just before",
        "ratio": "measured over predicted",
    }
    rows: list[Row] = []
    for name in only.split(","):
        if ENTRIES[name].of_digits and digits is None:
            continue
        with Console(stderr=True).status(name):
            for backend, found in parts_of(measure, name, backends.split(","), table, digits, limit_seconds=limit):
                rows += _rows(name, backend, found)
        if output is not None:
            output.write_text(json_format.dumps(report("prices", rows, conditions), indent=1) + "\n")
    show(report("prices", rows, conditions), json)


def measure(
    name: str, backends: list[str], table: Path | None, digits: Path | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(backend, times): `measured`, and predicted by each kind of prices, of first and later runs."""
    entry = ENTRIES[name]
    found = entry.made(entry.prepare(digits) if entry.of_digits else entry.prepare())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.compile(found.program, calibrate=found.calibrate, **found.options)
    row = tuple(as_input(model, n, each[0]) for n, each in enumerate(_several(found.rows)))
    for backend in backends:
        probed = adapt_prices(default_table(), parse_table(json_format.dumps(probe_machine(backend))), "")
        kinds = {"table": CostModel.load(), "probe": CostModel(probed)}
        if table is not None and backend == "auto":
            kinds["measured"] = CostModel(adapt_prices(default_table(), read_table(table), ""))
        costs = {kind: estimate(model.plan, each) for kind, each in kinds.items()}
        device.HOST = backend
        client = model.client(threads=1)
        server, runs = model.server(client.keygen().public(), threads=1), []
        for _ in range(1 + LATER_RUNS):
            sent, started = client.encrypt(*row), time.process_time()
            server(sent)
            runs.append(time.process_time() - started)
        yield (
            backend,
            {
                "first": runs[0],
                "later": min(runs[1:]),
                "predicted": {kind: {"first": c.first_seconds, "later": c.warm_seconds} for kind, c in costs.items()},
                "ring": model.plan.chain.ring_degree,
            },
        )


def _several(rows: Any) -> tuple[Any, ...]:
    return rows if isinstance(rows, tuple) else (rows,)


def _rows(name: str, backend: str, found: dict[str, Any]) -> Iterator[Row]:
    for run in ("later", "first"):
        for kind, predicted in found["predicted"].items():
            ratio = found[run] / predicted[run]
            target = TARGETS.get(kind) if run == "later" else None
            details = {"measured": found[run], "predicted": predicted[run], "ring": found["ring"]}
            off = max(ratio, 1 / ratio)
            yield Row(
                f"{name}, {backend}", f"{run} run off by, {kind}", "x", off, target=target, checked=True,
                details=details | {"ratio": ratio},
            )  # fmt: skip
