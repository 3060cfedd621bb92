"""Steps that look whole numbers or texts up: codes of categories, one-hot vectors, rows of a table."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.cells import places_of
from latticework.plan.client_steps.step import (
    Array,
    CellKind,
    OwnerStep,
    Shape,
    Span,
    as_numbers,
    between,
    require,
)
from latticework.plan.client_steps.step_arrays import Labels, OwnerArray


@dataclass(frozen=True)
class CodeOf(OwnerStep):
    """The number of each element among the categories.

    unknown  of other elements; -1: they are refused
    """

    categories: Labels
    unknown: int = -1

    NAME: ClassVar[str] = "code_of"
    AFTER: ClassVar[bool] = False
    OF_CATEGORIES: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not -1 <= self.unknown < 1 << 31:
            raise ValueError(f"code {self.unknown} of what is no category")

    def apply(self, x: Array) -> Array:
        """Integers."""
        codes = _find_categories(self.categories, x, refuse=self.unknown < 0)
        return np.where(codes < 0, self.unknown, codes)

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Return that it reads texts or numbers, as the categories are."""
        return dict.fromkeys(columns, self.categories.cells), ()

    def words(self) -> str:
        """Describe the step by the number of categories."""
        return f"number of the category, of {len(self.categories)}"

    def weights(self) -> str:
        """Describe the categories."""
        return f"categories ({self.categories.words()})"


@dataclass(frozen=True)
class OneHot(OwnerStep):
    """A last axis with 1 where the category is, 0 elsewhere.

    takes_unknown  what is no category gives zeros; else it is refused
    """

    categories: Labels
    takes_unknown: bool = False

    NAME: ClassVar[str] = "one_hot"
    AFTER: ClassVar[bool] = False
    OF_CATEGORIES: ClassVar[bool] = True

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with one more axis."""
        return (*shape, len(self.categories))

    def apply(self, x: Array) -> Array:
        """Return one-hot vectors, in float64."""
        codes = _find_categories(self.categories, x, refuse=not self.takes_unknown)
        return np.asarray(codes[..., None] == np.arange(len(self.categories)), dtype=np.float64)

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Return that it reads texts or numbers, as the categories are."""
        return dict.fromkeys(columns, self.categories.cells), ()

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return 0 and 1 of what is looked up before; of cells nothing, as before there were tables."""
        return None if span is None else between(self.result_shape(shape), 0.0, 1.0)

    def words(self) -> str:
        """Describe the step by the number of categories."""
        return f"one-hot of {len(self.categories)} categories"

    def weights(self) -> str:
        """Describe the categories."""
        return f"categories ({self.categories.words()})"


@dataclass(frozen=True)
class TableRows(OwnerStep):
    """Each element, a whole number, becomes the row of the table with this number: an embedding."""

    table: OwnerArray

    NAME: ClassVar[str] = "table_rows"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if len(self.table.shape) < 1:
            raise ValueError("a table without rows")

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape followed by the axes of a row."""
        return (*shape, *self.table.shape[1:])

    def apply(self, x: Array) -> Array:
        """Look up rows, in float64; numbers below 0 count from the end."""
        indices, count = as_numbers(x), self.table.shape[0]
        require(indices == np.rint(indices), "is no whole number")
        require((indices >= -count) & (indices < count), f"is no row of a table of {count}")
        return self.table.rows(indices.astype(np.int64))

    def words(self) -> str:
        """Describe the step by the size of its table."""
        return f"row of a table of {' x '.join(map(str, self.table.shape))} numbers"

    def weights(self) -> str:
        """Describe the table."""
        return f"a table of {' x '.join(map(str, self.table.shape))} numbers"


def _find_categories(categories: Labels, x: Array, *, refuse: bool) -> npt.NDArray[np.int64]:
    codes = places_of(x, categories) if categories.numbers is None else categories.find(as_numbers(x))
    if refuse:
        require(codes >= 0, f"is none of the categories {categories.words()}")
    return codes
