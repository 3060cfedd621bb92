"""Estimators that put the results of others together: votes, averages, calibrations, one against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.composites import combine, emit_finish
from latticework.models.sklearn.entries import CHANCES, DECISIONS, EstimatorEntry
from latticework.models.sklearn.finishing import (
    COLUMN,
    NO_COLUMN,
    SHARES,
    SIGMOID,
    Steps,
    above,
    affine,
    class_of_largest,
    linear,
    pair,
    part,
    rename_classes,
    second,
    votes,
    with_log,
)
from latticework.models.sklearn.fitted_step import FittedStep, StepResult
from latticework.plan.client_steps import Branches


def side_by_side(step: FittedStep, results: Sequence[StepResult]) -> tuple[Ref, list[Steps]]:
    """Values of several estimators in one, and the steps that make the result of each out of it."""
    widths = [step.assembly.widths[result.value.name] for result in results]
    ends = np.cumsum([width or 1 for width in widths]).tolist()
    value = combine(step, [result.value for result in results])
    each = [
        part(end - (width or 1), width, ends[-1], result.finish)
        for result, width, end in zip(results, widths, ends, strict=True)
    ]
    return value, each


def average(
    step: FittedStep, results: Sequence[StepResult], weights: Sequence[float] | None, outputs: int | None
) -> StepResult:
    """The weighted mean of results, computed encrypted where the owner has nothing to do before.

    outputs  columns of each; None: one number a row
    """
    shares = np.ones(len(results)) if weights is None else step.check_numbers(weights, "weights", len(results))
    shares = shares / shares.sum()
    if not any(result.finish for result in results):
        return StepResult(step.emit("weighted_sum", tuple(r.value for r in results), weights=shares))
    value, each = side_by_side(step, results)
    each = each if outputs else [(*steps, COLUMN) for steps in each]
    mean = linear(np.kron(shares[:, None], np.eye(outputs or 1)), np.zeros(outputs or 1))
    return StepResult(value, (Branches(tuple(each)), mean, *(() if outputs else (NO_COLUMN,))))


def _named_estimators(step: FittedStep) -> list[tuple[str, Any]]:
    kept = [name for name, one in step.get("estimators") if not isinstance(one, str)]
    fitted = step.get("estimators_")
    if len(fitted) != len(kept):
        step.refuse(f"it holds {len(fitted)} fitted estimators for {len(kept)} names", "call fit again")
    return list(zip(kept, fitted, strict=True))


def _weights(step: FittedStep) -> list[float] | None:
    if not step.has("weights"):
        return None
    return [w for w, (_, one) in zip(step.get("weights"), step.get("estimators"), strict=True)
            if not isinstance(one, str)]  # fmt: skip


def voting_classifier(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The mean of probabilities."""
    step.setting("voting", "soft", instead='votes are found by comparing; fit it with voting="soft"')
    mean = average(step, step.inners(_named_estimators(step), x, "predict_proba"), _weights(step), len(step.classes))
    if method == "predict":
        return StepResult(mean.value, (*mean.finish, class_of_largest(step.classes)))
    return StepResult(mean.value, mean.finish)


