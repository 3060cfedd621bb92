"""`latticework bench many-rows`: networks on thousands of encrypted rows, in one run or a few, without keys."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console

import latticework as lw
from bench.compiling import peak_bytes
from bench.many_rows.networks import RELU, SQUARE, TRAINED, Activation, Layers, forward, read_digits, train
from bench.rows import Row, report, show

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
# Seconds of the server's stage, process and reading included: of the leading entry of the community's benchmark suite
# of HomomorphicEncryption.org (2026), a development run on a CPU of theirs.
PUBLISHED = {("784-128-10", 1000): 0.45, ("784-128-10", 10000): 1.0}
TARGETS = {
    ("784-128-10", 100): 0.35, ("784-128-10", 1000): 0.40, ("784-128-10", 10000): 1.0,
    ("784-128-64-10", 1000): 0.8, ("784-128-64-10", 10000): 1.8,
    ("784-128-64-10 of ReLU", 1000): 0.8, ("784-128-64-10 of ReLU", 10000): 1.8,
}  # fmt: skip
LATER_RUNS = 3


@lw.program
def one_square(x: lw.Secret[784], w1, b1, w2, b2):  # type: ignore[no-untyped-def]
    """A network with one hidden layer."""
    return np.square(x @ w1 + b1) @ w2 + b2


@lw.program
def two_squares(x: lw.Secret[784], w1, b1, w2, b2, w3, b3):  # type: ignore[no-untyped-def]
    """A network with two hidden layers."""
    return np.square(np.square(x @ w1 + b1) @ w2 + b2) @ w3 + b3


@lw.program
def two_relus(x: lw.Secret[784], w1, b1, w2, b2, w3, b3):  # type: ignore[no-untyped-def]
    """The same with ReLU, whose units become parabolas that weights take in."""
    return np.maximum(np.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3


class Network(NamedTuple):
    """A network to measure.

    agreement  share of decisions that have to stay, where functions are approximated;  calibrated  on so many images
    """

    program: Any
    widths: tuple[int, ...]
    activation: Activation
    agreement: float | None = None
    calibrated: int = 256


NETWORKS = {
    "784-128-10": Network(one_square, (784, 128, 10), SQUARE),
    "784-128-64-10": Network(two_squares, (784, 128, 64, 10), SQUARE),
    "784-128-64-10 of ReLU": Network(two_relus, (784, 128, 64, 10), RELU, 0.97, 2048),
}


@app.command()
def many_rows(
    digits: Annotated[Path, typer.Option(help="A file of NumPy with images (n, 28, 28) and labels (n).")],
    precision_bits: Annotated[int, typer.Option(help="Bits of precision.")] = 8,
    threads: Annotated[int, typer.Option(help="Of the server; 0: one a core.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train three networks, and compute scores of 100 to 10,000 encrypted images, each count in its own process."""
    images, labels = read_digits(digits)
    rows: list[Row] = []
    for name, network in NETWORKS.items():
        with err.status(f"{name}: training"):
            layers = train(images, labels, network.widths, network.activation)
        for count in (100, 1000, 10000):
            with err.status(f"{name}: {count} rows"), ProcessPoolExecutor(1, get_context("spawn")) as pool:
                found = pool.submit(_measure, name, layers, images, labels, count, precision_bits, threads).result()
            rows += _rows(name, count, found)
    conditions = {
        "security": "128 bits",
        "time": "processor time of the process, of all runs that the rows take; first: memory from the system included",
        "threads": threads,
        "objective": "throughput, by which the compiler chooses how rows lie",
        "precision_bits": precision_bits,
        "right": f"of the images that were not trained on, up to {len(images) - TRAINED}",
    }
    show(report("many-rows", rows, conditions), json)


def _measure(
    name: str, layers: Layers, images: Any, labels: Any, count: int, precision_bits: int, threads: int
) -> dict[str, Any]:
    """Compile for so many rows, and run them: those that were not trained on first."""
    network = NETWORKS[name]
    order = np.r_[TRAINED : len(images), :TRAINED][:count]
    rows, held = images[order], min(count, len(images) - TRAINED)
    start = time.process_time()
    model = lw.compile(
        network.program,
        weights=tuple(part for layer in layers for part in layer),
        calibrate=images[: network.calibrated],
        batch=min(count, 4096),
        precision_bits=precision_bits,
        agreement=network.agreement,
        objective="throughput",
    )
    compiled = time.process_time() - start
    client = model.client(threads=threads)
    server = model.server(client.keygen().public(), threads=threads)
    start = time.process_time()
    sent = client.encrypt(rows)
    encrypted = time.process_time() - start
    seconds = []
    for _ in range(1 + LATER_RUNS):
        start = time.process_time()
        result = server(sent)
        seconds.append(time.process_time() - start)
    peak = peak_bytes()
    start = time.process_time()
    decrypted = client.decrypt(result)
    opened = time.process_time() - start
    scores, clear = decrypted.reveal(), forward(layers, rows, network.activation)
    chosen, exact = scores[:held].argmax(axis=1), clear[:held].argmax(axis=1)
    return {
        "compile": compiled, "encrypt": encrypted, "first": seconds[0], "later": statistics.median(seconds[1:]),
        "decrypt": opened, "peak": peak, "up": len(sent.to_bytes()), "down": len(result.to_bytes()),
        "keys": sum(model.plan.client.manifest.bytes_stored), "ring": model.plan.chain.ring_degree,
        "log2_q": model.plan.chain.log2_qp, "rows of a run": model.plan.client.rows,
        "error": float(np.abs(scores - clear).max()), "bound": float(decrypted.error_bound),
        "right": float((chosen == labels[order[:held]]).mean()), "as in the clear": float((chosen == exact).mean()),
        "right in the clear": float((exact == labels[order[:held]]).mean()),
    }  # fmt: skip


def _rows(name: str, count: int, found: dict[str, Any]) -> list[Row]:
    case, is_right = f"{name}, {count} rows", found["error"] <= found["bound"]
    details = {key: found[key] for key in ("ring", "log2_q", "rows of a run", "error", "bound")}
    shares = {key: found[key] for key in ("right", "right in the clear", "as in the clear")}
    published = PUBLISHED.get((name, count))
    return [
        Row(case, "compile", "s", found["compile"]),
        Row(case, "encrypt", "s", found["encrypt"], checked=is_right),
        Row(
            case, "first run", "s", found["first"], published, "suite, server's stage with process", checked=is_right,
            target=TARGETS.get((name, count)), details=details,
        ),
        Row(case, "later run", "s", found["later"], checked=is_right),
        Row(case, "decrypt", "s", found["decrypt"], checked=is_right),
        Row(case, "peak memory", "MB", found["peak"] / 1e6),
        Row(case, "keys", "MB", found["keys"] / 1e6),
        Row(case, "up", "MB", found["up"] / 1e6),
        Row(case, "down", "MB", found["down"] / 1e6),
        Row(case, "right", "%", 100 * found["right"], better="higher", checked=is_right, details=shares),
    ]  # fmt: skip
