"""Steps on cells of raw tables: categories looked up, missing values filled in or marked, numbers put into bins."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.cells import EMPTY, NAN, NONE, Mask, Missing, numbers_of, places_of
from latticework.plan.client_steps.step import (
    Array,
    CellKind,
    OwnerStep,
    Shape,
    Span,
    as_numbers,
    between,
    last_axes,
    require,
)
from latticework.plan.client_steps.step_arrays import MAX_LABELS, MAX_TEXT, Labels, OwnerArray

_OUTCOMES = ("unknown", NAN, NONE)


@dataclass(frozen=True)
class LookUp(OwnerStep):
    """The number that stands for each cell, which is one of the keys.

    keys       texts, or numbers;  values  one for each
    unknown    of other cells; None: they are refused
    nan, none  of cells that are not a number, and None; None: as of other cells
    blank      which of "unknown", "nan" and "none" become NaN instead, for a later step to fill in
    """

    keys: Labels
    values: OwnerArray
    unknown: float | None = field(default=None, metadata={"unstored_default": True})
    nan: float | None = field(default=None, metadata={"unstored_default": True})
    none: float | None = field(default=None, metadata={"unstored_default": True})
    blank: tuple[str, ...] = field(default=(), metadata={"unstored_default": True})

    NAME: ClassVar[str] = "look_up"
    AFTER: ClassVar[bool] = False
    OF_CATEGORIES: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.keys),):
            raise ValueError(f"values of shape {self.values.shape} for {len(self.keys)} keys")
        if not set(self.blank) <= set(_OUTCOMES):
            raise ValueError(f"outcomes {self.blank[:4]}; there are {', '.join(_OUTCOMES)}")

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Return that it reads texts or numbers, as the keys are."""
        return dict.fromkeys(columns, self.keys.cells), ()

    def apply(self, x: Array) -> Array:
        """Numbers, in float64; NaN where they are blank."""
        places = places_of(x, self.keys)
        numbers = self.values.array[places]
        known = places >= 0
        for name, value in ((NAN, self.nan), (NONE, self.none)):
            if value is not None or name in self.blank:
                cells = Missing((name,)).where(x)
                numbers[cells] = np.nan if value is None else value
                known |= cells
        if "unknown" in self.blank or self.unknown is not None:
            return np.where(known, numbers, np.nan if self.unknown is None else self.unknown)
        require(known, f"is none of the categories {self.keys.words()}")
        return np.asarray(numbers)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return the least and the largest number that can be looked up."""
        others = [value for value in (self.unknown, self.nan, self.none) if value is not None]
        numbers = [*self.values.array.tolist(), *others]
        return None if self.blank else between(shape, min(numbers), max(numbers))

    def words(self) -> str:
        """Describe the step by the number of categories."""
        return f"number of the category, of {len(self.keys)}"

    def weights(self) -> str:
        """Describe the categories, and say where numbers tell more than their order."""
        values = self.values.array
        more = "" if np.array_equal(values, np.rint(values)) else ", with a number for each"
        return f"categories ({self.keys.words()}){more}"


@dataclass(frozen=True)
class Fill(OwnerStep):
    """Cells that are missing become the value of their column; other cells stay.

    numbers  (columns,), or () for all: all cells become numbers
    texts    so many in the place of numbers: other cells stay as they are
    """

    numbers: OwnerArray | None
    texts: tuple[str, ...] = ()
    missing: Missing = field(default=EMPTY, metadata={"unstored_default": True})

    NAME: ClassVar[str] = "fill"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if (self.numbers is None) == (not self.texts) or len(self.texts) > MAX_LABELS:
            raise ValueError("neither numbers nor texts to fill in, or both")
        if self.numbers is not None and len(self.numbers.shape) > 1:
            raise ValueError(f"numbers of shape {self.numbers.shape} to fill in")
        if sum(map(len, self.texts)) > MAX_TEXT:
            raise ValueError(f"texts of more than {MAX_TEXT} characters to fill in")

    @property
    def _columns(self) -> tuple[int, ...]:
        return (len(self.texts),) if self.numbers is None else self.numbers.shape

    @property
    def depth(self) -> int:
        """The last axis, where each column has a value of its own."""
        return len(self._columns)

    def result_shape(self, shape: Shape) -> Shape:
        """The same; values are as many as columns, or one for all."""
        if self._columns not in ((), last_axes(shape, self.depth)):
            raise ValueError(f"{self._columns[0]} values to fill in, and an array of shape {shape}")
        return shape

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Pass texts on, among which marks of missing ones may be."""
        if self.numbers is not None:
            return super().read_cells(columns)
        marks = self.missing.marks
        return ({} if marks is None else dict.fromkeys(columns, marks.cells)), columns

    def apply(self, x: Array) -> Array:
        """Numbers in float64, or cells as they are."""
        missing = self.missing.where(x)
        if self.numbers is None:
            return np.where(missing, np.array(self.texts, dtype=object), np.asarray(x, dtype=object))
        return np.where(missing, self.numbers.array, numbers_of(x, missing))

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Return the span itself: what is there stays."""
        return None if self.numbers is None else (low, high)

    def words(self) -> str:
        """Describe the step by what counts as missing."""
        return f"fill in what is missing{self.missing.words()}"

    def weights(self) -> str:
        """Describe the values: statistics of the data that the model was fitted on."""
        return f"values for missing cells of {max(1, *self._columns, 0)} columns"


@dataclass(frozen=True)
class IsMissing(OwnerStep):
    """1 where a cell is missing, 0 elsewhere.

    never  columns in which a missing cell is refused
    """

    missing: Missing = EMPTY
    never: tuple[int, ...] = field(default=(), metadata={"unstored_default": True})

    NAME: ClassVar[str] = "is_missing"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if any(place < 0 for place in self.never):
            raise ValueError("a column below 0")

    @property
    def depth(self) -> int:
        """The last axis, where columns differ."""
        return 1 if self.never else 0

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of the argument."""
        if self.never and max(self.never) >= last_axes(shape, 1)[0]:
            raise ValueError(f"column {max(self.never)} of an array of shape {shape}")
        return shape

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Return that it reads nothing of cells but whether they are empty, and marks."""
        return ({} if self.missing.marks is None else dict.fromkeys(columns, self.missing.marks.cells)), ()

    def apply(self, x: Array) -> Array:
        """Zeros and ones, in float64."""
        missing = self.missing.where(x)
        if self.never:
            refused: Mask = missing & np.isin(np.arange(missing.shape[-1]), self.never)
            require(~refused, "is missing, in a column where nothing was when the model was fitted")
        return missing.astype(np.float64)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return 0 and 1."""
        return between(shape, 0.0, 1.0)

    def words(self) -> str:
        """Describe the step by what counts as missing."""
        return f"1 where it is missing{self.missing.words()}"


