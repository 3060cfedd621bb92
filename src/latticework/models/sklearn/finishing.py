"""Steps of the owner that finish decrypted values of estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.plan.client_steps import (
    Affine,
    Branches,
    Clip,
    Columns,
    Elementary,
    Extreme,
    Labels,
    Linear,
    Normalise,
    OwnerArray,
    OwnerStep,
    Reshape,
    Softmax,
    Threshold,
    Votes,
)
from latticework.plan.client_steps.step import Bounded

Steps = tuple[OwnerStep, ...]

COLUMN = Reshape((), (1,))  # of one number a row
NO_COLUMN = Reshape((1,), ())
SIGMOID, EXP, LOG, ROOT = (Elementary(name) for name in ("sigmoid", "exp", "log", "sqrt"))
SOFTMAX = Softmax()
SHARES = Normalise("l1")  # of numbers from 0 on: rows that add up to 1


def finish(values: Any, steps: Sequence[OwnerStep]) -> Any:
    """Exact values, (rows, ...), after all steps."""
    found = Bounded.within(np.asarray(values, dtype=np.float64), 0.0)
    for step in steps:
        found = step.bounded(found)
    return found.value


def class_of_largest(classes: Any) -> OwnerStep:
    """The class of the largest score in a row."""
    return Extreme(Labels.of(classes))


def above(classes: Any, threshold: float = 0.0, *, inclusive: bool = False) -> OwnerStep:
    """The second of two classes where a score is above a threshold."""
    return Threshold(threshold, Labels.of(classes), inclusive)


def rename_classes(steps: Steps, classes: Any) -> Steps:
    """The same decision with other names: labels were numbers of these."""
    last = steps[-1]
    assert isinstance(last, Extreme | Threshold) and last.labels is not None
    return (*steps[:-1], replace(last, labels=Labels.of(np.asarray(classes)[last.labels.array])))


def affine(factor: Any, offset: Any) -> OwnerStep:
    """v * factor + offset: numbers, or one of each for every column."""
    both = np.broadcast_arrays(np.asarray(factor, np.float64), np.asarray(offset, np.float64))
    return Affine(OwnerArray.of(both[0]), OwnerArray.of(both[1]))


def linear(weight: Any, offset: Any) -> OwnerStep:
    """v @ weight + offset."""
    return Linear(OwnerArray.of(weight), OwnerArray.of(offset))


def clip(low: float, high: float) -> OwnerStep:
    """The step that clips to [low, high]."""
    return Clip(OwnerArray.of(low), OwnerArray.of(high))


def pair() -> Steps:
    """Both probabilities, of that of the second class."""
    return COLUMN, linear([[-1.0, 1.0]], [1.0, 0.0])


def second() -> Steps:
    """The probability of the second of two classes."""
    return Columns(-1, 2, (1,)), NO_COLUMN


def log_sum_exp(width: int) -> Steps:
    """log(sum(exp(v))) of rows: the first number less the first of the logarithm of the softmax, so of any size."""
    first = Columns(-1, width, (0,))
    return Branches(((first,), (Softmax(log=True), first))), linear([[1.0], [-1.0]], [0.0]), NO_COLUMN


def with_log(method: str, chances: Steps) -> Steps:
    """Probabilities, or their logarithms, as the method says."""
    if method != "predict_log_proba":
        return chances
    return (*chances[:-1], Softmax(log=True)) if chances and chances[-1] == SOFTMAX else (*chances, LOG)


def votes(classes: int, *, graded: bool) -> OwnerStep:
    """The step that counts the votes of comparisons in pairs for each class."""
    return Votes(classes, graded)


def part(start: int, width: int | None, total: int, steps: Steps) -> Steps:
    """Steps of one estimator among several side by side, and its result as columns.

    width  of its numbers in a row; None: one, and no axis of its own
    """
    places = () if total == (width or 1) and width else (Columns(-1, total, tuple(range(start, start + (width or 1)))),)
    return (*places, *((NO_COLUMN,) if width is None else ()), *steps)
