"""`latticework bench rotom`: the Rotom paper's programs, compiled, run encrypted, and compared with its counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import latticework as lw
from bench.rotom.workloads import SLOTS, Workload, workloads
from bench.rows import Row, report, show
from latticework.cost import CostModel, estimate
from latticework.errors import UserError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
PRECISION_BITS = 10
COMPILE_SECONDS = {"attention": 60.0}
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
    conditions: dict[str, Any] = {"slots": n, "precision asked, bits": PRECISION_BITS, "threads": "all", "programs": {}}
    with err.status("") as status:
        for workload in chosen:
            status.update(workload.name)
            rows += list(measured(workload, n, runs, conditions["programs"]))
    show(report("rotom", rows, conditions), json)


def measured(workload: Workload, slots: int, runs: int, facts: dict[str, Any]) -> Iterator[Row]:
    """Rows of one workload."""
    started = time.perf_counter()
    model = lw.compile(
        workload.program,
        weights=tuple(workload.weights.values()),
        calibrate={name: array[None] for name, array in workload.inputs.items()},
        precision_bits=PRECISION_BITS,
        ring_degree=2 * slots,
    )
    compile_seconds = time.perf_counter() - started
    client = model.client()
    keys = client.keygen()
    server = model.server(keys.public())
    sent = client.encrypt(**workload.inputs)
    times = []
    for _ in range(1 + runs):
        started = time.perf_counter()
        result = server(sent)
        times.append(time.perf_counter() - started)
    expected = workload.expected()
    found = np.asarray(client.decrypt(result).reveal()).reshape(expected.shape)
    error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    right = error <= 2.0**-PRECISION_BITS

    plan, cost = model.plan, estimate(model.plan, CostModel.load())
    counts, manifest = cost.counts, plan.client.manifest
    facts[workload.name] = {
        "ring degree": plan.chain.ring_degree,
        "levels": plan.chain.main.top,
        "log2 QP": round(plan.chain.log2_qp, 1),
        "instructions": sum(1 for _ in plan.walk()),
        "layouts": [f"{name} {shape}: {layout}" for name, shape, layout in plan.layouts],
    }

    def row(metric: str, unit: str, ours: float, golden: str | None = None, target: float | None = None) -> Row:
        reference = workload.measured.get(golden) if golden else None
        wanted = reference if golden in LIMITS else target
        return Row(
            workload.name, metric, unit, float(ours), reference, None if reference is None else MEASURED, wanted,
            checked=right,
        )  # fmt: skip

    yield row("encrypted input vectors", "", sum(i.pack.count for i in plan.client.secret_inputs), "ciphertexts")
    yield row("rotations, hoisted ones included", "", counts.rotations, "rotations")
    yield row("hoisted decompositions", "", counts.hoists)
    yield row("ciphertext products", "", counts.ciphertext_products, "ct products")
    yield row("plaintext products", "", counts.plaintext_products, "pt products")
    yield row("additions", "", counts.additions)
    yield row("keys", "", len(plan.keys))
    yield row("keys stored", "MB", manifest.total_stored_bytes / 1e6)
    yield row("compile", "s", compile_seconds, target=COMPILE_SECONDS.get(workload.name, 10.0))
    yield row("first run", "s", times[0])
    yield row("run", "s", median(times[1:]))
    yield row("run, predicted on one thread", "s", cost.warm_seconds)
    yield row("largest error, of the largest result", "", error, target=2.0**-PRECISION_BITS)
