"""All estimators that the door knows, and those that it refuses with a reason of its own."""

from __future__ import annotations

from typing import Any

from latticework.importers.graph import Ref
from latticework.importers.sklearn_door import (
    bayes,
    clusters,
    composites,
    ensembles,
    kernel_machines,
    linear_models,
    networks,
    transforms,
    tree_ensembles,
)
from latticework.importers.sklearn_door.entries import EstimatorEntry
from latticework.importers.sklearn_door.steps import FittedStep, StepResult

FAMILIES: dict[str, list[EstimatorEntry]] = {
    "linear models": linear_models.ENTRIES,
    "naive Bayes, discriminants and mixtures": bayes.ENTRIES,
    "support vectors and kernels": kernel_machines.ENTRIES,
    "networks": networks.ENTRIES,
    "centres": clusters.ENTRIES,
    "trees": tree_ensembles.ENTRIES,
    "transformers": transforms.ENTRIES,
    "compositions": composites.ENTRIES,
    "ensembles": ensembles.ENTRIES,
}
ESTIMATORS = {name: entry for entries in FAMILIES.values() for entry in entries for name in entry.names}

_GENERAL = "leave this step out, or write the model as a program (lw.program) with the arrays that it holds"
_NEIGHBOURS = (
    "its distances to every training sample decide, so that training samples would be the server's program and results "
    "would tell them; fit NearestCentroid, or an SVC, which keeps some of them only"
)
_BEFORE = "it works on words or categories; apply it before encryption, and encrypt what it returns"
_SPARSE = "it makes sparse rows of counts; apply it before encryption, reduce them (TruncatedSVD) and encrypt that"
_RANKS = "its steps compare with many thresholds; apply it before encryption"
REASONS = {
    **dict.fromkeys(
        ("KNeighborsClassifier", "KNeighborsRegressor", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor",
         "NearestNeighbors", "LocalOutlierFactor", "KNeighborsTransformer", "KNNImputer"), _NEIGHBOURS),
    **dict.fromkeys(("OneHotEncoder", "OrdinalEncoder", "LabelEncoder", "TargetEncoder", "LabelBinarizer"), _BEFORE),
    **dict.fromkeys(
        ("TfidfVectorizer", "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "DictVectorizer",
         "FeatureHasher"), _SPARSE),
    **dict.fromkeys(("QuantileTransformer", "KBinsDiscretizer", "SplineTransformer", "Binarizer"), _RANKS),
    "CategoricalNB": "its features are categories; encode them before encryption (OneHotEncoder) and fit MultinomialNB",
    "PowerTransformer": "its powers differ between columns and signs; apply it before encryption",
    "AdaBoostRegressor": "it takes a weighted median of its parts; GradientBoostingRegressor can be imported",
    "GaussianProcessClassifier": "its latent mean needs all training samples; fit an SVC",
    "GaussianProcessRegressor": "its mean needs all training samples; fit an SVR",
    "NMF": "it solves an optimisation for every row; PCA and TruncatedSVD can be imported",
}  # fmt: skip


def methods(estimator: Any) -> tuple[str, ...]:
    """The methods of an estimator that can be imported, of a composition those of the part that decides."""
    kind = type(estimator).__name__
    if kind == "Pipeline":
        last = estimator.steps[-1][1]
        return ("transform",) if last is None or isinstance(last, str) else methods(last)
    if hasattr(estimator, "best_estimator_"):
        return methods(estimator.best_estimator_)
    if kind == "StackingClassifier" and hasattr(estimator, "final_estimator_"):
        return tuple(m for m in ESTIMATORS[kind].methods if m in methods(estimator.final_estimator_))
    return ESTIMATORS[kind].methods if kind in ESTIMATORS else ()


def build(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Read an estimator: by its class, which has to be scikit-learn's own."""
    kind = type(step.estimator)
    if kind.__module__.partition(".")[0] != "sklearn":
        step.refuse(
            f"its class is of the module {kind.__module__}, not of scikit-learn, and may compute anything",
            "use scikit-learn's own class, or write what it computes as a program (lw.program)",
        )
    entry = ESTIMATORS.get(step.kind)
    if entry is None:
        step.refuse("it is not supported", REASONS.get(step.kind, _GENERAL))
    offered = methods(step.estimator)
    if offered and method not in offered:
        step.refuse(f"its {method} cannot be imported", f"take {' or '.join(offered)}")
    return entry.build(step, x, method)
