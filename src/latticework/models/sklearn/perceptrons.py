"""Multi-layer perceptrons."""

from __future__ import annotations

from latticework.functions.table import RECORDS
from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import CHANCES, EstimatorEntry, of_scores
from latticework.models.sklearn.fitted_step import FittedStep, StepResult

ACTIVATIONS = tuple(record.sklearn for record in RECORDS if record.sklearn)


def scores(step: FittedStep, x: Ref) -> Ref:
    """The last layer before its own activation; (rows,) where it is one number a row."""
    activation = step.setting("activation", "identity", *ACTIVATIONS)
    weights = [step.check_numbers(w, "coefs_", None, None) for w in step.get("coefs_")]
    biases = [
        step.check_numbers(b, "intercepts_", w.shape[1]) for b, w in zip(step.get("intercepts_"), weights, strict=True)
    ]
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        if number and activation != "identity":
            x = step.emit(activation, x)
        is_one = number == len(weights) - 1 and weight.shape[1] == 1
        x = step.emit("linear", x, weight=weight[:, 0] if is_one else weight.T, bias=bias[0] if is_one else bias)
    return x


def classifier(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Scores of classes; the last activation is the owner's."""
    step.setting("out_activation_", "softmax", "logistic")
    if getattr(getattr(step.estimator, "_label_binarizer", None), "y_type_", "").startswith("multilabel"):
        step.refuse("it has several labels a row", "import one classifier for each label")
    return of_scores(step, scores(step, x), method)


def regressor(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The last layer as it is."""
    step.setting("out_activation_", "identity")
    return StepResult(scores(step, x))


ENTRIES = [
    EstimatorEntry(("MLPClassifier",), CHANCES, classifier, "hidden layers relu, tanh, logistic or identity"),
    EstimatorEntry(("MLPRegressor",), ("predict",), regressor, "hidden layers relu, tanh, logistic or identity"),
]
