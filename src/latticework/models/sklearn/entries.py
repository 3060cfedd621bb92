"""The importer's entry for a class of estimators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import Ref
from latticework.models.sklearn.finishing import SIGMOID, SOFTMAX, Steps, above, class_of_largest, pair, with_log
from latticework.models.sklearn.fitted_step import FittedStep, StepResult

Build = Callable[[FittedStep, Ref, str], StepResult]
DECISIONS = ("predict", "decision_function")
CHANCES = ("predict", "predict_proba", "predict_log_proba")
ALL_OF_A_CLASSIFIER = (*DECISIONS, *CHANCES[1:])


@dataclass(frozen=True)
class EstimatorEntry:
    """Estimators that are read alike.

    names    of classes of scikit-learn
    methods  that can be imported, the first one unless another is asked for
    build    reads one: the nodes of a step, of its input, for a method
    note     of the table in the documentation
    """

    names: tuple[str, ...]
    methods: tuple[str, ...]
    build: Build
    note: str = ""


def of_scores(
    step: FittedStep, value: Ref, method: str, *, classes: npt.NDArray[np.generic] | None = None,
    chances: Steps | None = None, threshold: float = 0.0,
) -> StepResult:  # fmt: skip
    """Scores of classes, or of the second of two, finished as a method asks.

    value    (rows, classes), or (rows,) of two classes
    chances  how scores become probabilities; softmax, or of two classes the logistic function, if not given
    """
    classes = step.classes if classes is None else classes
    step.need_classes(classes)
    if method == "decision_function":
        return StepResult(value)
    if method == "predict":
        return StepResult(value, (above(classes, threshold) if len(classes) == 2 else class_of_largest(classes),))
    if chances is None:
        chances = (SIGMOID, *pair()) if len(classes) == 2 else (SOFTMAX,)
    return StepResult(value, with_log(method, chances))


def of_joint(step: FittedStep, value: Ref, method: str) -> StepResult:
    """Logarithms of joint probabilities of all classes, (rows, classes), finished as a method asks."""
    if method == "predict":
        return StepResult(value, (class_of_largest(step.classes),))
    if method == "predict_joint_log_proba":
        return StepResult(value)
    return StepResult(value, with_log(method, (SOFTMAX,)))
