"""Agreement of results with labels of the calibration rows, before and after functions were approximated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.compiler.accuracy.judging import judge_of
from latticework.frontend.calibration.calibration_data import Sample
from latticework.frontend.recording.plain import plain_array
from latticework.ir import Module, interpret
from latticework.plan.schema.schema import Scores
from latticework.values.inputs.foreign_arrays import in_numpy, is_tensor


def scores_of(exact: Module, approximated: Module, samples: Sequence[Sample], labels: Any) -> Scores:
    """Score the first output against labels, one a row of the calibration data.

    labels   integers or booleans: numbers of classes. The class of a row is the place of its largest number along the
             last axis; of a single number a row, whether it exceeds a threshold: 1/2 if the program's own results all
             lie in [0, 1], else 0; the larger label is the class above. The score is the accuracy.
             floats: what the output should be, of its shape for each row; the score is R^2
    raises   ShapeError, DtypeError or RangeError for labels that fit the output in neither way
    """
    plain_array(labels)  # refuses what is no array of numbers
    given = np.asarray(in_numpy(labels) if is_tensor(labels) else labels)
    runs = [s for s in samples if all(s[n] == samples[0][n] for n in samples[0] if np.ndim(s[n]) == 0)]
    results = [np.stack([interpret(module, sample)[0] for sample in runs]) for module in (exact, approximated)]
    judge, rows = judge_of(given, results[0])
    scores = [judge.score(given, each.reshape(-1, judge.each)[rows]) for each in results]
    assert scores[0] is not None and scores[1] is not None  # labels that are all alike were refused
    return Scores(judge.measure, len(given), scores[0], scores[1])
