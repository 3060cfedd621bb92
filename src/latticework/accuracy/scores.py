"""How well results agree with labels of the calibration rows, before and after functions were approximated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, ShapeError
from latticework.frontend.plain import plain_array
from latticework.frontend.samples import Sample
from latticework.ir import Module, interpret
from latticework.plan.schema import Scores

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]
Score = Callable[[FloatArray], float]
Places = npt.NDArray[np.intp]


def scores_of(exact: Module, approximated: Module, samples: Sequence[Sample], labels: Any) -> Scores:
    """Of the first output, for labels one a row of the calibration data.

    labels   integers or booleans: numbers of classes. The class of a row is the place of its largest number along the
             last axis; of a single number a row, whether it exceeds a threshold: 1/2 if the program's own results all
             lie in [0, 1], else 0; the larger label is the class above. The score is the accuracy.
             floats: what the output should be, of its shape for each row; the score is R^2
    raises   ShapeError, DtypeError or RangeError for labels that fit the output in neither way
    """
    plain_array(labels)  # refuses what is no array of numbers
    given = np.asarray(labels)
    runs = [s for s in samples if all(s[n] == samples[0][n] for n in samples[0] if np.ndim(s[n]) == 0)]
    results = [np.stack([interpret(module, sample)[0] for sample in runs]) for module in (exact, approximated)]
    measure, score = _score(given, results[0])
    return Scores(measure, len(given), score(results[0]), score(results[1]))


def _score(labels: Labels, results: FloatArray) -> tuple[str, Score]:
    """What it is called, and the function of results."""
    if labels.dtype.kind == "f" and labels.size:
        each = labels.size // len(labels)  # numbers a row
        rows = _rows(labels, results, results.size // each)
        goal = labels.reshape(len(labels), each)
        spread = float(np.sum((goal - np.mean(goal, axis=0)) ** 2))
        if not spread > 0.0:
            raise RangeError(
                "labels: all are the same number, which R^2 cannot be taken of; give integers for classes, or labels "
                "that differ"
            )
        return "R^2", lambda found: 1.0 - float(np.sum((goal - found.reshape(-1, each)[rows]) ** 2)) / spread
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
        rows = _rows(labels, results, results.size // classes)
        return "accuracy", lambda found: _share(np.argmax(found, axis=-1).reshape(-1)[rows] == labels)
    rows = _rows(labels, results, results.size)
    values = np.unique(labels)
    if len(values) > 2:
        raise RangeError(
            f"labels hold {len(values)} different integers, and results one number a row, which tells two classes "
            "apart; give floats to compare numbers (R^2)"
        )
    threshold = 0.5 if results.min() >= 0.0 and results.max() <= 1.0 else 0.0
    above = labels == max(values[-1], 1)
    return "accuracy", lambda found: _share((found.reshape(-1)[rows] > threshold) == above)


def _places(given: int, rows: int, runs: int) -> Places | None:
    """Where the results of so many rows lie among those of all runs; None if they cannot be those rows.

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
    found = _places(len(labels), rows, len(results)) if len(results) <= rows else None
    if found is None:
        raise ShapeError(
            f"labels have shape {labels.shape}; the calibration data give {len(results)} results of shape "
            f"{results.shape[1:]}: give one label for each row of the data"
        )
    return found


def _share(right: npt.NDArray[np.bool_]) -> float:
    return float(np.mean(right))
