"""One model of the zoo, in a process of its own: imported, compiled, how accurate it is, and run encrypted."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import latticework as lw
from bench.compiling import peak_bytes
from bench.halo.encrypted import BootstrapClock
from bench.programs import Stopwatch, layers
from bench.zoo.cases import ENTRIES
from bench.zoo.circuits import circuit_stages
from bench.zoo.compiled import compile_figures
from bench.zoo.entry import ZooModel
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

LATER_RUNS = 3


def stages(
    name: str, encrypted: int, threads: int, table: str | None, digits: Path | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(stage, figures by name) of one model, as they are found: import, compile, run, accuracy.

    encrypted  rows that the accuracy report runs encrypted
    threads    of the server
    digits     file of images and labels, for models that are trained on them
    """
    entry = ENTRIES[name]
    prepared = entry.prepare(digits) if entry.of_digits else entry.prepare()
    lw.compile  # noqa: B018  (imports the compiler)
    started = time.process_time()
    found = entry.made(prepared)
    yield "import", {"seconds": time.process_time() - started, "notes": list(getattr(found.program, "notes", ()))}
    if isinstance(found.program, lw.Circuit):
        yield from circuit_stages(found, encrypted, threads, table, LATER_RUNS)
        return
    before, started = peak_bytes(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lw.compile(found.program, calibrate=found.calibrate, cost_table=table, **found.options)
    seconds = time.process_time() - started
    cost = estimate(model.plan, CostModel.load(table))
    yield "compile", compile_figures(model, cost, seconds, before)
    with nullcontext() if entry.memory is None else TemporaryDirectory() as folder:
        client, server = model.client(threads=threads) if encrypted else None, None
        if client is not None:
            keys = client.keygen(None if folder is None else Path(folder) / "keys")
            server = model.server(keys.public(), threads=threads, memory=entry.memory)
            later = LATER_RUNS if folder is None else 1
            yield "run", _run(model, found, client, server, threads, later, cost)
        told = model.accuracy(
            found.rows, found.labels, encrypted, simulated=entry.rows, client=client, server=server, progress=False
        )
    yield "accuracy", {
        "measure": told.measure, "decision": told.decision, "rows": told.rows, "refused": len(told.refused),
        "columns": [
            {"name": c.name, "rows": len(c.rows), "score": c.score, "agreement": c.agreement, "error": c.error,
             "relative": c.relative, "off at": None if c.first_off is None else c.first_off.where}
            for c in told.columns
        ],
    }  # fmt: skip


def _run(
    model: lw.Model, found: ZooModel, client: Any, server: Any, threads: int, later: int, cost: Any
) -> dict[str, Any]:
    """One row, several times on one server: first and later runs, by processor time on one thread.

    The time of a bootstrap is its share of the last run.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    row = tuple(each[0] for each in found.rows) if isinstance(found.rows, tuple) else (found.rows[0],)
    row = tuple(as_input(model, place, value) for place, value in enumerate(row))
    runs, around = [], []
    for _ in range(1 + later):
        started = clock()
        sent = client.encrypt(*row)
        middle, watch, refreshed = clock(), Stopwatch(), BootstrapClock()
        begun = time.perf_counter()
        answer = server(sent, on_event=partial(_tell, watch, refreshed))
        ended, share = clock(), refreshed.seconds / (time.perf_counter() - begun)
        _reveal(client.decrypt(answer))
        runs.append(ended - middle)
        around.append(middle - started + clock() - ended)
    return {
        "first": runs[0], "later": median(runs[1:]), "client": median(around[1:]), "peak": peak_bytes(),
        "bootstrap": share * runs[-1] / refreshed.bootstraps if refreshed.bootstraps else None,
        "lines": [asdict(line) for line in layers(model.plan, cost, watch.seconds)],
    }  # fmt: skip


def _tell(watch: Stopwatch, refreshed: BootstrapClock, event: Any) -> None:
    watch(event)
    refreshed(event)


def _reveal(found: Any) -> None:
    for each in found if isinstance(found, tuple) else found.values() if isinstance(found, dict) else (found,):
        each.reveal()


def as_input(model: lw.Model, place: int, value: Any) -> Any:
    """A row of an input that holds any number of rows is a stack of one."""
    shapes = list(model.plan.client.inputs)
    array = np.asarray(value)
    shape = tuple(shapes[place].shape) if place < len(shapes) else array.shape
    return array[None] if array.ndim == len(shape) - 1 else array
