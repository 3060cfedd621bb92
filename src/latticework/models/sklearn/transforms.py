"""Scalers, selectors, reducers and expansions."""

from __future__ import annotations

from math import comb

import numpy as np

from latticework.functions.table import RECORDS, record_of_numpy
from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import EstimatorEntry
from latticework.models.sklearn.fitted_step import FittedStep, Reals, StepResult

MOST_FACTORS = 40  # of a product, or columns in one, beyond which products of powers are always too many
MOST_MONOMIALS = 1 << 16


def _emit_scale(step: FittedStep, x: Ref, factor: Reals, offset: Reals) -> StepResult:
    if getattr(step.estimator, "clip", False):
        step.refuse("clip=True compares encrypted numbers", "set_params(clip=False)")
    return StepResult(step.emit("scale", x, factor=factor, offset=offset))


def _standardize(step: FittedStep, x: Ref, mean: str, deviation: str) -> StepResult:
    """(x - mean) / deviation, where they are there."""
    width = step.width
    factor = 1 / step.array(deviation, width) if step.has(deviation) else np.ones(width)
    offset = -step.array(mean, width) * factor if step.has(mean) else np.zeros(width)
    return _emit_scale(step, x, factor, offset)


def standard(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Mean 0 and deviation 1."""
    step.get("n_samples_seen_")
    used = ("mean_" if step.estimator.with_mean else "", "scale_" if step.estimator.with_std else "")
    for name in filter(None, used):
        step.get(name)
    return _standardize(step, x, used[0] or "none_", used[1] or "none_")


def robust(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Median 0 and quartiles 1 apart."""
    step.get("n_features_in_")
    return _standardize(step, x, "center_", "scale_")


def max_abs(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Magnitudes up to 1."""
    step.get("scale_")
    return _standardize(step, x, "none_", "scale_")


def min_max(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A range for every column."""
    return _emit_scale(step, x, step.array("scale_", step.width), step.array("min_", step.width))


def normalizer(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Rows of length 1."""
    norm = step.setting("norm", "l2", "l1", instead="normalise rows before encryption")
    return StepResult(step.emit("normalize", x, norm=norm))


def selector(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Some of the columns, as the estimator chose them."""
    width = step.width
    try:
        indices = np.asarray(step.estimator.get_support(indices=True))
    except Exception as error:  # of any kind: it computes with what it was fitted
        step.refuse(f"its get_support() fails ({type(error).__name__})", "call fit first")
    if not len(indices):
        step.refuse("it selects no column", "fit it so that it keeps some")
    return StepResult(step.emit("columns", x, indices=indices.astype(int), width=width))


def principal(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Projections on principal axes."""
    weight = step.array("components_", None, step.width)
    if getattr(step.estimator, "whiten", False):
        deviation = np.sqrt(step.array("explained_variance_", len(weight)))
        weight = weight / np.maximum(deviation, np.finfo(np.float64).eps)[:, None]
    return StepResult(step.emit("linear", x, weight=weight, bias=-weight @ step.array("mean_", step.width)))


def projection(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A linear map without a mean."""
    weight = step.array("components_", None, step.width)
    return StepResult(step.emit("linear", x, weight=weight, bias=np.zeros(len(weight))))


def independent(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Independent components."""
    weight = step.array("components_", None, step.width)
    whitens = bool(getattr(step.estimator, "whiten", False))
    bias = -weight @ step.array("mean_", step.width) if whitens else np.zeros(len(weight))
    return StepResult(step.emit("linear", x, weight=weight, bias=bias))


def factor_analysis(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Expected factors of a row."""
    loadings = step.array("components_", None, step.width)
    scaled = loadings / step.array("noise_variance_", step.width)
    weight = np.linalg.solve(np.eye(len(loadings)) + scaled @ loadings.T, scaled)
    return StepResult(step.emit("linear", x, weight=weight, bias=-weight @ step.array("mean_", step.width)))


def axes(step: FittedStep, x: Ref) -> StepResult:
    """The axes of a linear discriminant analysis."""
    if step.setting("solver", "svd", "eigen", instead="fit it with one of these") == "svd":
        mean = step.array("xbar_", step.width)
    else:
        mean = np.zeros(step.width)
    weight = step.array("scalings_", step.width, None)[:, : int(step.number("_max_components"))].T
    return StepResult(step.emit("linear", x, weight=weight, bias=-weight @ mean))


def polynomial_features(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Products of powers of columns, counted before scikit-learn lists them: a file may state any degree."""
    degree = getattr(step.estimator, "degree", 2)
    most = max(degree) if isinstance(degree, tuple) and degree else degree
    if not isinstance(most, int) or most < 0:
        step.refuse(f"its degree is {most!r}", "fit it again with a whole number")
    fewer = min(most, step.width)
    if fewer > MOST_FACTORS or comb(most + step.width, fewer) > MOST_MONOMIALS:
        step.refuse(
            f"of {step.width} features it makes more than {MOST_MONOMIALS} products of up to {most} factors",
            "fit it with a lower degree or fewer features",
        )
    powers = step.array("powers_", None, step.width).astype(int)
    return StepResult(step.emit("monomials", x, powers=powers))


def function(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A known function of every number, or none."""
    func = getattr(step.estimator, "func", None)
    if func is None:
        return StepResult(x)
    record = record_of_numpy(func)
    name = "square" if func is np.square else record.name if record is not None else ""
    if not name or step.has("kw_args"):
        shown = getattr(func, "__name__", "") or repr(func)
        step.refuse(
            f"its function {shown} is not one of NumPy's {', '.join(_KNOWN)}",
            "apply it before encryption, or write the model as a program with lw.approximate(function)",
        )
    return StepResult(step.emit(name, x))


_NOTE = "none, np.square, or one of NumPy's [functions of one number](#functions-of-one-number)"
_KNOWN = ("square", *(record.numpy for record in RECORDS if record.numpy))
_SELECTORS = (
    "SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect",
    "SelectFromModel", "SequentialFeatureSelector", "RFE", "RFECV", "VarianceThreshold",
)  # fmt: skip
_TRANSFORM = ("transform",)
ENTRIES = [
    EstimatorEntry(("StandardScaler",), _TRANSFORM, standard, "joined with the next weights"),
    EstimatorEntry(("MinMaxScaler",), _TRANSFORM, min_max, "clip=False"),
    EstimatorEntry(("MaxAbsScaler",), _TRANSFORM, max_abs, "clip=False"),
    EstimatorEntry(("RobustScaler",), _TRANSFORM, robust),
    EstimatorEntry(("Normalizer",), _TRANSFORM, normalizer, "l2 and l1; rows of zeros cannot be normalised encrypted"),
    EstimatorEntry(_SELECTORS, _TRANSFORM, selector),
    EstimatorEntry(("PCA", "IncrementalPCA"), _TRANSFORM, principal),
    EstimatorEntry(("TruncatedSVD", "GaussianRandomProjection"), _TRANSFORM, projection),
    EstimatorEntry(("FastICA",), _TRANSFORM, independent),
    EstimatorEntry(("FactorAnalysis",), _TRANSFORM, factor_analysis),
    EstimatorEntry(("PolynomialFeatures",), _TRANSFORM, polynomial_features),
    EstimatorEntry(("FunctionTransformer",), _TRANSFORM, function, _NOTE),
]
