"""Goals of the choice of degrees, on rows held back from calibration: equal decisions or results within a tolerance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.lazy_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
Outputs = Sequence[FloatArray]
Compare = Callable[[Outputs, Outputs], npt.NDArray[np.bool_]]  # the program's own, and others: one answer a row
Results = Callable[[Outputs], FloatArray]  # the numbers that an owner gets

LEAST_DISTANCE = 2.0**-6  # to another decision, of the largest number, below which rows count as undecided


class Goal(ABC):
    """A goal for rows that were held back.

    asked  the number that was given;  share  of rows that have to reach the goal
    """

    asked: float

    @property
    @abstractmethod
    def share(self) -> float:
        """Share of the rows that have to reach the goal."""

    @property
    @abstractmethod
    def option(self) -> str:
        """The option as it was given."""

    @abstractmethod
    def rows_reaching(self, exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
        """Tell for every row of one run whether the other outputs reach the goal."""

    @abstractmethod
    def off(self, exact: Outputs, others: Outputs) -> FloatArray:
        """Return the distance of other outputs, relative to what may be lost: 1 is as far as is allowed."""

    @abstractmethod
    def describe(self, equal: int, rows: int) -> str:
        """Say in words how many rows reach the goal."""


@dataclass(frozen=True)
class SameDecisions(Goal):
    """`agreement=`: a share of rows keep the program's own decisions."""

    asked: float
    compare: Compare

    @property
    def share(self) -> float:
        """Share of the rows whose decisions have to stay."""
        return self.asked

    @property
    def option(self) -> str:
        """The option as it was given."""
        return f"agreement={self.asked:g}"

    def rows_reaching(self, exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
        """Whether decisions are the same."""
        return self.compare(exact, others)

    def off(self, exact: Outputs, others: Outputs) -> FloatArray:
        """Error of the first output, divided by the distance of each row from another decision."""
        return np.asarray(np.abs(others[0] - exact[0]) / _distance(exact[0]))

    def describe(self, equal: int, rows: int) -> str:
        """Say in words how many rows reach the goal."""
        share = equal / rows
        return (
            f"of {rows} rows held back from calibration {equal} ({share:.2%}) have the decisions of the program itself"
        )


@dataclass(frozen=True)
class NearResults(Goal):
    """`tolerance=`: all rows keep every number of the first output, as its owner gets it, so near."""

    asked: float
    results: Results

    @property
    def share(self) -> float:
        """All."""
        return 1.0

    @property
    def option(self) -> str:
        """The option as it was given."""
        return f"tolerance={self.asked:g}"

    def rows_reaching(self, exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
        """Whether all numbers are near: one answer a run."""
        return np.asarray([bool(np.all(self.off(exact, others) <= 1.0))])

    def off(self, exact: Outputs, others: Outputs) -> FloatArray:
        """Error of the first output, divided by the tolerance."""
        return np.asarray(np.abs(self.results(others) - self.results(exact)) / self.asked)

    def describe(self, equal: int, rows: int) -> str:
        """Say in words how many rows reach the goal."""
        return f"of {rows} rows held back from calibration the results of {equal} are within it of the program's own"


def same_largest(exact: Outputs, others: Outputs) -> npt.NDArray[np.bool_]:
    """Whether the largest number along the last axis of the first output is at the same place, or at one as large.

    The last axis is the last one that has several elements.
    raises  RangeError where there is none
    """
    wanted, actual = (_open_ended(outputs[0]) for outputs in (exact, others))
    if wanted.size == 1:
        raise RangeError(
            "compile: agreement= compares decisions, and the first output is a single number a row, which may be none; "
            "ask for tolerance= or precision_bits=, or import a classifier's predict"
        )
    chosen = np.take_along_axis(wanted, np.argmax(actual, axis=-1, keepdims=True), axis=-1)
    return np.asarray(np.ravel(chosen == np.max(wanted, axis=-1, keepdims=True)))


def first_output(outputs: Outputs) -> FloatArray:
    """Its numbers, where the owner takes them as they are."""
    return outputs[0]


def _open_ended(results: FloatArray) -> FloatArray:
    """Strip trailing axes of one element, and keep at least one axis."""
    numbers = results
    while numbers.ndim > 1 and numbers.shape[-1] == 1:
        numbers = numbers[..., 0]
    return numbers.reshape(1) if numbers.ndim == 0 else numbers


def _distance(results: FloatArray) -> FloatArray:
    """Distance of each row, along the last axis, to another place of the largest number."""
    rows = _open_ended(results)
    size = float(np.max(np.abs(rows), initial=0.0)) or 1.0
    if rows.shape[-1] == 1:
        return np.full(results.shape, size)
    ordered = np.sort(rows, axis=-1)
    distance = np.maximum(ordered[..., -1:] - ordered[..., -2:-1], LEAST_DISTANCE * size)
    return np.asarray(np.broadcast_to(distance, rows.shape).reshape(results.shape))
