"""Encoders of categories, and bins of numbers: look-ups of the owner's, before encryption."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.cell_columns import (
    Categories,
    Chain,
    emit_by_column,
    emit_steps,
    need_cells,
    one_hot_of,
)
from latticework.models.sklearn.entries import EstimatorEntry
from latticework.models.sklearn.fitted_step import FittedStep, StepResult
from latticework.plan.client_steps import Bins, LookUp, OwnerArray


def _all_categories(step: FittedStep, x: Ref) -> list[Categories]:
    width = need_cells(step, x)
    listed = step.get("categories_")
    if not isinstance(listed, list) or len(listed) != width:
        step.refuse(f"its categories_ are of other columns than the {width} that it takes")
    return [Categories(step, categories, column) for column, categories in enumerate(listed)]


def _groups(step: FittedStep, column: int, count: int) -> tuple[list[int], int | None]:
    """The code of each category, infrequent ones together; and theirs, None where there are none."""
    maps = getattr(step.estimator, "_default_to_infrequent_mappings", None)
    mapping = maps[column] if getattr(step.estimator, "_infrequent_enabled", False) and maps is not None else None
    if mapping is None:
        return list(range(count)), None
    codes = [int(code) for code in np.asarray(mapping).reshape(-1)]
    if len(codes) != count or not all(0 <= code < count for code in codes):
        step.refuse("its infrequent categories are of other columns")
    infrequent = step.get("_infrequent_indices")[column]
    return codes, codes[int(infrequent[0])]


def one_hot(step: FittedStep, x: Ref, method: str) -> StepResult:
    """A column for each category; dropped and infrequent ones as the encoder has them."""
    rule = step.setting("handle_unknown", "error", "ignore", "infrequent_if_exist", "warn")
    every, chains = _all_categories(step, x), list[tuple[int, Chain, int]]()
    dropped = getattr(step.estimator, "_drop_idx_after_grouping", None)
    for column, known in enumerate(every):
        count = len(step.get("categories_")[column])
        codes, infrequent = _groups(step, column, count)
        drop = None if dropped is None or dropped[column] is None else int(dropped[column])

        def place(code: int, drop: int | None = drop) -> float:
            if drop is None or code < drop:
                return float(code)
            return -1.0 if code == drop else code - 1.0

        made = max(codes) + 1 - (drop is not None)
        takes_group = rule in ("infrequent_if_exist", "warn") and infrequent is not None
        unknown = None if rule == "error" else place(infrequent or 0) if takes_group else -1.0
        values = [place(code) for code in codes]
        nan, none = (None if at is None else values[at] for at in (known.nan, known.none))
        if made:
            steps = (LookUp(known.keys, known.of_keys(values), unknown, nan, none), *one_hot_of(made))
            chains.append((column, steps, made))
    return StepResult(emit_by_column(step, x, chains))


def ordinal(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The number of the category."""
    rule = step.setting("handle_unknown", "error", "use_encoded_value")
    chains, is_numeric = list[tuple[int, Chain, int]](), True
    for column, known in enumerate(_all_categories(step, x)):
        codes = [float(code) for code in _groups(step, column, len(step.get("categories_")[column]))[0]]
        given = {"unknown": getattr(step.estimator, "unknown_value", None) if rule != "error" else None}
        if known.nan is not None:
            given["nan"] = step.estimator.encoded_missing_value
        blank = tuple(name for name, value in given.items() if value is not None and np.isnan(value))
        unknown, nan = (_number(given.get(name), name in blank) for name in ("unknown", "nan"))
        none = None if known.none is None else codes[known.none]
        is_numeric = is_numeric and not blank
        chains.append((column, (LookUp(known.keys, known.of_keys(codes), unknown, nan, none, blank),), 1))
    return StepResult(emit_by_column(step, x, chains, is_numeric=is_numeric))


def _number(value: Any, is_blank: bool) -> float | None:
    return None if value is None or is_blank else float(value)


def target(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The mean of the target in the category, of each class where there are several."""
    every = _all_categories(step, x)
    encodings = step.get("encodings_")
    kinds = len(encodings) // max(len(every), 1)
    means = step.check_numbers(np.reshape(step.get("target_mean_"), -1), "target_mean_", kinds)
    if len(encodings) != kinds * len(every):
        step.refuse("its encodings_ are of other columns")
    chains: list[tuple[int, Chain, int]] = []
    for number, encoding in enumerate(encodings):
        column, known = number // kinds, every[number // kinds]
        values = step.check_numbers(encoding, "encodings_", len(step.get("categories_")[column])).tolist()
        nan, none = (None if at is None else values[at] for at in (known.nan, known.none))
        chains.append(
            (column, (LookUp(known.keys, known.of_keys(values), float(means[number % kinds]), nan, none),), 1)
        )
    return StepResult(emit_by_column(step, x, chains))


def discretizer(step: FittedStep, x: Ref, method: str) -> StepResult:
    """The bin of each number, or a column for each bin."""
    encode = step.setting("encode", "ordinal", "onehot", "onehot-dense")
    chains: list[tuple[int, Chain, int]] = []
    edges = step.get("bin_edges_")
    if need_cells(step, x) != len(edges):
        step.refuse("its bin_edges_ are of other columns")
    for column, of_column in enumerate(edges):
        inner = step.check_numbers(of_column, "bin_edges_", None)[1:-1]
        bins = Bins(OwnerArray.of(inner if len(inner) else [np.finfo(np.float64).max]))
        count = len(inner) + 1
        chains.append((column, (bins,), 1) if encode == "ordinal" else (column, (bins, *one_hot_of(count)), count))
    return StepResult(emit_by_column(step, x, chains))


def binarizer(step: FittedStep, x: Ref, method: str) -> StepResult:
    """1 for numbers above a threshold, 0 for others."""
    width = need_cells(step, x)
    return StepResult(emit_steps(step, x, (Bins(OwnerArray.of([step.number("threshold")]), True),), width))


_TRANSFORM = ("transform",)
_CATEGORIES = "the owner looks categories up, unknown ones as it says"
_UNCHANGED = "the owner's, of columns that no step computed before"
ENTRIES = [
    EstimatorEntry(("OneHotEncoder",), _TRANSFORM, one_hot, _CATEGORIES),
    EstimatorEntry(("OrdinalEncoder",), _TRANSFORM, ordinal, _CATEGORIES),
    EstimatorEntry(("TargetEncoder",), _TRANSFORM, target, f"{_CATEGORIES}; its file tells means of the target"),
    EstimatorEntry(("KBinsDiscretizer",), _TRANSFORM, discretizer, _UNCHANGED),
    EstimatorEntry(("Binarizer",), _TRANSFORM, binarizer, _UNCHANGED),
]
