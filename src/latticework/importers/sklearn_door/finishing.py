"""What the owner of the data does with decrypted values: exact, free, and plain data beside the program.

A step is a tuple: its name, and public numbers or names of classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

FinishStep = tuple[Any, ...]
Values = Any  # an array


def finish(values: Any, steps: Sequence[FinishStep]) -> Values:
    """Decrypted values, (rows, ...), after all steps."""
    found = np.asarray(values)
    for name, *parameters in steps:
        found = FINISHES[name](found, *parameters)
    return found


def _above(v: Values, threshold: float) -> Values:
    """1 where a number is larger, else 0."""
    return (v > threshold).astype(np.intp)


def _sigmoid(v: Values) -> Values:
    return 0.5 * (1 + np.tanh(0.5 * v))


def _softmax(v: Values) -> Values:
    raised = np.exp(v - v.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def _logsumexp(v: Values) -> Values:
    largest = v.max(axis=-1)
    return largest + np.log(np.exp(v - largest[..., None]).sum(axis=-1))


def _log(p: Values) -> Values:
    with np.errstate(divide="ignore"):
        return np.log(p)


def _pair(p: Values) -> Values:
    """Both probabilities, of that of the second class."""
    return np.stack([1 - p, p], axis=-1)


def _normalize(v: Values) -> Values:
    """Rows that add up to 1; rows of zeros become uniform."""
    total = v.sum(axis=-1, keepdims=True)
    return np.where(total == 0, 1 / v.shape[-1], v / np.where(total == 0, 1, total))


def _votes(v: Values, classes: int, tied_is_first: bool = False) -> Values:
    """How many of its comparisons each class wins; v holds those of classes (0, 1), (0, 2), ..., above 0: the first."""
    won = np.zeros((*v.shape[:-1], classes))
    for k, (i, j) in enumerate(_pairs(classes)):
        first = v[..., k] >= 0 if tied_is_first else v[..., k] > 0
        won[..., i] += first
        won[..., j] += ~first
    return won


def _one_vs_one(v: Values, classes: int) -> Values:
    """Votes, and how sure they are, less than a third of a vote: scikit-learn's decision of comparisons in pairs."""
    sure = np.zeros((*v.shape[:-1], classes))
    for k, (i, j) in enumerate(_pairs(classes)):
        sure[..., i] += v[..., k]
        sure[..., j] -= v[..., k]
    return _votes(v, classes, tied_is_first=True) + sure / (3 * (np.abs(sure) + 1))


def _pairs(classes: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(classes) for j in range(i + 1, classes)]


def _parts(v: Values, parts: Sequence[tuple[int, int, bool, Sequence[FinishStep]]]) -> Values:
    """Results of several estimators, which lie beside each other, as (estimators, rows, ...).

    parts  first and last column of each, whether it is one number a row, and its own steps
    """
    return np.stack([finish(v[..., a] if single else v[..., a:b], steps) for a, b, single, steps in parts])


def _columns(v: Values, parts: Sequence[tuple[int, int, bool, Sequence[FinishStep]]]) -> Values:
    """Results of several estimators beside each other, (rows, estimators, ...)."""
    return np.moveaxis(_parts(v, parts), 0, 1)


FINISHES: dict[str, Callable[..., Values]] = {
    "above": _above,
    "argmax": lambda v: v.argmax(axis=-1),
    "argmin": lambda v: v.argmin(axis=-1),
    "labels": lambda v, labels: np.asarray(labels)[v],
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "exp": np.exp,
    "log": _log,
    "sqrt": lambda v: np.sqrt(np.maximum(v, 0)),
    "logsumexp": _logsumexp,
    "pair": _pair,
    "second": lambda v: v[..., 1],
    "normalize": _normalize,
    "clip": np.clip,
    "affine": lambda v, factor, offset: v * np.asarray(factor) + np.asarray(offset),
    "votes": _votes,
    "one_vs_one": _one_vs_one,
    "parts": _parts,
    "columns": _columns,
    "average": lambda v, weights: np.average(v, axis=0, weights=weights),
}
