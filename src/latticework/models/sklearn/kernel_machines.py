"""Support vector machines and maps by kernels."""

from __future__ import annotations

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import DECISIONS, EstimatorEntry, of_scores
from latticework.models.sklearn.estimator_semantics import KERNELS
from latticework.models.sklearn.finishing import class_of_largest, votes
from latticework.models.sklearn.fitted_step import FittedStep, Reals, StepResult
from latticework.models.sklearn.linear_models import inliers

_OTHER_KERNELS = "use one of these, or compute the features of the kernel before encryption"


def expansion(step: FittedStep, x: Ref, vectors: Reals, weight: Reals, bias: Reals | float, gamma: float) -> Ref:
    """Kernels of x with vectors, times weights; one linear map where the kernel is linear."""
    name = _check_kernel(step)
    if name == "linear":
        return step.emit("linear", x, weight=weight @ vectors, bias=bias)
    degree = getattr(step.estimator, "degree", 3)
    if name == "poly" and degree != int(degree):
        step.refuse(f"degree={degree} is no whole number", "fit it with one")
    coef0 = getattr(step.estimator, "coef0", None)
    values = step.emit(
        "kernel", x, vectors=vectors, name=name, gamma=gamma, coef0=1.0 if coef0 is None else float(coef0),
        degree=int(degree or 3),
    )  # fmt: skip
    return step.emit("linear", values, weight=weight, bias=bias)


def _check_kernel(step: FittedStep) -> str:
    return str(step.setting("kernel", *KERNELS, instead=_OTHER_KERNELS))


def regressor(step: FittedStep, x: Ref, method: str) -> StepResult:
    """One sum over support vectors."""
    return StepResult(_one_sum(step, x))


def one_class(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Inliers are 1, outliers -1."""
    extra = step.number("offset_") if method == "score_samples" else 0.0
    return inliers(_one_sum(step, x, extra), method, is_strict=True)


def _one_sum(step: FittedStep, x: Ref, extra: float = 0.0) -> Ref:
    _check_kernel(step)
    vectors = step.array("support_vectors_", None, step.width)
    weight = step.array("dual_coef_", 1, len(vectors))[0]
    bias = step.number("intercept_") + extra
    return expansion(step, x, vectors, weight, bias, _gamma(step))


def classifier(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Comparisons of classes in pairs, each a sum over support vectors; votes are the owner's."""
    _check_kernel(step)
    classes = len(step.classes)
    if classes == 2:
        return of_scores(step, _one_sum(step, x), method)
    vectors = step.array("support_vectors_", None, step.width)
    dual = step.array("dual_coef_", classes - 1, len(vectors))
    bias = step.array("intercept_", classes * (classes - 1) // 2)
    ends = np.cumsum(step.check_numbers(step.get("n_support_"), "n_support_", classes)).astype(int)
    of_class = [slice(end - int(n), end) for end, n in zip(ends, step.get("n_support_"), strict=True)]
    weight = np.zeros((len(bias), len(vectors)))
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    for row, (i, j) in zip(weight, pairs, strict=True):
        row[of_class[i]] = dual[j - 1, of_class[i]]
        row[of_class[j]] = dual[i, of_class[j]]
    value = expansion(step, x, vectors, weight, bias, _gamma(step))
    as_scores = (votes(classes, graded=True),)
    if method == "decision_function":
        is_pairs = step.setting("decision_function_shape", "ovr", "ovo") == "ovo"
        return StepResult(value, () if is_pairs else as_scores)
    is_graded = bool(getattr(step.estimator, "break_ties", False))
    return StepResult(value, (votes(classes, graded=is_graded), class_of_largest(step.classes)))


def _gamma(step: FittedStep) -> float:
    if getattr(step.estimator, "kernel", "") == "linear":
        return 1.0
    return step.number("_gamma")


def nystroem(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Kernels with samples of training, which the server knows, times a matrix."""
    vectors = step.array("components_", None, step.width)
    weight = step.array("normalization_", len(vectors), len(vectors))
    gamma = getattr(step.estimator, "gamma", None)
    gamma = 1 / step.width if gamma is None else float(gamma)
    return StepResult(expansion(step, x, vectors, weight, np.zeros(len(weight)), gamma))


def random_features(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Cosines of random maps."""
    weight = step.array("random_weights_", step.width, None).T
    waves = step.emit("cos", step.emit("linear", x, weight=weight, bias=step.array("random_offset_", len(weight))))
    factor = np.float64(np.sqrt(2 / len(weight)))
    return StepResult(step.emit("scale", waves, factor=factor, offset=np.float64(0)))


_KERNELS = "kernels linear, poly, rbf and sigmoid"
ENTRIES = [
    EstimatorEntry(
        ("SVC", "NuSVC"), DECISIONS, classifier, f"{_KERNELS}; for probabilities, CalibratedClassifierCV around it"
    ),
    EstimatorEntry(("SVR", "NuSVR"), ("predict",), regressor, _KERNELS),
    EstimatorEntry(("OneClassSVM",), (*DECISIONS, "score_samples"), one_class, _KERNELS),
    EstimatorEntry(("Nystroem",), ("transform",), nystroem, _KERNELS),
    EstimatorEntry(("RBFSampler",), ("transform",), random_features),
]
