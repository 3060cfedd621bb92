"""What trained models are worth on the data that they were trained on, and how far they are from those of the clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.halo.data import Inputs

Outputs = Sequence[npt.NDArray[np.float64]]


def outputs_of(result: Any) -> list[npt.NDArray[np.float64]]:
    """What a program returns, as a list of arrays."""
    parts = result if isinstance(result, tuple | list) else (result,)
    return [np.asarray(part, dtype=np.float64) for part in parts]


@dataclass(frozen=True)
class Quality:
    """How good results are.

    error   of the output that is nearest to its bound, or farthest beyond;  bound  of that output
    rmse    root of the mean square of all differences from the program in the clear
    scores  of the model, and of that trained in the clear; None where there is none
    """

    error: float
    bound: float
    rmse: float
    scores: tuple[float, float] | None


def quality(name: str, inputs: Inputs, found: Outputs, expected: Outputs, bounds: Sequence[float]) -> Quality:
    """Of the outputs of a program beside those of the same program in the clear."""
    off = [np.abs(f - e).ravel() for f, e in zip(found, expected, strict=True)]
    errors = [float(np.max(each)) for each in off]
    error, bound = max(zip(errors, bounds, strict=True), key=lambda pair: pair[0] / pair[1] if pair[1] > 0 else inf)
    score = SCORES.get(name)
    scores = None if score is None else (score[1](inputs, found), score[1](inputs, expected))
    return Quality(error, bound, float(np.sqrt(np.mean(np.concatenate(off) ** 2))), scores)


def _breast_cancer(inputs: Inputs, outputs: Outputs) -> float:
    return float(np.mean((inputs["x"] @ outputs[0] > 0) == (inputs["y"] > 0.5)))


def _margin(inputs: Inputs, outputs: Outputs) -> float:
    return float(np.mean((inputs["x"] @ outputs[0] - outputs[1] > 0) == (inputs["y"] > 0)))


def _clusters(inputs: Inputs, outputs: Outputs) -> float:
    distances = np.linalg.norm(inputs["points"][:, None] - np.stack(list(outputs)), axis=2)
    return float(np.mean(np.argmin(distances, axis=1) == np.arange(len(distances)) % 2))


def _variance(inputs: Inputs, outputs: Outputs) -> float:
    direction = outputs[1] / np.linalg.norm(outputs[1])
    return float(direction @ inputs["c"] @ direction / np.trace(inputs["c"]))


# name of the score, how it is computed
SCORES: dict[str, tuple[str, Callable[[Inputs, Outputs], float]]] = {
    "logistic": ("accuracy on breast cancer", _breast_cancer),
    "svm": ("accuracy", _margin),
    "k-means": ("points in their cluster", _clusters),
    "pca": ("share of the variance of iris", _variance),
}
