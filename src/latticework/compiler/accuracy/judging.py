"""Decisions made of results, and how well they agree with labels: classes, sides of a threshold, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, ShapeError
from latticework.lazy_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]
Places = npt.NDArray[np.intp]

ACCURACY, R2 = "accuracy", "R^2"


@dataclass(frozen=True)
class Judge:
    """The rule that reads decisions from results and scores them.

    measure    "accuracy" of decisions, or "R^2" of numbers
    each       numbers of results that a decision, or a label, is about
    threshold  of one number, above which the upper class is decided; None: the place of the largest of several
    upper      the label that is the class above
    """

    measure: str
    each: int
    threshold: float | None = None
    upper: int = 1

    def decide(self, results: FloatArray) -> npt.NDArray[Any]:
        """Decisions of all rows of results, in order: the number of a class, or for R^2 its numbers."""
        rows = results.reshape(-1, self.each)
        if self.measure == R2:
            return rows
        return np.argmax(rows, axis=1) if self.threshold is None else rows[:, 0] > self.threshold

    def score(self, labels: Labels, results: FloatArray) -> float | None:
        """Score of results of rows with these labels; None where R^2 is not defined, as their labels are all alike."""
        return self.score_decisions(labels, self.decide(results))

    def score_decisions(self, labels: Labels, decided: npt.NDArray[Any]) -> float | None:
        """The same of what was decided, in any shape."""
        if self.measure == ACCURACY:
            flat = labels.reshape(-1)
            goal = flat if self.threshold is None else flat == self.upper
            return float(np.mean(decided.reshape(-1) == goal))
        goal = labels.reshape(-1, self.each)
        spread = float(np.sum((goal - np.mean(goal, axis=0)) ** 2))
        off = float(np.sum((goal - decided.reshape(-1, self.each)) ** 2))
        return 1.0 - off / spread if spread > 0.0 else None


def judge_of(labels: Labels, results: FloatArray) -> tuple[Judge, Places]:
    """Choose how results are judged by labels, and find the rows of results that the labels belong to.

    results  (runs, ...)
    raises   ShapeError, DtypeError or RangeError for labels that fit the results in neither way
    """
    if labels.dtype.kind == "f" and labels.size:
        each = labels.size // len(labels)
        judge, rows = Judge(R2, each), _rows(labels, results, results.size // each)
        if judge.score(labels, results.reshape(-1, each)[rows]) is None:
            raise RangeError(
                "labels: all are the same number, which R^2 cannot be taken of; give integers for classes, or labels "
                "that differ"
            )
        return judge, rows
    if labels.dtype.kind not in "iub":
        raise DtypeError(
            f"labels have dtype {labels.dtype}; give integers (classes) or floats (what results should be)"
        )
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.ndim != 1:
        raise ShapeError(f"labels have shape {labels.shape}; give one integer a row of the calibration data")
    classes = results.shape[-1] if results.ndim > 1 else 1
    if classes > 1 and _places(len(labels), results.size // classes, len(results)) is not None:
        if labels.min() < 0 or labels.max() >= classes:
            raise RangeError(
                f"labels reach from {labels.min()} to {labels.max()}; results have {classes} numbers a row, so give "
                f"classes 0 to {classes - 1}: np.searchsorted(classes, y) numbers those of a scikit-learn estimator"
            )
        return Judge(ACCURACY, classes), _rows(labels, results, results.size // classes)
    rows = _rows(labels, results, results.size)
    values = np.unique(labels)
    if len(values) > 2:
        raise RangeError(
            f"labels hold {len(values)} different integers, and results one number a row, which tells two classes "
            "apart; give floats to compare numbers (R^2)"
        )
    return Judge(ACCURACY, 1, _threshold(results), int(max(values[-1], 1))), rows


def judge_without_labels(results: FloatArray) -> Judge:
    """Choose how results are judged without labels: several numbers a row are classes, one in [0, 1] a probability."""
    classes = results.shape[-1] if results.ndim > 1 else 1
    if classes > 1:
        return Judge(ACCURACY, classes)
    return Judge(ACCURACY, 1, 0.5) if _threshold(results) else Judge(R2, 1)


def _threshold(results: FloatArray) -> float:
    return 0.5 if results.min() >= 0.0 and results.max() <= 1.0 else 0.0


def _places(given: int, rows: int, runs: int) -> Places | None:
    """Return the places of the results of `given` rows among those of all runs; None if they cannot be those rows.

    Rows that fill no whole batch are at the end of a last one, or, if they are fewer than one has, at its beginning.
    """
    batch = rows // runs
    more = given - (rows - batch)  # rows of the last run
    if not 0 < more <= batch:
        return None
    if runs == 1:
        return np.arange(given)
    return np.concatenate([np.arange(rows - batch), np.arange(rows - more, rows)])


def _rows(labels: Labels, results: FloatArray, rows: int) -> Places:
    result = _places(len(labels), rows, len(results)) if len(results) <= rows else None
    if result is None:
        raise ShapeError(
            f"labels have shape {labels.shape}; the calibration data give {len(results)} results of shape "
            f"{results.shape[1:]}: give one label for each row of the data"
        )
    return result
