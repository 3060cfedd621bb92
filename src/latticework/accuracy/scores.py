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
    measure, score, rows = _score(given, results[0])
    return Scores(measure, rows, score(results[0]), score(results[1]))


def _score(labels: Labels, results: FloatArray) -> tuple[str, Score, int]:
    """(what it is called, the function of results, rows)."""
    if labels.dtype.kind == "f":
        kept = _kept(labels, labels.size, results, results.size)
        spread = float(np.sum((kept - np.mean(kept, axis=0)) ** 2))
        if not spread > 0.0:
            raise RangeError(
                "labels: all are the same number, which R^2 cannot be taken of; give integers for classes, or labels "
                "that differ"
            )
        goal = kept.reshape(results.shape)
        return "R^2", lambda found: 1.0 - float(np.sum((goal - found) ** 2)) / spread, len(kept)
    if labels.dtype.kind not in "iub":
        raise DtypeError(
            f"labels have dtype {labels.dtype}; give integers (classes), or floats (what results should be)"
        )
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ShapeError(f"labels have shape {labels.shape}; give one integer a row of the calibration data")
    classes = results.shape[-1] if results.ndim > 1 else 1
    if classes > 1 and _fits(len(labels), results.size // classes, len(results)):
        kept = _kept(labels, len(labels), results, results.size // classes)
        if kept.min() < 0 or kept.max() >= classes:
            raise RangeError(
                f"labels reach from {kept.min()} to {kept.max()}; results have {classes} numbers a row, so give "
                f"classes 0 to {classes - 1}: np.searchsorted(classes, y) numbers those of a scikit-learn estimator"
            )
        return "accuracy", lambda found: _share(np.argmax(found, axis=-1).reshape(-1) == kept), len(kept)
    kept = _kept(labels, len(labels), results, results.size)
    values = np.unique(kept)
    if len(values) > 2:
        raise RangeError(
            f"labels hold {len(values)} different integers, and results one number a row, which tells two classes "
            "apart; give floats to compare numbers (R^2)"
        )
    threshold = 0.5 if results.min() >= 0.0 and results.max() <= 1.0 else 0.0
    above = kept == max(values[-1], 1)
    return "accuracy", lambda found: _share((found.reshape(-1) > threshold) == above), len(kept)


def _fits(given: int, rows: int, runs: int) -> bool:
    """Whether so many labels belong to so many rows: rows that fill no whole batch are left out of calibration."""
    return rows <= given < rows + max(rows // runs, 1)


def _kept(labels: Labels, given: int, results: FloatArray, rows: int) -> Labels:
    """The labels of the rows that calibration takes, in order."""
    if not _fits(given, rows, len(results)):
        raise ShapeError(
            f"labels have shape {labels.shape}; the calibration data give {len(results)} results of shape "
            f"{results.shape[1:]}: give one label for each row of the data"
        )
    return labels.reshape(-1)[:rows]


def _share(right: npt.NDArray[np.bool_]) -> float:
    return float(np.mean(right))
