"""Estimators that look for the nearest of a few centres."""

from __future__ import annotations

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import EstimatorEntry
from latticework.models.sklearn.finishing import ROOT, class_of_largest
from latticework.models.sklearn.fitted_step import FittedStep, Reals, StepResult
from latticework.plan.client_steps import Extreme


def nearness(step: FittedStep, x: Ref, centres: Reals, factor: Reals | float = 1.0, extra: Reals | float = 0.0) -> Ref:
    """Scores in the order of -sum(factor * (x - centre)**2) + extra: |x|**2 is the same for all, so they are linear.

    Scores are of distances from the mean of all centres, so that they are small where the differences are.
    """
    middle = centres.mean(axis=0)
    moved = centres - middle
    weight = 2 * factor * moved
    bias = extra - np.sum(factor * moved**2, axis=1) - weight @ middle
    return step.emit("linear", x, weight=weight, bias=bias)


def k_means(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The nearest centre, or the distances from all."""
    centres = step.array("cluster_centers_", None, step.width)
    if method == "predict":
        return StepResult(nearness(step, x, centres), (Extreme(),))
    middle = centres.mean(axis=0)
    moved = centres - middle
    near = step.emit("scale", x, factor=np.float64(1), offset=-middle)
    squares = step.emit(
        "quadratic", near, squares=np.ones_like(moved), weight=-2 * moved, bias=np.sum(moved**2, axis=1)
    )
    return StepResult(squares, (ROOT,))


def nearest_centroid(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The class of the nearest centroid; where classes have other priors, scaled by deviations, with the priors."""
    step.setting("metric", "euclidean", instead='fit it with metric="euclidean"')
    classes = len(step.classes)
    centres = step.array("centroids_", classes, step.width)
    finish = (class_of_largest(step.classes),)
    if not step.has("class_prior_"):  # of versions before 1.6
        return StepResult(nearness(step, x, centres), finish)
    priors = step.array("class_prior_", classes)
    if np.isclose(priors, 1 / classes).all():
        return StepResult(nearness(step, x, centres), finish)
    deviations = step.array("within_class_std_dev_", step.width)
    factor = 1 / np.where(deviations == 0, 1, deviations) ** 2
    return StepResult(nearness(step, x, centres, factor, 2 * np.log(priors)), finish)


ENTRIES = [
    EstimatorEntry(
        ("KMeans", "MiniBatchKMeans"), ("predict", "transform"), k_means, "the owner takes roots of squared distances"
    ),
    EstimatorEntry(("BisectingKMeans",), ("transform",), k_means, "clusters follow a path of comparisons: not predict"),
    EstimatorEntry(("NearestCentroid",), ("predict",), nearest_centroid, "Euclidean"),
]
