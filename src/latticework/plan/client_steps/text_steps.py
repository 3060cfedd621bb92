"""Steps on texts: counts of the terms of a vocabulary, or of terms by their hashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step import (
    TEXT,
    Array,
    CellKind,
    OwnerStep,
    Shape,
    Span,
    UnfitValueError,
    as_numbers,
    between,
    last_axes,
    require,
)
from latticework.plan.client_steps.step_arrays import Labels
from latticework.plan.client_steps.text_analysis import TextAnalysis, hash_of

MAX_COUNTS = 1 << 27  # numbers of all rows at once, in which most are 0
MAX_WIDTH = 1 << 20

Counts = npt.NDArray[np.float64]


class TextStep(OwnerStep):
    """A step that makes columns of a text, the only column that it takes."""

    AFTER: ClassVar[bool] = False

    @property
    def width(self) -> int:
        """The number of columns that it makes."""
        raise NotImplementedError(self.NAME)

    @property
    def depth(self) -> int:
        """The last axis."""
        return 1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with the columns in the place of the text."""
        if last_axes(shape, 1) != (1,):
            raise ValueError(f"texts of shape {shape}; it takes one column")
        return (*shape[:-1], self.width)

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Return that it reads texts."""
        return dict.fromkeys(columns, (TEXT, frozenset())), ()

    def _texts(self, x: Array) -> tuple[Iterator[str], Counts]:
        """All texts, and counts (texts, columns) of zeros."""
        cells = np.asarray(x)
        is_text = np.fromiter((isinstance(cell, str) for cell in cells.flat), bool, cells.size).reshape(cells.shape)
        require(is_text, "is no text")
        if cells.size * self.width > MAX_COUNTS:
            most = MAX_COUNTS // self.width
            unfit = (np.arange(cells.size) >= most).reshape(cells.shape)
            raise UnfitValueError(unfit, f"is one text too many: {self.width} columns of at most {most} texts at once")
        return (str(cell) for cell in cells.flat), np.zeros((cells.size, self.width))


@dataclass(frozen=True)
class Terms(TextStep):
    """Counts of the terms of a vocabulary in a text; terms that are not in it do not count.

    vocabulary  in the order of columns
    is_binary   1 for terms that occur, however often
    """

    vocabulary: Labels
    analysis: TextAnalysis
    is_binary: bool = False

    NAME: ClassVar[str] = "terms"

    def __post_init__(self) -> None:
        if not self.vocabulary.texts:
            raise ValueError("a vocabulary of numbers")

    @property
    def width(self) -> int:
        """The number of terms."""
        return len(self.vocabulary)

    def apply(self, x: Array) -> Array:
        """Count, in float64."""
        texts, counts = self._texts(x)
        place = {term: number for number, term in enumerate(self.vocabulary.texts)}
        for row, text in zip(counts, texts, strict=True):
            for term in self.analysis.terms(text):
                column = place.get(term)
                if column is not None:
                    row[column] += 1.0
        return (np.minimum(counts, 1.0) if self.is_binary else counts).reshape(*np.shape(x)[:-1], self.width)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return 0, and 1 where it does not count."""
        return between(self.result_shape(shape), 0.0, 1.0 if self.is_binary else np.inf)

    def words(self) -> str:
        """Describe the step by the size of its vocabulary."""
        return f"counts of {self.width} terms ({self.analysis.words()})"

    def weights(self) -> str:
        """Describe the vocabulary."""
        return f"a vocabulary ({self.vocabulary.words()})"


@dataclass(frozen=True)
class HashedTerms(TextStep):
    """Counts of the terms of a text, each in the column that its hash tells.

    columns    how many there are
    is_signed  terms of half of all hashes count -1
    is_binary  1 in columns of terms that occur, however often
    """

    columns: int
    analysis: TextAnalysis
    is_signed: bool = True
    is_binary: bool = False

    NAME: ClassVar[str] = "hashed_terms"

    def __post_init__(self) -> None:
        if not 1 <= self.columns <= MAX_WIDTH:
            raise ValueError(f"{self.columns} columns of hashed terms")

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.columns

    def apply(self, x: Array) -> Array:
        """Count, in float64."""
        texts, counts = self._texts(x)
        known: dict[str, tuple[int, float]] = {}
        for row, text in zip(counts, texts, strict=True):
            for term in self.analysis.terms(text):
                if term not in known:
                    known[term] = self._column(term)
                column, sign = known[term]
                row[column] = 1.0 if self.is_binary else row[column] + sign
        return counts.reshape(*np.shape(x)[:-1], self.width)

    def _column(self, term: str) -> tuple[int, float]:
        """The column of a term, and what it counts."""
        number = hash_of(term)
        return abs(number) % self.columns, -1.0 if self.is_signed and number < 0 else 1.0

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return 0 and 1 where it does not count, else no end."""
        low = 0.0 if self.is_binary or not self.is_signed else -np.inf
        return between(self.result_shape(shape), low, 1.0 if self.is_binary else np.inf)

    def words(self) -> str:
        """Describe the step by the number of its columns."""
        return f"counts of terms by {self.columns} hashes ({self.analysis.words()})"


@dataclass(frozen=True)
class LogCounts(OwnerStep):
    """1 + log(count), and 0 where the count is 0."""

    NAME: ClassVar[str] = "log_counts"
    AFTER: ClassVar[bool] = False

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def apply(self, x: Array) -> Array:
        """Compute in float64."""
        counts = as_numbers(x)
        require(counts >= 0, "is below 0, and no count")
        return np.where(counts > 0, np.log(np.where(counts > 0, counts, 1.0)) + 1.0, 0.0)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return 0, and 1 + log of the upper end."""
        return None if span is None else (np.zeros(shape), 1.0 + np.log(np.maximum(span[1], 1.0)))

    def words(self) -> str:
        """Describe the step."""
        return "1 + log of counts"
