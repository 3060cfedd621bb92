"""Estimators made of others one after the other or side by side: pipelines, unions, searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.functions.table import record_of_numpy
from latticework.models.model_graph import Ref
from latticework.models.sklearn.entries import EstimatorEntry
from latticework.models.sklearn.finishing import COLUMN, NO_COLUMN, SHARES, SOFTMAX, Steps, affine
from latticework.models.sklearn.fitted_step import FittedStep, StepResult
from latticework.plan.client_steps import Affine, Columns, Elementary, Linear, OwnerStep

ANY_METHOD = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples",
    "predict_joint_log_proba",
)  # fmt: skip


def emit_finish(step: FittedStep, result: StepResult) -> Ref:
    """Emit the owner's steps of a part as nodes, so that other steps can go on with its result."""
    value = result.value
    for each in result.finish:
        value = _emit_owner_step(step, value, each)
    return value


def _emit_owner_step(step: FittedStep, value: Ref, each: OwnerStep) -> Ref:
    if isinstance(each, Affine):
        return step.emit("scale", value, factor=each.scale.array, offset=each.offset.array)
    if isinstance(each, Linear):
        return step.emit("linear", value, weight=each.weight.array.T, bias=each.offset.array)
    if isinstance(each, Columns):
        return step.emit("columns", value, indices=np.array(each.places), width=each.size)
    if each == COLUMN:
        return step.emit("combine", (value,))
    if each == NO_COLUMN:
        return step.emit("columns", value, indices=0, width=1)
    if isinstance(each, Elementary):
        return step.emit(each.function, value)
    known: dict[OwnerStep, str] = {SOFTMAX: "softmax", SHARES: "share"}
    if each not in known:
        step.refuse(f"its parts end in a {each.words()}, which cannot be computed encrypted for others to go on with")
    return step.emit(known[each], value)


def combine(step: FittedStep, values: list[Ref]) -> Ref:
    """Values beside each other."""
    if len(values) == 1 and step.assembly.widths[values[0].name] is not None:
        return values[0]
    return step.emit("combine", tuple(values))


def pipeline(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Steps one after the other."""
    steps = step.get("steps")
    result = StepResult(x)
    for number, (name, part) in enumerate(steps, 1):
        if part is None or isinstance(part, str):
            continue
        is_last = number == len(steps)
        before = emit_finish(step, result)
        result = step.inner(part, name, number, before, method if is_last else "transform")
    return result


def column_transformer(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Transformers of some of the columns each."""
    chosen = step.get("_transformer_to_input_indices")
    weights = getattr(step.estimator, "transformer_weights", None) or {}
    made = []
    for number, (name, part, _) in enumerate(step.get("transformers_"), 1):
        indices = np.asarray(chosen[name], dtype=int)
        if (isinstance(part, str) and part == "drop") or not len(indices):
            continue
        some = step.emit("columns", x, indices=indices, width=step.width)
        value = some if isinstance(part, str) else emit_finish(step, step.inner(part, name, number, some, "transform"))
        made.append(_emit_weight(step, value, weights.get(name)))
    if not made:
        step.refuse("it drops all columns", "keep some")
    return StepResult(combine(step, made))


def _emit_weight(step: FittedStep, value: Ref, weight: float | None) -> Ref:
    return value if weight is None else step.emit("scale", value, factor=np.float64(weight), offset=np.float64(0))


def feature_union(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Transformers of all columns, beside each other."""
    weights = getattr(step.estimator, "transformer_weights", None) or {}
    made = []
    for number, (name, part) in enumerate(step.get("transformer_list"), 1):
        if isinstance(part, str) and part == "drop":
            continue
        value = x if isinstance(part, str) else emit_finish(step, step.inner(part, name, number, x, "transform"))
        if value == x:  # as a map, so that it is joined with the others
            width = step.assembly.widths[x.name] or 1
            value = step.emit("columns", x, indices=np.arange(width), width=width)
        made.append(_emit_weight(step, value, weights.get(name)))
    if not made:
        step.refuse("it drops all parts", "keep some")
    return StepResult(combine(step, made))


def search(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The best estimator that a search found."""
    return step.inner(step.get("best_estimator_"), "best_estimator_", 1, x, method)


def transformed_target(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A regressor of a transformed target, which the owner transforms back."""
    result = step.inner(step.get("regressor_"), "regressor_", 1, x, method)
    if getattr(step.estimator, "_training_dim", 1) != 1:
        step.refuse("its target has several columns", "import one regressor for each")
    return StepResult(result.value, (*result.finish, *_inverse(step, step.get("transformer_"))))


def _inverse(step: FittedStep, transformer: Any) -> Steps:
    kind = type(transformer).__name__
    if kind == "StandardScaler":
        scale = 1.0 if transformer.scale_ is None else float(transformer.scale_[0])
        return (affine(scale, 0.0 if transformer.mean_ is None else float(transformer.mean_[0])),)
    if kind == "MinMaxScaler":
        scale = float(transformer.scale_[0])
        return (affine(1 / scale, -float(transformer.min_[0]) / scale),)
    if kind == "FunctionTransformer":
        inverse = transformer.inverse_func
        record = record_of_numpy(inverse)
        if inverse is None or (record is not None and record.owner_computes):
            return () if record is None else (Elementary(record.name),)
    step.refuse(
        f"targets are transformed back by {kind}, which is not known",
        "import its regressor_, and transform back after decryption",
    )


def multi_output(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Regressors side by side."""
    parts = step.inners([(f"output {i}", part) for i, part in enumerate(step.get("estimators_"))], x, method)
    return StepResult(combine(step, [emit_finish(step, part) for part in parts]))


ENTRIES = [
    EstimatorEntry(("Pipeline",), ANY_METHOD, pipeline, "the methods of its last step"),
    EstimatorEntry(("ColumnTransformer",), ("transform",), column_transformer),
    EstimatorEntry(("FeatureUnion",), ("transform",), feature_union),
    EstimatorEntry(
        ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"), ANY_METHOD, search,
        "the methods of its best estimator",
    ),
    EstimatorEntry(
        ("TransformedTargetRegressor",), ("predict",), transformed_target,
        "back by StandardScaler, MinMaxScaler, or a function of NumPy that the owner computes",
    ),
    EstimatorEntry(("MultiOutputRegressor",), ("predict",), multi_output),
]  # fmt: skip
