"""A second opinion under encryption: a random forest on measurements of a tumour (scikit-learn's breast cancer data).

The client compares each of its 30 measurements with 7 public thresholds and encrypts the 210 bits, each once, in one
ciphertext. Which bits a tree asks for, in what order, and what its leaves say stays with the server: a decision is a
product of encrypted bits, and all trees are one circuit of scalar operations, which the compiler packs into vectors.
Results are exact (BFV). What the client does learn is how many keys the server wants, and for which rotations.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import latticework as lw

FEATURES, THRESHOLDS = 30, 7
TREES, DEPTH, SEED = 5, 3, 7
PATIENTS = 8


@lw.circuit
def votes(bits: lw.vector(FEATURES * THRESHOLDS, low=0, high=1), forest):
    """How many trees vote for malignant."""

    def decide(node):
        if isinstance(node, int):
            return node
        bit, above, below = node
        return lw.select(bits[bit], decide(above), decide(below))

    return sum(decide(tree) for tree in forest)


def train():
    """(trees as nested tuples, thresholds, test measurements, test labels, the forest itself)."""
    x, benign = load_breast_cancer(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, 1 - benign, test_size=0.25, random_state=SEED)
    thresholds = np.quantile(x_train, np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1), axis=0).T
    forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=SEED)
    forest.fit(levels(x_train, thresholds), y_train)
    return tuple(nested(tree.tree_) for tree in forest.estimators_), thresholds, x_test, y_test, forest


def levels(x, thresholds):
    """How many of its thresholds each measurement exceeds: shape (patients, features)."""
    return exceeded(x, thresholds).sum(axis=-1)


def exceeded(x, thresholds):
    """The bits that are encrypted: shape (patients, features, thresholds)."""
    return (x[:, :, None] > thresholds).astype(int)


def nested(tree, node=0):
    """A tree of scikit-learn on levels as (bit, tree above, tree below), or the class of a leaf."""
    if tree.children_left[node] < 0:
        return int(tree.value[node].argmax())
    bit = int(tree.feature[node]) * THRESHOLDS + int(tree.threshold[node])
    above, below = (nested(tree, children[node]) for children in (tree.children_right, tree.children_left))
    return above if above == below else (bit, above, below)


def run(patients=PATIENTS, **options):
    """Train, compile, and vote on encrypted patients; (model, votes, votes in the clear, labels, seconds of each)."""
    trees, thresholds, x, labels, _ = train()
    model = lw.compile(votes, weights=(trees,), scheme="bfv", plain_bits=20, **options)
    client = model.client()
    server = model.server(client.keygen().public())
    found, expected, seconds = [], [], []
    for bits in exceeded(x[:patients], thresholds).reshape(patients, -1):
        encrypted = client.encrypt(bits=bits)
        started = time.perf_counter()
        result = server(encrypted)
        seconds.append(time.perf_counter() - started)
        found.append(int(client.decrypt(result).reveal()))
        expected.append(votes(bits, trees))
    return model, found, expected, labels[:patients], seconds


def summary(model):
    """What one run takes."""
    circuit = model.plan.circuit
    scalar, vector = circuit.needed, circuit.vector
    return (
        f"{scalar.muls} products and {scalar.adds} sums of single numbers became {vector.muls} products, {vector.adds} "
        f"sums, {vector.rotations} rotations and {vector.masks} masks of vectors; N = {model.plan.chain.ring_degree}"
    )


def main():
    """Run the demonstration; returns the exit status."""
    console = Console(highlight=False, width=100)
    _, thresholds, x, y, forest = train()
    console.print(
        f"{TREES} trees of depth {DEPTH}: {forest.score(levels(x, thresholds), y):.1%} right on {len(y)} patients"
    )
    model, found, expected, labels, seconds = run()
    table = Table(title=f"{PATIENTS} encrypted patients")
    for heading in ("patient", "votes, encrypted", "votes in the clear", "malignant", "seconds"):
        table.add_column(heading, justify="right")
    for row in zip(range(PATIENTS), found, expected, labels, seconds, strict=True):
        table.add_row(*map(str, row[:4]), f"{row[4]:.4f}")
    console.print(table)
    console.print(summary(model))
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main())
