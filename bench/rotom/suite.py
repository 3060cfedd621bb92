"""`latticework bench rotom`: the Rotom paper's programs, compiled, run encrypted, and compared with its counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from bench.compiling import compiled
from bench.programs import Stopwatch, facts, figures, layers
from bench.rotom.workloads import SLOTS, Workload, workloads
from bench.rows import Row, report, show
from latticework.cost import CostModel, estimate
from latticework.errors import UserError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
PRECISION_BITS = 10
COMPILE_SECONDS = {"attention": 60.0}
COUNTED = {  # metric -> what the reference calls it
    "encrypted input vectors": "ciphertexts",
    "rotations, hoisted ones included": "rotations",
    "ciphertext products": "ct products",
    "plaintext products": "pt products",
}
LIMITS = ("rotations", "ciphertexts")  # not to be exceeded
MEASURED = "Rotom's public code, rolls on"


@app.command()
def rotom(
    n: Annotated[int, typer.Option(help=f"Slots: {' or '.join(map(str, SLOTS))}.")] = SLOTS[0],
    names: Annotated[str, typer.Option(help="Workloads, separated by commas; all if not given.")] = "",
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of each, after a first one.")] = 3,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile and run the workloads encrypted; counts and times of one run each."""
    if n not in SLOTS:
        raise UserError(f"bench rotom: --n {n}; the workloads have sizes for {' and '.join(map(str, SLOTS))} slots")
    chosen = [w for w in workloads(n) if not names or w.name in [name.strip() for name in names.split(",")]]
    if not chosen:
        raise UserError(f"bench rotom: {names!r} names none of {', '.join(w.name for w in workloads(n))}")
    rows: list[Row] = []
    tables: dict[str, list[dict[str, Any]]] = {}
    conditions: dict[str, Any] = {"slots": n, "precision asked, bits": PRECISION_BITS, "threads": "all", "programs": {}}
    with err.status("") as status:
        for workload in chosen:
            status.update(workload.name)
            rows += list(measured(workload, n, runs, conditions["programs"], tables))
    show(report("rotom", rows, conditions, tables), json)


def options(name: str, slots: int) -> dict[str, Any]:
    """Those of `lw.compile` for a workload."""
    (workload,) = (w for w in workloads(slots) if w.name == name)
    return {
        "program": workload.program,
        "weights": tuple(workload.weights.values()),
        "calibrate": {name: array[None] for name, array in workload.inputs.items()},
        "precision_bits": PRECISION_BITS,
        "ring_degree": 2 * slots,
    }


def measured(
    workload: Workload, slots: int, runs: int, programs: dict[str, Any], tables: dict[str, list[dict[str, Any]]]
) -> Iterator[Row]:
    """Rows of one workload; facts about its plan and the table of its lines go to the dictionaries."""
    made = compiled(options, workload.name, slots)
    model = made.model
    client = model.client()
    keys = client.keygen()
    server = model.server(keys.public())
    sent = client.encrypt(**workload.inputs)
    times = []
    for _ in range(1 + runs):
        started = time.perf_counter()
        result = server(sent)
        times.append(time.perf_counter() - started)
    clock = Stopwatch()
    server(sent, on_event=clock)
    expected = workload.expected()
    found = np.asarray(client.decrypt(result).reveal()).reshape(expected.shape)
    error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    right = error <= 2.0**-PRECISION_BITS

    plan, cost = model.plan, estimate(model.plan, CostModel.load())
    programs[workload.name] = facts(plan)
    tables[workload.name] = [layer.content() for layer in layers(plan, cost, clock.seconds)]

    def row(metric: str, unit: str, ours: float, target: float | None = None) -> Row:
        golden = COUNTED.get(metric)
        reference = workload.measured.get(golden) if golden else None
        wanted = reference if golden in LIMITS else target
        return Row(
            workload.name, metric, unit, float(ours), reference, None if reference is None else MEASURED, wanted,
            checked=right,
        )  # fmt: skip

    yield from (row(metric, unit, value) for metric, unit, value in figures(plan, cost))
    yield from made.rows(workload.name, COMPILE_SECONDS.get(workload.name, 10.0))
    yield row("first run", "s", times[0])
    yield row("run", "s", median(times[1:]))
    yield row("largest error, of the largest result", "", error, target=2.0**-PRECISION_BITS)
