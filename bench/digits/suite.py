"""`latticework bench digits`: one encrypted image through the digits demo's network, ours beside SEAL by hand."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import latticework as lw
from bench.peers.environments import PEERS, Unavailable, environment
from bench.peers.process import Failed, Library, processors
from bench.peers.turns import Effort, duel
from bench.peers.workers.network import DEGREE
from bench.rows import Row, report, show
from latticework.commands.benchmarks import ROOT

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
IMAGES = 8
FASTER = 3
CASE, METRIC = "digits network 64-32-10, one image", "evaluation"


@app.command()
def digits(
    threads: Annotated[int, typer.Option(min=1, help="Threads of our server; SEAL has one.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of either side.")] = 7,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time the evaluation of one encrypted image: compiled by latticework, and written by hand on SEAL."""
    conditions: dict[str, Any] = {
        "threads": threads,
        "processors": processors(threads),
        "time": "median processor time of the process" if threads == 1 else "median wall time",
        "order": "ours, SEAL, ours, SEAL, ...",
        "checked": f"classes of {IMAGES} test images equal those of the polynomial network in NumPy, on both sides",
    }
    with tempfile.TemporaryDirectory() as folder, err.status("training"):
        path = Path(folder) / "network.npz"
        save_network(path)
        show(report("digits", [compared(path, threads, rounds, conditions)], conditions), json)


def compared(path: Path, threads: int, rounds: int, conditions: dict[str, Any]) -> Row:
    """The one row; facts of both sides go to the conditions."""
    peer = next(p for p in PEERS if p.name == "seal")
    try:
        python = environment(peer)
        with (
            Library("ours", Path(sys.executable), "ours_digits_worker.py", [str(path), str(threads)], threads) as ours,
            Library("seal", python, "seal_digits_worker.py", [str(path)], threads) as theirs,
        ):
            conditions["ours"], conditions["seal"] = ours.facts, theirs.facts
            clock = "cpu" if threads == 1 else "wall"
            found = duel(ours, theirs, "image", Effort(rounds, 0.2), clock, tolerance=0.0)
            conditions["ours, wall ms by operation"] = ours.ask(value="milliseconds")["value"]
    except (Unavailable, Failed) as error:
        return Row(CASE, METRIC, "ms", None, note=f"skipped: {error}", required=True)
    return Row(
        CASE,
        METRIC,
        "ms",
        found.ours * 1e3,
        found.theirs * 1e3,
        f"{theirs.facts['library']}, by hand, same run, in turns",
        target=found.theirs * 1e3 / FASTER,
        checked=found.checked,
        details={"times_faster_wanted": FASTER, "runs": list(found.runs), "wrong_classes": list(found.errors)},
        required=True,
    )


def save_network(path: Path) -> None:
    """Train the demo's network, and fit the activation that SEAL gets on the range that the compiler found."""
    spec = importlib.util.spec_from_file_location("digits_example", ROOT / "examples" / "digits.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    (w1, b1_or_w2, *rest), x_train, x_test, _, _ = example.train()
    weights = dict(zip(("w1", "b1", "w2", "b2"), (w1, b1_or_w2, *rest), strict=True))
    fitted = lw.compile(example.score, weights=tuple(weights.values()), calibrate=x_train).plan.approximations[0]
    half, middle = (fitted.high - fitted.low) / 2, (fitted.high + fitted.low) / 2
    series = np.polynomial.chebyshev.chebinterpolate(lambda t: np.maximum(half * t + middle, 0.0), DEGREE)
    np.savez(path, **weights, images=x_test[:IMAGES], series=series, low=fitted.low, high=fitted.high)