def voting_regressor(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The mean of predictions."""
    return average(step, step.inners(_named_estimators(step), x, "predict"), _weights(step), None)


def bagging(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The mean of predictions, or of probabilities, of estimators that see some of the columns."""
    is_classifier = step.has("classes_")
    results = []
    for number, (estimator, seen) in enumerate(
        zip(step.get("estimators_"), step.get("estimators_features_"), strict=True), 1
    ):
        indices = np.asarray(seen, dtype=int)
        some = x if np.array_equal(indices, np.arange(step.width)) else None
        if some is None:
            some = step.emit("columns", x, indices=indices, width=step.width)
        if is_classifier and len(estimator.classes_) != len(step.classes):
            step.refuse("some of its estimators saw some of the classes only", "fit it on larger or stratified samples")
        results.append(
            step.inner(estimator, "estimators_", number, some, "predict_proba" if is_classifier else "predict")
        )
    mean = average(step, results, None, len(step.classes) if is_classifier else None)
    if not is_classifier:
        return mean
    if method == "predict":
        return StepResult(mean.value, (*mean.finish, class_of_largest(step.classes)))
    return StepResult(mean.value, with_log(method, mean.finish))


def one_against_rest(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A classifier for each class."""
    if getattr(step.estimator, "multilabel_", False):
        step.refuse("it has several labels a row", "import one classifier for each label")
    step.need_classes()
    parts = [("estimators_", one) for one in step.get("estimators_")]
    has_scores = step.can(parts[0][1], "decision_function")
    by = "decision_function" if method in DECISIONS and has_scores else "predict_proba"
    results = step.inners(parts, x, by)
    if by == "predict_proba":
        results = [StepResult(r.value, (*r.finish, *second())) for r in results]
    if len(parts) == 1:
        return _of_one(step, results[0], method, 0.0 if has_scores else 0.5)
    value, each = side_by_side(step, results)
    steps: Steps = (Branches(tuple((*s, COLUMN) for s in each)),) if any(r.finish for r in results) else ()
    if method == "predict":
        return StepResult(value, (*steps, class_of_largest(step.classes)))
    return StepResult(value, steps if method == "decision_function" else (*steps, SHARES))


def _of_one(step: FittedStep, result: StepResult, method: str, threshold: float) -> StepResult:
    """Two classes, told by one estimator."""
    if method == "predict":
        return StepResult(result.value, (*result.finish, above(step.classes, threshold)))
    return StepResult(result.value, (*result.finish, *(pair() if method == "predict_proba" else ())))


def one_against_one(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A classifier for each pair of classes."""
    if len(step.classes) == 2 or step.has("pairwise_indices_"):
        step.refuse("of two classes, or of kernels computed before, it is not supported", "import its estimators_[0]")
    results = step.inners([("estimators_", one) for one in step.get("estimators_")], x, "decision_function")
    value = combine(step, [emit_finish(step, result) for result in results])
    value = step.emit("scale", value, factor=np.float64(-1), offset=np.float64(0))
    scores = votes(len(step.classes), graded=True)
    return StepResult(value, (scores, class_of_largest(step.classes)) if method == "predict" else (scores,))


def calibrated_classifier(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The mean of probabilities by logistic functions of scores."""
    step.setting("method", "sigmoid", instead='fit it with method="sigmoid"')
    is_pair = len(step.classes) == 2
    results = []
    for number, one in enumerate(step.get("calibrated_classifiers_"), 1):
        by = "decision_function" if step.can(one.estimator, "decision_function") else "predict_proba"
        if by == "predict_proba" and hasattr(one.estimator, "decision_function"):
            step.refuse("scores of its estimator cannot be imported")
        scores = step.inner(one.estimator, "calibrated_classifiers_", number, x, by)
        finish = (*scores.finish, *second()) if is_pair and by == "predict_proba" else scores.finish
        a, b = (np.array([float(getattr(c, n)) for c in one.calibrators]) for n in ("a_", "b_"))
        if is_pair:
            a, b = a[0], b[0]
        value = scores.value
        if finish:
            step.note("the owner of the data learns the factors of its calibration")
            finish = (*finish, affine(-a, -b))
        else:
            value = step.emit("scale", value, factor=-a, offset=-b)
        finish = (*finish, SIGMOID, *(pair() if is_pair else (SHARES,)))
        results.append(StepResult(value, finish))
    mean = average(step, results, None, len(step.classes)) if len(results) > 1 else results[0]
    named = (class_of_largest(step.classes),) if method == "predict" else ()
    return StepResult(mean.value, (*mean.finish, *named))


def stacking(step: FittedStep, x: Ref, method: str) -> StepResult:
    """An estimator of the results of others."""
    made = []
    for number, ((name, one), by) in enumerate(zip(_named_estimators(step), step.get("stack_method_"), strict=True), 1):
        value = emit_finish(step, step.inner(one, name, number, x, by))
        if by == "predict_proba" and len(step.classes) == 2:
            value = step.emit("columns", value, indices=1, width=2)
        made.append(value)
    if getattr(step.estimator, "passthrough", False):
        made.append(x)
    result = step.inner(step.get("final_estimator_"), "final_estimator_", len(made) + 1, combine(step, made), method)
    if method == "predict" and step.has("classes_"):
        return StepResult(result.value, rename_classes(result.finish, step.classes))
    return result


ENTRIES = [
    EstimatorEntry(("VotingClassifier",), CHANCES[:2], voting_classifier, "soft votes"),
    EstimatorEntry(("VotingRegressor",), ("predict",), voting_regressor),
    EstimatorEntry(("BaggingClassifier",), CHANCES, bagging, "of estimators with probabilities"),
    EstimatorEntry(("BaggingRegressor",), ("predict",), bagging),
    EstimatorEntry(("OneVsRestClassifier",), (*DECISIONS, "predict_proba"), one_against_rest, "one label a row"),
    EstimatorEntry(("OneVsOneClassifier",), DECISIONS, one_against_one, "of estimators with decision_function"),
    EstimatorEntry(("CalibratedClassifierCV",), CHANCES[:2], calibrated_classifier, "sigmoid"),
    EstimatorEntry(("StackingRegressor",), ("predict",), stacking, "results of its parts go on encrypted"),
    EstimatorEntry(
        ("StackingClassifier",),
        (*DECISIONS, "predict_proba"),
        stacking,
        "results of its parts go on encrypted",
    ),
]