@dataclass(frozen=True)
class Bins(OwnerStep):
    """The number of edges that a number has reached; from which bin it is, counted from 0.

    edges     (edges,), rising
    is_above  an edge is not reached by what equals it
    """

    edges: OwnerArray
    is_above: bool = False

    NAME: ClassVar[str] = "bins"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if len(self.edges.shape) != 1 or (np.diff(self.edges.array) < 0).any():
            raise ValueError(f"edges of shape {self.edges.shape}, or edges that fall")

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def apply(self, x: Array) -> Array:
        """Whole numbers, in float64."""
        side: Literal["left", "right"] = "left" if self.is_above else "right"
        return np.asarray(np.searchsorted(self.edges.array, as_numbers(x), side=side), dtype=np.float64)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return the first and the last bin."""
        return between(shape, 0.0, self.edges.shape[0])

    def words(self) -> str:
        """Describe the step by the number of bins."""
        return f"number of the bin, of {self.edges.shape[0] + 1}"

    def weights(self) -> str:
        """Describe the edges."""
        return "edges of bins"


@dataclass(frozen=True)
class Numbers(OwnerStep):
    """Cells as they are, which have to be numbers.

    blank  cells without a value become NaN, for a later step to fill in; else they are refused
    """

    blank: bool = False

    NAME: ClassVar[str] = "numbers"
    AFTER: ClassVar[bool] = False

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def apply(self, x: Array) -> Array:
        """Convert to float64."""
        missing = EMPTY.where(x)
        if not self.blank:
            require(~missing, "is missing, and no step of the model fills it in")
        return numbers_of(x, missing)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Return the span itself."""
        return low, high

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return the same."""
        return span

    def words(self) -> str:
        """Describe the step."""
        return "as numbers"
