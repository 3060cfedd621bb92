"""`latticework bench pipelines`: pipelines of scikit-learn from raw tables, on rows that they were not fitted on.

Each is fitted, imported, compiled on the raw rows that it was fitted on, and asked about 500 others: encrypted, as many
rows in a run as fit. Decisions are classes, of probabilities the class of the largest; of regressions, values within
the stated error.
"""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import latticework as lw
from bench.pipelines.cases import ASKED, CASES, Case, fitted, import_case
from bench.rows import Row, report, show

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
BITS = 14.0


@app.command()
def pipelines(
    case: Annotated[list[str] | None, typer.Option(help="Only these, by name.")] = None,
    rows: Annotated[int, typer.Option(min=1, max=ASKED, help="How many rows are asked about.")] = ASKED,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare decisions of all pipelines with scikit-learn's."""
    unknown = [name for name in case or () if name not in CASES]
    if unknown:
        raise typer.BadParameter(f"there is no pipeline {', '.join(unknown)}; there are {'; '.join(CASES)}")
    found = []
    for name in case or CASES:
        with err.status(name), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that stop early
            found.append(compare(name, CASES[name], rows))
    conditions = {
        "ours": "rows whose decision is not scikit-learn's", "precision_bits": BITS, "batch": "fill",
        "security": "at least 128 bits",
    }  # fmt: skip
    show(report("pipelines", found, conditions), json)


def compare(name: str, case: Case, count: int) -> Row:
    """One pipeline: the number of rows that it decides otherwise than scikit-learn."""
    pipeline, known, asked = fitted(case)
    asked = asked[:count]
    wanted = np.asarray(getattr(pipeline, case.method)(asked))
    started = time.process_time()
    program = import_case(case, pipeline, known)
    calibrated = known
    if case.has_trees:
        calibrated = known[program.keeps_apart(known)]
    model = lw.compile(
        program, calibrate=calibrated, precision_bits=BITS, batch="fill", progress=False, **case.compiled
    )
    compiled = time.process_time() - started
    started = time.process_time()
    value, bounds, certain = _encrypt(model, asked)
    used = time.process_time() - started
    differing = count - int(np.count_nonzero(_same(value, wanted, bounds, pipeline)))
    details = {
        "rows": count, "not certain": int(np.count_nonzero(~certain)), "raw columns": program.owner.given[0].shape[-1],
        "encrypted numbers": program.graph.inputs[0].shape[-1], "N": model.plan.client.chain.ring_degree,
        "rows a run": model.plan.client.rows, "compile seconds": round(compiled, 1), "run seconds": round(used, 1),
        **({} if wanted.dtype.kind in "UOib" else {"largest error": float(f"{np.abs(value - wanted).max():.3g}")}),
    }  # fmt: skip
    return Row(name, "decisions that differ", "", float(differing), target=0.0, checked=True, details=details)


def _encrypt(model: Any, asked: Any) -> tuple[Any, Any, Any]:
    """Results of a client and a server, their error bounds, and which are certain."""
    client = model.client()
    server = model.server(client.keygen().public())
    found = client.decrypt(server(client.encrypt(asked)))
    return np.asarray(found.reveal()), found.error_bounds, np.asarray(found.is_certain)


def _same(value: Any, wanted: Any, bounds: Any, pipeline: Any) -> Any:
    """Whether each row is decided alike."""
    if wanted.dtype.kind in "UOib":
        return value == wanted
    if wanted.ndim == 2 and hasattr(pipeline, "classes_"):
        return value.argmax(axis=1) == wanted.argmax(axis=1)
    return np.abs(value - wanted) <= bounds
