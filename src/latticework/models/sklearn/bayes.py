"""Classifiers and densities that follow from probabilities: naive Bayes, quadratic discriminants, Gaussian mixtures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import (
    ALL_OF_A_CLASSIFIER,
    CHANCES,
    EstimatorEntry,
    of_joint,
    of_scores,
)
from latticework.models.sklearn.finishing import SOFTMAX, log_sum_exp
from latticework.models.sklearn.fitted_step import FittedStep, Reals, StepResult
from latticework.plan.client_steps import Extreme

JOINT = (*CHANCES, "predict_joint_log_proba")


def diagonal(step: FittedStep, x: Ref, means: Reals, precisions: Reals, constants: Reals) -> Ref:
    """constants - sum(precisions * (x - means)**2) / 2 of every class, (rows, classes).

    The columns are moved and scaled to numbers near 1 first, so that squares do not cancel.
    """
    middle = means.mean(axis=0)
    width = np.sqrt(1 / precisions).mean(axis=0) + np.abs(means - middle).max(axis=0)
    moved = step.emit("scale", x, factor=1 / width, offset=-middle / width)
    m, p = (means - middle) / width, precisions * width**2
    bias = constants - 0.5 * np.sum(p * m**2, axis=1)
    return step.emit("quadratic", moved, squares=-0.5 * p, weight=p * m, bias=bias)


def full(step: FittedStep, x: Ref, means: Reals, roots: Sequence[Reals], constants: Reals) -> Ref:
    """constants - |(x - means[k]) @ roots[k]|**2 / 2 of every class, (rows, classes)."""
    weight = np.concatenate([root.T for root in roots])
    bias = -np.concatenate([root.T @ mean for root, mean in zip(roots, means, strict=True)])
    of_class = np.repeat(np.arange(len(means)), [root.shape[1] for root in roots])
    squares = step.emit("square", step.emit("linear", x, weight=weight, bias=bias))
    halves = np.where(of_class == np.arange(len(means))[:, None], -0.5, 0.0)
    return step.emit("linear", squares, weight=halves, bias=constants)


def gaussian(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Every feature normal within a class."""
    classes = len(step.classes)
    means, variances = step.array("theta_", classes, step.width), step.array("var_", classes, step.width)
    if not (variances > 0).all():
        step.refuse("a variance in var_ is 0", "fit it with var_smoothing above 0, or leave constant columns out")
    constants = np.log(step.array("class_prior_", classes)) - 0.5 * np.sum(np.log(2 * np.pi * variances), axis=1)
    spread = float(np.log2(variances.max(axis=0) / variances.min(axis=0)).max())
    if spread > 24:
        step.note(
            f"variances of a feature differ between classes by up to 2^{spread:.0f}: log-probabilities get so large "
            "that small differences of others are below the precision; leave out features that are constant in a class"
        )
    return of_joint(step, diagonal(step, x, means, 1 / variances, constants), method)


def multinomial(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Counts of each feature."""
    weight = step.array("feature_log_prob_", len(step.classes), step.width)
    return of_joint(step, step.emit("linear", x, weight=weight, bias=_prior(step)), method)


def complement(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Counts of each feature outside of a class."""
    classes = len(step.classes)
    weight = step.array("feature_log_prob_", classes, step.width)
    bias = _prior(step) if classes == 1 else np.zeros(classes)
    return of_joint(step, step.emit("linear", x, weight=weight, bias=bias), method)


def bernoulli(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Features of 0 and 1, which the owner makes."""
    if step.has("binarize"):
        step.refuse(
            f"binarize={step.estimator.binarize} compares encrypted numbers",
            "give it 0 and 1, and set binarize=None: set_params(binarize=None)",
        )
    logs = step.array("feature_log_prob_", len(step.classes), step.width)
    absent = np.log1p(-np.exp(logs))
    return of_joint(step, step.emit("linear", x, weight=logs - absent, bias=_prior(step) + absent.sum(axis=1)), method)


def _prior(step: FittedStep) -> Reals:
    return step.array("class_log_prior_", len(step.classes))


def quadratic_discriminant(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Every class normal, with a covariance of its own."""
    classes = len(step.classes)
    means, priors = step.array("means_", classes, step.width), step.array("priors_", classes)
    variances = [step.check_numbers(s, "scalings_", None) for s in step.get("scalings_")]
    rotations = [step.check_numbers(r, "rotations_", step.width, None) for r in step.get("rotations_")]
    roots = [r / np.sqrt(s) for r, s in zip(rotations, variances, strict=True)]
    constants = np.log(priors) - 0.5 * np.array([np.log(s).sum() for s in variances])
    value = full(step, x, means, roots, constants)
    if classes == 2:
        value = step.emit("linear", value, weight=np.array([-1.0, 1.0]), bias=np.float64(0))
    return of_scores(step, value, method)


def gaussian_mixture(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Components, or the density, of a mixture of normal distributions."""
    weights = step.array("weights_", None)
    count, width = len(weights), step.width
    means, roots = step.array("means_", count, width), step.array("precisions_cholesky_")
    kind = step.setting("covariance_type", "full", "tied", "diag", "spherical")
    constants = np.log(weights) - 0.5 * width * np.log(2 * np.pi)
    if kind in ("full", "tied"):
        each = np.broadcast_to(step.check_numbers(roots, "precisions_cholesky_", *((count,) if kind == "full" else ()),
                                            width, width), (count, width, width))  # fmt: skip
        logs = np.log(np.diagonal(each, axis1=1, axis2=2)).sum(axis=1)
        value = full(step, x, means, list(each), constants + logs)
    else:
        each = np.broadcast_to(roots.reshape(count, -1), (count, width))
        value = diagonal(step, x, means, each**2, constants + np.log(each).sum(axis=1))
    if method == "predict":
        return StepResult(value, (Extreme(),))
    return StepResult(value, log_sum_exp(count) if method == "score_samples" else (SOFTMAX,))


ENTRIES = [
    EstimatorEntry(("GaussianNB",), JOINT, gaussian),
    EstimatorEntry(("MultinomialNB",), JOINT, multinomial),
    EstimatorEntry(("ComplementNB",), JOINT, complement),
    EstimatorEntry(("BernoulliNB",), JOINT, bernoulli, "of 0 and 1, with binarize=None"),
    EstimatorEntry(("QuadraticDiscriminantAnalysis",), ALL_OF_A_CLASSIFIER, quadratic_discriminant),
    EstimatorEntry(("GaussianMixture",), ("predict", "predict_proba", "score_samples"), gaussian_mixture),
]
