"""Training under encryption in mini-batches, with a rate that decays: a 3 or an 8? (CKKS with bootstraps)

The owner of the data encrypts 256 handwritten digits and what they are. The server, which sees neither, learns to tell
them apart: batch after batch, each step smaller than the one before, by a schedule that is public. What comes back is
the model, and the loss of every epoch, which only the owner can read. The program is compiled with other digits, which
are public: error bounds hold for data like those.

At 128-bit security it took 14.2 GB of memory and 2 min 39 s on two cores; `--small` takes 2 GB
and half a minute with a set that protects nothing.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import latticework as lw

EPOCHS, BATCHES, ROWS, PIXELS = 3, 8, 32, 64
RATES = (6.0 / (1 + np.arange(EPOCHS * BATCHES) / 4)).reshape(EPOCHS, BATCHES)
PUBLIC = 40  # digits to compile with
SEED = 0


@lw.program
def train(x: lw.Secret[BATCHES, ROWS, PIXELS], y: lw.Secret[BATCHES, ROWS], rates: lw.Array):
    """A model that tells which rows are labelled, and its mean squared error in every epoch."""

    def epoch(model, rate):
        def step(i, state):
            wrong = lw.sigmoid(x[i] @ state["w"] + state["b"]) - y[i]
            return {
                "w": state["w"] - rate[i] * (wrong @ x[i]) / ROWS,
                "b": state["b"] - rate[i] * np.mean(wrong),
                "loss": state["loss"] + np.mean(wrong * wrong),
            }

        end = lw.for_loop(BATCHES, step, {**model, "loss": 0.0})
        return {"w": end["w"], "b": end["b"]}, end["loss"] / BATCHES

    model, losses = lw.scan(epoch, {"w": np.zeros(PIXELS), "b": 0.0}, rates)
    return {**model, "losses": losses}


@dataclass(frozen=True)
class Digits:
    """Images (rows, 64) with values within [-1/2, 1/2], and which of them are an 8: public, to learn from, held out."""

    public: tuple[Any, Any]
    private: tuple[Any, Any]
    held_out: tuple[Any, Any]


def digits() -> Digits:
    """The threes and eights of scikit-learn's digits."""
    found = load_digits()
    chosen = np.flatnonzero((found.target == 3) | (found.target == 8))
    order = np.random.default_rng(SEED).permutation(chosen)
    images, labels = found.data[order] / 16 - 0.5, (found.target[order] == 8).astype(np.float64)
    ends = PUBLIC, PUBLIC + BATCHES * ROWS
    return Digits(*zip(np.split(images, ends), np.split(labels, ends), strict=True))


def examples_like(images: Any, labels: Any, runs: int = 4) -> dict[str, Any]:
    """Inputs of a few runs to compile with, drawn from few images again and again."""
    drawn = np.random.default_rng(SEED).integers(len(images), size=(runs, BATCHES, ROWS))
    return {"x": images[drawn], "y": labels[drawn]}


def run(**options: Any) -> tuple[lw.Model, float, dict[str, lw.OwnerValue], dict[str, Any]]:
    """Train encrypted; (model compiled, seconds of the run, results, the same training in the clear)."""
    data = digits()
    x, y = data.private[0].reshape(BATCHES, ROWS, PIXELS), data.private[1].reshape(BATCHES, ROWS)
    model = lw.compile(train, weights=(RATES,), calibrate=examples_like(*data.public), precision_bits=8, **options)
    client = model.client()
    server = model.server(client.keygen().public())
    sent = client.encrypt(x, y)
    begun = time.perf_counter()
    found = server(sent)
    seconds = time.perf_counter() - begun
    return model, seconds, client.decrypt(found), train(x, y, RATES)


def accuracy(model: dict[str, Any]) -> float:
    """The share of the digits held out that a model tells right."""
    images, labels = digits().held_out
    return float(np.mean((images @ model["w"] + model["b"] > 0) == (labels > 0.5)))


def main() -> int:
    """Print what the encrypted model is worth beside the same training in the clear."""
    small = sys.argv[1:] == ["--small"]
    if sys.argv[1:] and not small:
        sys.exit("usage: python examples/minibatches.py [--small]")
    console = Console()
    with console.status("compiling, making keys, training"):
        model, seconds, results, wanted = run(**{"bootstrap_set": "T12L16", "insecure": True} if small else {})
    found = {name: result.reveal() for name, result in results.items()}
    table = Table("encrypted", "largest difference", "bound", title=f"{model!r}: {seconds:.0f} s")
    differences = {name: float(np.max(np.abs(found[name] - wanted[name]))) for name in found}
    for name, result in results.items():
        table.add_row(name, f"{differences[name]:.1e}", f"{result.error_bound:.1e}")
    console.print(table)
    losses, exact = (" ".join(f"{loss:.3f}" for loss in model["losses"]) for model in (found, wanted))
    console.print(f"loss by epoch        {losses}, in the clear {exact}")
    console.print(f"accuracy held out    {accuracy(found):.1%}, in the clear {accuracy(wanted):.1%}")
    return 0 if all(differences[name] <= result.error_bound for name, result in results.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
