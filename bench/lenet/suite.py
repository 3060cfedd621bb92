"""`latticework bench lenet`: LeNet-5 on encrypted digits; where its time goes, line by line of the program."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from bench import usage
from bench.compiling import compiled
from bench.lenet.network import PROGRAM
from bench.lenet.train import HELD_OUT, Digits, accuracy, load, scores, trained
from bench.programs import Stopwatch, facts, figures, layers
from bench.rows import Row, report, show
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
CASE = "LeNet-5, one image"
PRECISION_BITS = 8
CALIBRATED = 64  # images of the training set
COMPILE_SECONDS = 60.0


@app.command()
def lenet(
    data: Annotated[Path, typer.Option(help="An .npz of images (n, 28, 28) and labels (n,), such as MNIST.")],
    images: Annotated[int, typer.Option(min=1, max=HELD_OUT, help="Images held out that are run encrypted.")] = 8,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile the trained network, and run images encrypted; counts and times of one run, by line."""
    digits = load(data)
    with err.status("training, unless it was done before") as status:
        weights = trained(data)
        status.update("compiling and running")
        held_out = digits[-HELD_OUT:]
        conditions: dict[str, Any] = {
            "precision asked, bits": PRECISION_BITS,
            "threads": "all",
            "images": images,
            "accuracy of the network": f"{accuracy(weights, held_out):.2%} of {HELD_OUT} images held out",
            "checked": f"the classes of {images} images held out equal those of the network in NumPy",
        }
        tables: dict[str, list[dict[str, Any]]] = {}
        rows = list(measured(data, held_out[:images], weights, conditions, tables))
    show(report("lenet", rows, conditions, tables), json)


def options(data: Path) -> dict[str, Any]:
    """Those of `lw.compile`."""
    samples = load(data)[:-HELD_OUT][:CALIBRATED].images
    return {
        "program": PROGRAM,
        "weights": trained(data),
        "calibrate": np.asarray(samples[:, None], dtype=np.float64),
        "precision_bits": PRECISION_BITS,
    }


def measured(
    data: Path, digits: Digits, weights: Any, conditions: dict[str, Any], tables: dict[str, list[dict[str, Any]]]
) -> Iterator[Row]:
    """The rows; facts about the plan and the table of its lines go to the dictionaries."""
    made = compiled(options, data)
    model = made.model
    client = model.client()
    keys = client.keygen()
    server = model.server(keys.public())
    found, sent_seconds, runs, fresh_bytes, clocks = [], [], [], [], []
    for image in digits.images:
        started = time.perf_counter()
        sent = client.encrypt(np.asarray(image[None], dtype=np.float64))
        sent_seconds.append(time.perf_counter() - started)
        clock, before, fresh = Stopwatch(), usage.usage(), server.memory_use.fresh
        result = server(sent, on_event=clock)
        runs.append(usage.usage() - before)
        fresh_bytes.append(server.memory_use.fresh - fresh)
        clocks.append(clock.seconds)
        found.append(np.asarray(client.decrypt(result).reveal()))
    expected = scores(weights, np.asarray(digits.images, dtype=np.float64))
    classes = np.stack(found).argmax(axis=1)
    same = int(np.sum(classes == expected.argmax(axis=1)))
    correct = int(np.sum(classes == digits.labels))
    error = float(np.max(np.abs(np.stack(found) - expected)) / np.max(np.abs(expected)))
    right = same == len(found) and error <= 2.0**-PRECISION_BITS

    plan, cost = model.plan, estimate(model.plan, CostModel.load())
    conditions["program"] = facts(plan)
    last = clocks[1:] or clocks  # the first run encodes constants
    middle = {place: median(clock[place] for clock in last) for place in last[0]}
    tables[CASE] = [layer.content() for layer in layers(plan, cost, middle)]

    def row(metric: str, unit: str, ours: float, target: float | None = None, better: str = "lower") -> Row:
        return Row(CASE, metric, unit, float(ours), target=target, better=better, checked=right)

    yield row("images with the network's class", "", same, len(found), "higher")
    yield row("images with the right class", "", correct)
    yield row("largest error, of the largest score", "", error, 2.0**-PRECISION_BITS)
    yield row("levels", "", plan.chain.main.top)
    yield from (row(metric, unit, value) for metric, unit, value in figures(plan, cost))
    yield from made.rows(CASE, COMPILE_SECONDS)
    yield row("encryption", "s", median(sent_seconds))
    yield row("first run", "s", runs[0].seconds)
    yield row("run", "s", median(run.seconds for run in runs[1:] or runs))
    yield from usage.rows(CASE, runs, fresh_bytes, predicted=(cost.first_seconds, cost.warm_seconds))
