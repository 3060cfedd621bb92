"""One circuit of the zoo: compiled for one row and for as many as fill the slots, run, and compared with its model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

import latticework as lw
from bench.compiling import peak_bytes
from bench.zoo.compiled import compile_figures
from bench.zoo.entry import ZooModel
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel


def circuit_stages(
    found: ZooModel, encrypted: int, threads: int, table: str | None, later_runs: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(stage, figures by name) after the import: compile, run, filled, accuracy.

    encrypted  rows that are decrypted one by one; those of a filled run are compared too
    """
    circuit = found.program
    clock = time.process_time if threads == 1 else time.perf_counter
    before, started = peak_bytes(), time.process_time()
    model = lw.compile(circuit, cost_table=table, **found.options)
    seconds = time.process_time() - started
    cost = estimate(model.plan, CostModel.load(table))
    yield "compile", compile_figures(model, cost, seconds, before)
    rows = np.asarray(found.rows)
    encode, finish = found.encode or circuit.encoded, found.finish or circuit.finished
    encoded = encode(rows)
    clear = np.concatenate([np.atleast_1d(finish([circuit(row)])) for row in encoded])
    decided = np.zeros(len(rows), bool)
    right = np.ones(len(rows), bool)

    def check(places: slice, sums: Any) -> None:
        decided[places] = True
        right[places] = finish(sums) == clear[places]

    if encrypted:
        client = model.client(threads=threads)
        started = clock()
        server = model.server(client.keygen().public(), threads=threads)
        keys = clock() - started
        runs, around = [], []
        for number in range(max(1 + later_runs, encrypted)):
            place = slice(number % len(rows), number % len(rows) + 1)
            started = clock()
            sent = client.encrypt(**{found.encrypted_as: encoded[place][0]})
            middle = clock()
            answer = server(sent)
            ended = clock()
            check(place, client.decrypt(answer).reveal())
            runs.append(ended - middle)
            around.append(middle - started + clock() - ended)
        yield "run", {
            "keys": keys, "first": runs[0], "later": median(runs[1:]), "client": median(around[1:]),
            "peak": peak_bytes(), "bootstrap": None, "lines": [],
        }  # fmt: skip
        del client, server
        yield "filled", _filled(found, threads, table, encoded, check, clock)
    yield "accuracy", _told(found, rows, clear, decided, right)


def _filled(found: ZooModel, threads: int, table: str | None, encoded: Any, check: Any, clock: Any) -> dict[str, Any]:
    """As many rows as fill the slots, in one run."""
    model = lw.compile(found.program, cost_table=table, batch="fill", **found.options)
    together = model.plan.client.rows
    places = slice(0, min(together, len(encoded)))
    given = np.resize(encoded, (together, *encoded.shape[1:]))
    client = model.client(threads=threads)
    server = model.server(client.keygen().public(), threads=threads)
    times = []
    for _ in range(2):
        sent = client.encrypt(**{found.encrypted_as: given})
        started = clock()
        answer = server(sent)
        times.append(clock() - started)
    check(places, np.asarray(client.decrypt(answer).reveal())[places])
    return {"rows": together, "seconds": times[-1] / together, "run": times[-1], "keys": len(model.plan.keys)}


def _told(found: ZooModel, rows: Any, clear: Any, decided: Any, right: Any) -> dict[str, Any]:
    """What accuracy reports of programs on arrays say, of decisions: the model, its circuit in the clear, encrypted."""
    assert found.itself is not None
    itself = np.asarray(found.itself(rows))
    of = {"float": (itself, None, slice(None)), "grid": (clear, itself == clear, slice(None)),
          "encrypted": (clear, right, decided)}  # fmt: skip
    columns = []
    for name, (decisions, agrees, places) in of.items():
        score = None if found.labels is None else float(np.mean(decisions[places] == np.asarray(found.labels)[places]))
        count = len(decisions[places])
        if count:
            agreement = None if agrees is None else float(np.mean(agrees[places]))
            columns.append({"name": name, "rows": count, "score": score, "agreement": agreement, "error": 0.0,
                            "relative": 0.0, "off at": None})  # fmt: skip
    return {"measure": "accuracy", "decision": "class", "rows": len(rows), "refused": 0, "columns": columns}
