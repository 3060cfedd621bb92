"""Estimators that are sums of trees: how each adds values of leaves up, and what its owner makes of the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import (
    ALL_OF_A_CLASSIFIER,
    CHANCES,
    DECISIONS,
    EstimatorEntry,
    of_scores,
)
from latticework.models.sklearn.finishing import (
    EXP,
    SIGMOID,
    SOFTMAX,
    Steps,
    above,
    affine,
    class_of_largest,
    pair,
    with_log,
)
from latticework.models.sklearn.fitted_step import FittedStep, Reals, StepResult
from latticework.models.sklearn.sklearn_trees import leaves_of_predictor, leaves_of_tree
from latticework.models.trees.leaves import Leaf, TreeSum
from latticework.models.trees.signs import sign_options
from latticework.models.trees.tree_options import CHOOSE, NO_TREES_ALONE, TAKE_SIGNS, UNCHOSEN

Read = Callable[[FittedStep], TreeSum]
Finish = Callable[[FittedStep, Ref, str], StepResult]


def _values(step: FittedStep, tree: Any, is_chances: bool) -> Reals:
    """(nodes, outputs): shares of classes, or means."""
    values = step.check_numbers(tree.tree_.value, "values of leaves", None, None, None)
    if values.shape[1] != 1:
        step.refuse("it has several outputs", "import one estimator for each output")
    values = values[:, 0]
    return values / values.sum(axis=1, keepdims=True) if is_chances else values


def _mean(step: FittedStep, trees: list[Any]) -> TreeSum:
    """The mean of trees."""
    is_classifier = step.has("classes_")
    if is_classifier:
        _ = step.classes  # refuses several outputs
    read = [leaves_of_tree(step, tree.tree_, _values(step, tree, is_classifier) / len(trees)) for tree in trees]
    return TreeSum(tuple(read), np.zeros(len(read[0][0].value)), len(trees))


def one_tree(step: FittedStep) -> TreeSum:
    """A tree by itself."""
    step.get("tree_")
    return _mean(step, [step.estimator])


def forest(step: FittedStep) -> TreeSum:
    """The mean of its trees."""
    return _mean(step, list(step.get("estimators_")))


def gradient_boosting(step: FittedStep) -> TreeSum:
    """A constant, and trees times a rate, some for each class."""
    trees = np.asarray(step.get("estimators_"), dtype=object)
    init = step.get("init_")
    if not isinstance(init, str) and type(init).__name__ not in ("DummyClassifier", "DummyRegressor"):
        step.refuse(f"it begins with a {type(init).__name__}", "fit it with init=None or init='zero'")
    constant = step.check_numbers(
        step.estimator._raw_predict_init(np.zeros((1, step.width))), "init_", 1, trees.shape[1]
    )[0]
    rate = step.number("learning_rate")
    read = []
    for row in trees:
        for output, tree in enumerate(row):
            values = np.zeros((tree.tree_.node_count, trees.shape[1]))
            values[:, output] = rate * _values(step, tree, False)[:, 0]
            read.append(leaves_of_tree(step, tree.tree_, values))
    return TreeSum(tuple(read), constant, len(trees))


def histogram_boosting(step: FittedStep) -> TreeSum:
    """A constant, and trees of histograms, some for each class."""
    predictors = step.get("_predictors")
    outputs = len(predictors[0])
    constant = step.check_numbers(np.reshape(step.get("_baseline_prediction"), -1), "_baseline_prediction", outputs)
    read = []
    for row in predictors:
        for output, predictor in enumerate(row):
            share = np.eye(outputs)[output]
            found = leaves_of_predictor(step, predictor.nodes)
            read.append(tuple(replace(leaf, value=leaf.value[0] * share) for leaf in found))
    return TreeSum(tuple(read), constant, len(predictors), is_single=False)


def adaptive_boosting(step: FittedStep) -> TreeSum:
    """Weighted votes of trees: the weight for a class, and a part of it against each other."""
    count = len(step.classes)
    weights = step.array("estimator_weights_", None)
    trees = step.get("estimators_")
    read = []
    for tree, weight in zip(trees, weights[: len(trees)] / weights.sum(), strict=True):
        if not hasattr(tree, "tree_"):
            step.refuse(f"its parts are of {type(tree).__name__}", "fit it on decision trees")
        chosen = np.searchsorted(step.classes, tree.classes_)[_values(step, tree, True).argmax(axis=1)]
        votes = np.where(chosen[:, None] == np.arange(count), weight, -weight / (count - 1))
        values = votes[:, 1:] - votes[:, :1] if count == 2 else votes
        read.append(leaves_of_tree(step, tree.tree_, values))
    return TreeSum(tuple(read), np.zeros(1 if count == 2 else count), len(trees))


def isolation(step: FittedStep) -> TreeSum:
    """The mean length of paths, by that of random trees."""
    trees = step.get("estimators_")
    whole = len(trees) * _average_path(float(step.number("_max_samples")))
    read = []
    lengths = zip(step.get("_decision_path_lengths"), step.get("_average_path_length_per_tree"), strict=True)
    for tree, seen, (decisions, rest) in zip(trees, step.get("estimators_features_"), lengths, strict=True):
        values = (np.asarray(decisions, np.float64) + np.asarray(rest, np.float64) - 1)[:, None] / whole
        read.append(tuple(_on_all(leaf, seen) for leaf in leaves_of_tree(step, tree.tree_, values)))
    return TreeSum(tuple(read), np.zeros(1), len(trees))


def _on_all(leaf: Leaf, seen: Any) -> Leaf:
    """The same leaf of a tree that sees some of the features only."""
    return replace(leaf, path=tuple(replace(s, feature=int(seen[s.feature])) for s in leaf.path))


def _average_path(samples: float) -> float:
    """The average path length in a random tree of `samples` samples."""
    if samples <= 2:
        return max(0.0, samples - 1)
    return float(2 * (np.log(samples - 1) + np.euler_gamma) - 2 * (samples - 1) / samples)


def _shares(step: FittedStep, value: Ref, method: str) -> StepResult:
    """Probabilities as they are."""
    step.need_classes()
    if method == "predict":
        return StepResult(value, (class_of_largest(step.classes),))
    return StepResult(value, with_log(method, ()))


def _as_is(step: FittedStep, value: Ref, method: str) -> StepResult:
    return StepResult(value)


def _finish_boosting(step: FittedStep, value: Ref, method: str) -> StepResult:
    """Scores, whose probabilities are of the loss."""
    if method in CHANCES[1:]:
        step.setting("loss", "log_loss", instead="take decision_function")
    return of_scores(step, value, method)


def _adaptive(step: FittedStep, value: Ref, method: str) -> StepResult:
    count = len(step.classes)
    chances: Steps = (SIGMOID, *pair())
    if count > 2:
        chances = (affine(1 / (count - 1), 0.0), SOFTMAX)
    return of_scores(step, value, method, chances=chances)


def _mean_of_counts(step: FittedStep, value: Ref, method: str) -> StepResult:
    """Exponentials, of losses that have a logarithm between."""
    has_logarithm = getattr(step.estimator, "loss", "") in ("poisson", "gamma")
    return StepResult(value, (EXP,) if has_logarithm else ())


def _finish_isolation(step: FittedStep, value: Ref, method: str) -> StepResult:
    scores: Steps = (affine(-np.log(2), 0.0), EXP, affine(-1.0, 0.0))
    if method == "score_samples":
        return StepResult(value, scores)
    decision = (*scores, affine(1.0, -step.number("offset_")))
    is_in = above(np.array([-1, 1]), inclusive=True)
    return StepResult(value, (*decision, is_in) if method == "predict" else decision)


# class -> how it is read, how its sum is finished
READERS: dict[str, tuple[Read, Finish]] = {
    **dict.fromkeys(("DecisionTreeClassifier", "ExtraTreeClassifier"), (one_tree, _shares)),
    **dict.fromkeys(("DecisionTreeRegressor", "ExtraTreeRegressor"), (one_tree, _as_is)),
    **dict.fromkeys(("RandomForestClassifier", "ExtraTreesClassifier"), (forest, _shares)),
    **dict.fromkeys(("RandomForestRegressor", "ExtraTreesRegressor"), (forest, _as_is)),
    "GradientBoostingClassifier": (gradient_boosting, _finish_boosting),
    "GradientBoostingRegressor": (gradient_boosting, _as_is),
    "HistGradientBoostingClassifier": (histogram_boosting, _finish_boosting),
    "HistGradientBoostingRegressor": (histogram_boosting, _mean_of_counts),
    "AdaBoostClassifier": (adaptive_boosting, _adaptive),
    "IsolationForest": (isolation, _finish_isolation),
}


def build(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A sum of trees, by the way that was chosen."""
    read, finish = READERS[step.kind]
    if step.assembly.trees == "exact":
        step.refuse(
            NO_TREES_ALONE, f"import the trees by themselves, fitted on what the steps before make; or {TAKE_SIGNS}"
        )
    if step.assembly.trees is None:
        step.refuse(UNCHOSEN, CHOOSE)
    options = sign_options(read(step), step.assembly.samples_at(x), step.assembly.gap, step.refuse, step.note)
    return finish(step, step.emit("trees", x, **options), method)


_EITHER = 'trees="sign" or "exact"'
ENTRIES = [
    EstimatorEntry(
        tuple(name for name in READERS if READERS[name][1] is _shares), CHANCES, build, _EITHER
    ),
    EstimatorEntry(
        tuple(name for name in READERS if name.endswith("Regressor")), ("predict",), build, _EITHER
    ),
    EstimatorEntry(
        ("GradientBoostingClassifier", "HistGradientBoostingClassifier", "AdaBoostClassifier"),
        ALL_OF_A_CLASSIFIER, build, _EITHER,
    ),
    EstimatorEntry(("IsolationForest",), (*DECISIONS, "score_samples"), build, _EITHER),
]  # fmt: skip
