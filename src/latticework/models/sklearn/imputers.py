"""Imputers: the owner fills missing cells in, or marks them, before encryption."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors.remedies import REMEDIES
from latticework.models.model_graph import Ref
from latticework.models.sklearn.cell_columns import Chain, emit_by_column, emit_steps, need_cells
from latticework.models.sklearn.entries import EstimatorEntry
from latticework.models.sklearn.fitted_step import FittedStep, StepResult
from latticework.models.sklearn.owner_front import is_of_cells
from latticework.plan.client_steps import Beside, Columns, Fill, IsMissing, Labels, Missing, OwnerArray, OwnerStep


def _missing(step: FittedStep, *, of_objects: bool) -> Missing:
    """The cells that count as missing, as scikit-learn has it for columns of numbers, or of objects."""
    value = getattr(step.estimator, "missing_values", np.nan)
    if value is None:
        return Missing(("none",))
    if type(value).__name__ == "NAType":
        return Missing()
    if isinstance(value, float) and np.isnan(value):
        return Missing(("nan",)) if of_objects else Missing()
    try:
        return Missing((), Labels.of([value]))
    except ValueError:
        step.refuse(f"its missing_values={value!r} is neither a text nor a number")


def imputer(step: FittedStep, x: Ref, method: str) -> StepResult:
    """Statistics in the place of what is missing, and marks of what was; columns that had no values are left out."""
    statistics = np.asarray(step.get("statistics_"))
    keeps_all = bool(getattr(step.estimator, "keep_empty_features", False))
    absent = np.array([value is None or value != value for value in statistics.tolist()], dtype=bool)  # noqa: PLR0124
    kept = np.flatnonzero(~absent | keeps_all)
    if not is_of_cells(x, step.assembly.nodes, scaled=True):
        return _pass_computed(step, x, kept)
    width = need_cells(step, x, scaled=True)
    if statistics.shape != (width,):
        step.refuse(f"its statistics_ are of other columns than the {width} that it takes")
    missing = _missing(step, of_objects=statistics.dtype.kind == "O")
    marks = _marks(step, width)
    if statistics.dtype.kind == "O":
        chains = [(int(i), _fill_one(step, statistics[i], missing), 1) for i in kept]
        chains += [(i, (IsMissing(missing),), 1) for i in marks]
        is_numeric = not any(isinstance(statistics[i], str) for i in kept)
        return StepResult(emit_by_column(step, x, chains, is_numeric=is_numeric))
    numbers = step.check_numbers(statistics[kept], "statistics_", None)
    if not len(kept):
        step.refuse("all its columns were empty", "fit it on data with values")
    filled: Chain = (Fill(OwnerArray.of(numbers), (), missing),)
    if len(kept) < width:
        filled = (Columns(-1, width, tuple(int(i) for i in kept)), *filled)
    if marks:
        marked: Chain = (Columns(-1, width, marks), IsMissing(missing))
        filled = (Beside(width, (filled, marked)),)
    return StepResult(emit_steps(step, x, filled, len(kept) + len(marks)))


def _fill_one(step: FittedStep, value: Any, missing: Missing) -> tuple[OwnerStep, ...]:
    """The step of a column of objects."""
    if isinstance(value, str):
        return (Fill(None, (value,), missing),)
    number = step.check_numbers(np.asarray(value), "statistics_")
    if number.ndim:
        step.refuse("it fills in what is neither a text nor a number")
    return (Fill(OwnerArray.of(number), (), missing),)


def _marks(step: FittedStep, width: int) -> tuple[int, ...]:
    """The columns that have a mark of what is missing."""
    if not getattr(step.estimator, "add_indicator", False):
        return ()
    return _features(step, step.get("indicator_"), width)


def _features(step: FittedStep, indicator: Any, width: int) -> tuple[int, ...]:
    features = tuple(int(i) for i in np.asarray(getattr(indicator, "features_", ())).reshape(-1))
    if not all(0 <= i < width for i in features):
        step.refuse("it marks columns that are not there")
    return features


def _pass_computed(step: FittedStep, x: Ref, kept: Any) -> StepResult:
    """Leave out columns that had no values, of what steps before it compute: encrypted data have none missing."""
    if getattr(step.estimator, "add_indicator", False):
        step.refuse("add_indicator=True adds columns of what is missing", "set add_indicator=False, or impute before")
    step.note(f"passes data as they are: {REMEDIES['missing'].for_models}")
    if len(kept) == step.width:
        return StepResult(x)
    return StepResult(step.emit("columns", x, indices=kept, width=step.width))


def indicator(step: FittedStep, x: Ref, method: str) -> StepResult:
    """1 where a cell is missing, in columns where some were."""
    width = need_cells(step, x, scaled=True)
    features = _features(step, step.estimator, width)
    if not features:
        step.refuse("nothing was missing in any of its columns", "leave it out")
    step.get("features_")
    is_strict = getattr(step.estimator, "error_on_new", False) and step.estimator.features == "missing-only"
    never = tuple(sorted(set(range(width)) - set(features))) if is_strict else ()
    taken: Chain = () if features == tuple(range(width)) else (Columns(-1, width, features),)
    return StepResult(emit_steps(step, x, (IsMissing(_missing(step, of_objects=False), never), *taken), len(features)))


ENTRIES = [
    EstimatorEntry(("SimpleImputer",), ("transform",), imputer, "the owner fills missing cells in"),
    EstimatorEntry(("MissingIndicator",), ("transform",), indicator, "the owner marks missing cells"),
]
