"""Training under encryption: logistic regression on breast cancer data, at 128-bit security (CKKS with bootstraps).

The owner of the data encrypts 30 measurements of 512 tumours and whether each was malignant. The server, which sees
neither, trains a classifier for as many iterations as it chooses, and then goes on from the encrypted model; what comes
back is the model, which only the owner can read. The loop stays a loop: its body refreshes the weights on the way, so
one plan serves any number of iterations.

Takes about 14 GB of memory, and 4 to 10 seconds an iteration on two cores.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer

import latticework as lw

ROWS, FEATURES = 512, 31  # 30 measurements and a constant
CALIBRATED = 8  # iterations at a time, at most
RATE = 4.0


@lw.program
def train(x: lw.Secret[ROWS, FEATURES], y: lw.Secret[ROWS], w: lw.Secret[FEATURES], n: lw.Index):
    """The weights after n more steps of gradient descent."""

    def step(_, w):
        wrong = lw.sigmoid(x @ w) - y
        return w - RATE * (wrong @ x) / ROWS

    return {"w": lw.for_loop(n, step, w)}


def tumours() -> tuple[Any, Any, Any, Any]:
    """Rows to learn from with their labels, and rows held out with theirs; measurements within [-1, 1]."""
    found = load_breast_cancer()
    features = np.clip((found.data - found.data.mean(axis=0)) / found.data.std(axis=0), -4, 4) / 4
    rows = np.column_stack([features, np.ones(len(features))])
    order = np.random.default_rng(0).permutation(len(rows))
    rows, labels = rows[order], found.target[order].astype(np.float64)
    return rows[:ROWS], labels[:ROWS], rows[ROWS:], labels[ROWS:]


def accuracy(w: Any, rows: Any, labels: Any) -> float:
    """The share of rows that weights classify as labelled."""
    return float(np.mean((rows @ w > 0) == (labels > 0.5)))


def run(first: int, more: int, tell: Callable[[str], None]) -> list[tuple[str, float, Any, Any]]:
    """Train encrypted; after each stretch its name, seconds, and the weights, encrypted and not."""
    x, y, _, _ = tumours()
    start = np.zeros(FEATURES)
    later = train(x, y, start, CALIBRATED)["w"]
    tell("compiling: where values are refreshed, for any number of iterations")
    data = {"x": np.stack([x, x]), "y": np.stack([y, y]), "w": np.stack([start, later]), "n": CALIBRATED}
    model = lw.compile(train, calibrate=data, precision_bits=8, feed={"w": "w"})
    client = model.client()
    tell("making keys")
    server = model.server(client.keygen().public())
    sent, weights = client.encrypt_part(x=x, y=y), client.encrypt_part(w=start)
    tell(f"the server trains {first} iterations")
    begun = time.perf_counter()
    found = server(sent, weights, n=first)
    middle = time.perf_counter()
    tell(f"and {more} more, from the encrypted model")
    final = server(server.inputs(sent, w=found), n=more)
    ended = time.perf_counter()
    return [
        (f"{first} iterations", middle - begun, client.decrypt(found)["w"].reveal(), train(x, y, start, first)["w"]),
        (f"{more} more", ended - middle, client.decrypt(final)["w"].reveal(), train(x, y, start, first + more)["w"]),
    ]


def main() -> int:
    """Print what the encrypted model is worth beside the same training in the clear."""
    _, _, rows, labels = tumours()
    console = Console()
    with console.status("") as status:
        stretches = run(3, 2, status.update)
    table = Table("trained encrypted", "seconds", "largest difference", "accuracy held out", "in the clear")
    for name, seconds, found, wanted in stretches:
        difference = float(np.max(np.abs(found - wanted)))
        shown = (accuracy(w, rows, labels) for w in (found, wanted))
        table.add_row(name, f"{seconds:.0f}", f"{difference:.1e}", *(f"{share:.1%}" for share in shown))
    console.print(table)
    return 0 if all(np.max(np.abs(found - wanted)) < 0.01 for _, _, found, wanted in stretches) else 1


if __name__ == "__main__":
    sys.exit(main())
