"""Tables of the estimators that the importer knows, and of those that it refuses with a reason for each."""

from __future__ import annotations

from typing import Any

from latticework.errors.remedies import REMEDIES as CONCEPTS
from latticework.errors.remedies import Remedy, name_remedies
from latticework.models.model_graph import Ref
from latticework.models.sklearn import (
    bayes,
    clusters,
    composites,
    encoders,
    imputers,
    kernel_machines,
    linear_models,
    perceptrons,
    transforms,
    tree_ensembles,
    vectorizers,
    voting_ensembles,
)
from latticework.models.sklearn.entries import EstimatorEntry
from latticework.models.sklearn.fitted_step import FittedStep, StepResult

FAMILIES: dict[str, list[EstimatorEntry]] = {
    "linear models": linear_models.ENTRIES,
    "naive Bayes, discriminants and mixtures": bayes.ENTRIES,
    "support vectors and kernels": kernel_machines.ENTRIES,
    "networks": perceptrons.ENTRIES,
    "centres": clusters.ENTRIES,
    "trees": tree_ensembles.ENTRIES,
    "transformers": transforms.ENTRIES,
    "encoders, imputers and vectorizers": [*encoders.ENTRIES, *imputers.ENTRIES, *vectorizers.ENTRIES],
    "compositions": composites.ENTRIES,
    "ensembles": voting_ensembles.ENTRIES,
}
ESTIMATORS = {name: entry for entries in FAMILIES.values() for entry in entries for name in entry.names}

_GENERAL = Remedy(
    "it is not supported",
    "leave this step out, or write the model as a program (lw.program) with the arrays that it holds",
)
NAMES: dict[str, str] = {  # concepts, and the classes that share the remedy of each
    "training samples": "KNeighborsClassifier KNeighborsRegressor RadiusNeighborsClassifier RadiusNeighborsRegressor "
    "NearestNeighbors LocalOutlierFactor KNeighborsTransformer KNNImputer GaussianProcessClassifier "
    "GaussianProcessRegressor",
    "category": "LabelEncoder LabelBinarizer MultiLabelBinarizer",
    "text": "DictVectorizer FeatureHasher",
    "threshold": "QuantileTransformer SplineTransformer",
}
REMEDIES: dict[str, Remedy] = {
    **name_remedies(NAMES),
    "CategoricalNB": CONCEPTS["category"].add("and fit MultinomialNB"),
    "AdaBoostRegressor": Remedy(
        "it takes a weighted median of its parts", "fit GradientBoostingRegressor, which can be imported"
    ),
    "PowerTransformer": Remedy("its powers differ between columns and signs", "apply it before encryption"),
    "NMF": Remedy("it solves an optimisation for every row", "fit PCA or TruncatedSVD, which can be imported"),
}


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
        remedy = REMEDIES.get(step.kind, _GENERAL)
        step.refuse(remedy.why, remedy.instead)
    offered = methods(step.estimator)
    if offered and method not in offered:
        step.refuse(f"its {method} cannot be imported", f"take {' or '.join(offered)}")
    return entry.build(step, x, method)
