"""Operators of ONNX that prepare columns of raw tables: categories, texts and missing values stay with the owner.

Such files have an input for each column, of texts or of numbers. All of it is computed before encryption, up to where
columns are numbers, beside one another. A category is known by its name, so that a file's order of inputs is none of
the owner's: columns are given by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.models.client_rules import common
from latticework.models.client_rules.classes import ML
from latticework.models.client_rules.onnx import ONNX_RULES, category_table, names_of, rename_classes, rows_of, scaler
from latticework.models.client_rules.table_rules import SECRET, CannotMoveError, MovedNode, OwnerRule, Steps, wholes
from latticework.models.model_graph import ModelNode
from latticework.plan.client_steps import Affine, Bins, CodeOf, Fill, Labels, LookUp, Missing, OwnerArray

_STRING = 8  # ONNX's number of the type
_ENCODERS = frozenset(
    f"{ML}.{name}" for name in ("Binarizer", "Imputer", "OneHotEncoder", "LabelEncoder", "CategoryMapper")
)
_KEEPING = frozenset(
    ("Cast", "Concat", "Gather", "Identity", "Reshape", "Split", "Squeeze", "Unsqueeze", f"{ML}.ArrayFeatureExtractor",
     f"{ML}.Scaler")
)  # fmt: skip


def has_table(nodes: Iterable[ModelNode], kinds: Mapping[str, int]) -> bool:
    """Whether a model begins with columns of a raw table.

    kinds  ONNX's data type of each input
    """
    raw = set(kinds)
    for node in nodes:
        if set(node.reads()) & raw:
            if node.operator in _ENCODERS:
                return True
            raw |= set(node.results) if node.operator in _KEEPING else set()
    return _STRING in kinds.values()


def _imputer(moved: MovedNode) -> Steps:
    """Missing cells, or numbers that stand for them, become the value of their column."""
    floats, wholes_ = (moved.options.get(f"imputed_value_{kind}s") or () for kind in ("float", "int64"))
    values = floats or wholes_
    if not values or (floats and wholes_):
        raise CannotMoveError("it has no values to fill in, or both kinds of them")
    old = float(moved.options.get("replaced_value_float" if floats else "replaced_value_int64", 0))
    missing = Missing() if np.isnan(old) else Missing((), Labels.of(_spellings([old])))
    numbers = OwnerArray.of(values[0] if len(values) == 1 else list(values))
    if len(values) > 1 and len(values) != moved.shape[-1]:
        raise CannotMoveError(f"it has {len(values)} values for {moved.shape[-1]} columns")
    return (Fill(numbers, missing=missing),)


def _look_up(moved: MovedNode) -> Steps:
    """The number that stands for each category; what is none is refused, unless the file says what it is."""
    table = category_table(moved, of_texts=True)
    if table.values.dtype.kind == "O":
        raise CannotMoveError("its values are texts: encode the column once, to numbers")
    given = [moved.options.get(name) for name in ("default_int64", "default_float", "default_tensor")]
    is_told = any(value is not None for value in given)
    codes = np.argsort(table.values)
    is_counted = np.array_equal(table.values[codes], np.arange(len(codes)))
    if not is_told and is_counted and table.keys.dtype.kind != "f":
        return (CodeOf(common.labels_of(table.keys[codes])),)
    pairs: dict[Any, float] = {}
    blank: float | None = None
    for key, value in zip(table.keys.tolist(), table.values.tolist(), strict=True):
        if isinstance(key, float) and np.isnan(key):
            blank = float(value)
        else:
            pairs.update((spelled, float(value)) for spelled in _spellings([key]))
    if not pairs:
        raise CannotMoveError("its only key is what is missing")
    unknown = float(table.default) if is_told else None
    return (LookUp(Labels.of(list(pairs)), OwnerArray.of(list(pairs.values())), unknown, blank),)


def _spellings(keys: list[Any]) -> list[Any]:
    """Keys as users have them: a number that a file has in float32 is also the decimal that it was rounded from."""
    found: dict[Any, None] = {}
    for key in keys:
        found[key] = None
        if isinstance(key, float) and key == np.float32(key):
            found[float(str(np.float32(key)))] = None
    return list(found)


def _scaler(moved: MovedNode) -> Steps:
    """A scale and a shift, which leave what is missing to an Imputer after them."""
    return tuple(replace(step, blank=True) if isinstance(step, Affine) else step for step in scaler(moved))


def _gather(moved: MovedNode) -> Steps:
    """Columns by public numbers, or rows of a public table by secret ones."""
    if moved.args[0] is not SECRET:
        return rows_of(moved)
    places = moved.args[1]
    if np.ndim(places) != 1:
        raise CannotMoveError("it takes one column without its axis")
    return common.columns(moved, moved.dim(moved.options.get("axis", 0)), wholes(places))


def _binarizer(moved: MovedNode) -> Steps:
    """1 above a threshold, else 0."""
    return (Bins(OwnerArray.of([float(moved.options.get("threshold", 0.0))]), is_above=True),)


TABLE_RULES = replace(
    ONNX_RULES,
    by_operator={
        **ONNX_RULES.by_operator,
        f"{ML}.Imputer": OwnerRule(_imputer, None),
        f"{ML}.Binarizer": OwnerRule(_binarizer, None),
        f"{ML}.LabelEncoder": OwnerRule(_look_up, names_of, renames=rename_classes),
        f"{ML}.CategoryMapper": OwnerRule(_look_up, names_of, renames=rename_classes),
        f"{ML}.Scaler": replace(ONNX_RULES.by_operator[f"{ML}.Scaler"], before=_scaler),
        "Gather": OwnerRule(_gather, None, wants=lambda moved: moved.args[0] is not SECRET),
    },
    of_tables=True,
)
