"""Columns of cells while an estimator is read: each goes through steps of its own, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from latticework.models.model_graph import Ref
from latticework.models.sklearn.fitted_step import FittedStep
from latticework.models.sklearn.owner_front import OWNER, is_of_cells
from latticework.plan.client_steps import Beside, Columns, Labels, OneHot, OwnerArray, OwnerStep, Reshape

Chain = tuple[OwnerStep, ...]
COMPUTED = (
    "it compares numbers that steps before it compute, and rounding there decides which is equal",
    "put it before those steps, on the columns themselves",
)


def need_cells(step: FittedStep, x: Ref, *, scaled: bool = False) -> int:
    """Refuse a step unless it takes columns as the owner has them; the number of these."""
    if not is_of_cells(x, step.assembly.nodes, scaled=scaled):
        step.refuse(*COMPUTED)
    return step.assembly.widths[x.name] or 1


def emit_steps(step: FittedStep, x: Ref, steps: Chain, width: int, *, is_numeric: bool = True) -> Ref:
    """A node of the owner's steps."""
    return step.emit(OWNER, x, steps=steps, width=width, is_numeric=is_numeric)


def emit_by_column(
    step: FittedStep, x: Ref, chains: Sequence[tuple[int, Chain, int]], *, is_numeric: bool = True
) -> Ref:
    """Chains of columns side by side: the number of the column, its steps, and the width of their result."""
    if not chains:
        step.refuse("no column is left of what it makes", "fit it so that some are")
    width = step.assembly.widths[x.name] or 1
    total = sum(made for _, _, made in chains)
    if width == 1 and len(chains) == 1:
        return emit_steps(step, x, chains[0][1], total, is_numeric=is_numeric)
    branches = tuple(((Columns(-1, width, (column,)), *steps) if width > 1 else steps) for column, steps, _ in chains)
    return emit_steps(step, x, (Beside(width, branches),), total, is_numeric=is_numeric)


def one_hot_of(count: int) -> Chain:
    """Steps from a number below `count` to as many columns; another number gives zeros."""
    return OneHot(Labels.of(np.arange(count)), True), Reshape((1, count), (count,))


class Categories:
    """The categories of a column of a fitted encoder.

    keys        those that are texts or numbers;  places  of each among all
    nan, none   places of NaN and of None; None: they are no categories
    """

    def __init__(self, step: FittedStep, categories: Any, column: int) -> None:
        values = np.asarray(categories).tolist()
        self.nan = next((i for i, c in enumerate(values) if isinstance(c, float) and np.isnan(c)), None)
        self.none = next((i for i, c in enumerate(values) if c is None), None)
        self.places = [i for i in range(len(values)) if i not in (self.nan, self.none)]
        if not self.places:
            step.refuse(f"column {column} has no categories but missing values", "leave that column out")
        try:
            self.keys = Labels.of([values[i] for i in self.places])
        except ValueError as error:
            step.refuse(
                f"its categories of column {column} are no names or numbers that can be kept: {error}",
                "make texts or whole numbers of them before you fit it",
            )

    def of_keys(self, values: Sequence[float]) -> OwnerArray:
        """A number for each key, of one for each category."""
        return OwnerArray.of([values[i] for i in self.places])
