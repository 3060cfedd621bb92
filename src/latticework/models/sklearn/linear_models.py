"""Linear estimators: regressors, classifiers by scores, and generalised linear models."""

from __future__ import annotations

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import (
    ALL_OF_A_CLASSIFIER,
    CHANCES,
    DECISIONS,
    EstimatorEntry,
    of_scores,
)
from latticework.models.sklearn.finishing import EXP, SHARES, SIGMOID, Steps, above, clip, pair
from latticework.models.sklearn.finishing import affine as affine_step
from latticework.models.sklearn.fitted_step import FittedStep, Reals, StepResult
from latticework.models.sklearn.transforms import axes


def weights(step: FittedStep, coef: str = "coef_", intercept: str = "intercept_") -> tuple[Reals, Reals]:
    """Weight and bias, (out, features) and (out,), or of one number a row (features,) and a number."""
    weight = step.array(coef)
    if weight.ndim not in (1, 2) or weight.shape[-1] != step.width:
        step.refuse(f"its {coef} has shape {weight.shape}, expected one number for each of {step.width} features")
    bias = step.array(intercept)
    if weight.ndim == 1 and bias.size == 1:
        return weight, bias.reshape(())
    out = weight.shape[:-1]
    if bias.size not in (1, *out):
        step.refuse(f"its {intercept} has shape {bias.shape}, expected {out}")
    return weight, np.broadcast_to(bias.reshape(-1), out).copy()


def affine(step: FittedStep, x: Ref) -> Ref:
    """x @ coef_.T + intercept_, and of two classes one number a row."""
    weight, bias = weights(step)
    if step.has("classes_") and len(weight) == 1 and weight.ndim == 2:
        weight, bias = weight[0], bias[0]
    return step.emit("linear", x, weight=weight, bias=bias)


def regressor(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Linear in the features."""
    return StepResult(affine(step, x))


def discriminant(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A linear discriminant analysis: scores, or its axes."""
    return axes(step, x) if method == "transform" else classifier(step, x, method)


def classifier(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Scores that are linear in the features; probabilities by softmax, or the logistic function."""
    return of_scores(step, affine(step, x), method)


def logistic(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A logistic regression; one against the rest where it was fitted so."""
    many = len(step.classes) > 2
    strategy = getattr(step.estimator, "multi_class", "auto")
    if not many and strategy == "multinomial" and method in CHANCES[1:]:
        doubled = step.emit("scale", affine(step, x), factor=np.float64(2), offset=np.float64(0))
        return of_scores(step, doubled, method)
    one_by_one = many and (strategy == "ovr" or getattr(step.estimator, "solver", "") == "liblinear")
    chances = (SIGMOID, SHARES) if one_by_one else None
    return of_scores(step, affine(step, x), method, chances=chances)


def sgd_classifier(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A classifier by gradient descent, with the probabilities of its loss."""
    chances: Steps | None = None
    if method in CHANCES[1:]:
        many = len(step.classes) > 2
        loss = step.setting(
            "loss", "log_loss", *(() if many else ("modified_huber",)), instead="take decision_function"
        )
        if loss == "modified_huber":
            chances = (clip(-1, 1), affine_step(0.5, 0.5), *pair())
        elif many:
            chances = (SIGMOID, SHARES)
    return of_scores(step, affine(step, x), method, chances=chances)


def ridge_classifier(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Classes by the largest score."""
    return of_scores(step, affine(step, x), method)


def generalized_linear(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A mean that is the exponential of a linear map, or the map itself, by the link."""
    link = "log"
    if step.kind == "TweedieRegressor":
        link = step.setting("link", "auto", "log", "identity")
        if link == "auto":
            link = "log" if step.number("power") > 0 else "identity"
    return StepResult(affine(step, x), (EXP,) if link == "log" else ())


def one_class(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Inliers are 1, outliers -1."""
    weight = step.array("coef_", step.width)
    offset = step.number("offset_") if method != "score_samples" else 0.0
    value = step.emit("linear", x, weight=weight, bias=np.float64(-offset))
    return inliers(value, method)


def inliers(value: Ref, method: str, is_strict: bool = False) -> StepResult:
    """Decisions as 1 and -1: from 0 on, or above 0, an inlier."""
    named = above(np.array([-1, 1]), inclusive=not is_strict)
    return StepResult(value, (named,) if method == "predict" else ())


def partial_least_squares(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A linear map of centred features, or their scores."""
    if method == "transform":
        rotations = step.array("x_rotations_", step.width, None)
        mean, deviation = step.array("_x_mean", step.width), step.array("_x_std", step.width)
        weight = rotations.T / deviation
        return StepResult(step.emit("linear", x, weight=weight, bias=-weight @ mean))
    weight, bias = step.array("coef_", None, step.width), step.array("intercept_", None)
    bias = bias - weight @ step.array("_x_mean", step.width)
    if getattr(step.estimator, "_predict_1d", False) and len(weight) == 1:
        weight, bias = weight[0], bias[0]
    return StepResult(step.emit("linear", x, weight=weight, bias=bias))


REGRESSORS = (
    "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC",
    "ElasticNet", "ElasticNetCV", "Lars", "LarsCV", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV",
    "MultiTaskLasso", "MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "BayesianRidge",
    "ARDRegression", "HuberRegressor", "TheilSenRegressor", "QuantileRegressor", "SGDRegressor",
    "PassiveAggressiveRegressor", "LinearSVR",
)  # fmt: skip
ENTRIES = [
    EstimatorEntry(REGRESSORS, ("predict",), regressor),
    EstimatorEntry(
        ("LogisticRegression", "LogisticRegressionCV"), ALL_OF_A_CLASSIFIER, logistic
    ),
    EstimatorEntry(
        ("SGDClassifier",), ALL_OF_A_CLASSIFIER, sgd_classifier,
        "probabilities of log_loss, and of two classes of modified_huber",
    ),
    EstimatorEntry(("LinearDiscriminantAnalysis",), (*ALL_OF_A_CLASSIFIER, "transform"), discriminant),
    EstimatorEntry(
        ("RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "Perceptron", "PassiveAggressiveClassifier"),
        DECISIONS, ridge_classifier, "one label a row",
    ),
    EstimatorEntry(
        ("PoissonRegressor", "GammaRegressor", "TweedieRegressor"), ("predict",), generalized_linear,
        "the owner takes the exponential",
    ),
    EstimatorEntry(("SGDOneClassSVM",), (*DECISIONS, "score_samples"), one_class),
    EstimatorEntry(("PLSRegression", "PLSCanonical"), ("predict", "transform"), partial_least_squares),
]  # fmt: skip
