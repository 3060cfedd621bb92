"""Training on encrypted rows: logistic regression by gradient descent, a loop that bootstraps."""

from __future__ import annotations

from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel

SAMPLES, FEATURES, TURNS, RATE = 256, 8, 8, 1.0


@lw.program
def trained(x: lw.Secret[SAMPLES, FEATURES], y: lw.Secret[SAMPLES]) -> Any:  # type: ignore[valid-type]
    """Weights after some turns from nothing; labels are -1 and 1."""
    moved = x * y[:, None]

    def step(_: Any, weights: Any) -> Any:
        return weights + RATE / SAMPLES * (lw.sigmoid(-(moved @ weights)) @ moved)

    return lw.for_loop(TURNS, step, np.zeros(FEATURES))


def _labelled() -> Any:
    rng = np.random.default_rng(SEED)
    x = rng.uniform(-1, 1, (6, SAMPLES, FEATURES))
    y = np.where(x @ rng.normal(size=FEATURES) + rng.normal(size=(6, SAMPLES)) / 4 > 0, 1.0, -1.0)
    return x, y


def _training(data: Any) -> ZooModel:
    x, y = data
    return ZooModel(trained, {"x": x[:3], "y": y[:3]}, (x[3:], y[3:]), None, {"precision_bits": 8})


ENTRIES = {
    "training": ZooEntry(
        f"logistic regression trained on {SAMPLES} encrypted rows of {FEATURES} columns, {TURNS} turns of descent",
        _labelled, _training, memory="8GB",
    ),
}  # fmt: skip
