"""Elements of inputs that a program does not take: where they are and what is accepted there, never what they are.

Errors of clients land in logs, and their data are private: a message names the row, the column and the accepted range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, UserError
from latticework.errors.escaping import plain_text
from latticework.errors.rounded_numbers import between
from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.run_steps import describe_place
from latticework.plan.client_steps.stages import Given
from latticework.plan.schema.schema import ClientSpec

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
OUTSIDE = "is outside"
REMEDY = "client.check tells all such places, and goes on with clipped or kept rows"


@dataclass(frozen=True, slots=True)
class Finding:
    """One element of the inputs, or one condition on them, that is not met.

    input      what users call the input
    row        number of the row, or of the run of a stack; None: of the only run, or of what all share
    column     number of the element along the last axis; None where it is of no one element;  name  of that column
    low, high  between which numbers it has to lie; None where a range is not the matter
    why        what is wrong in words, without any value
    can_clip   whether it may be brought to the end of the range that it is beyond
    """

    input: str
    row: int | None
    column: int | None
    name: str
    low: float | None
    high: float | None
    why: str
    can_clip: bool
    place: str

    def __str__(self) -> str:
        return plain_text(f"{self.place} {self.why}")


@dataclass(frozen=True)
class Misfits:
    """Elements of one input that are not taken, for one reason.

    input      what it is called, by users once `in_users_terms` has seen it
    where      which elements, in the shape of what is given; `by_rows`: which rows or runs, of no known elements
    shape      of the input for one run;  has_rows  whether the first axis of what is given is of rows or runs
    why        "is outside" a range, or else what is wrong, without any value;  then  what follows the range
    remedy     what to do
    low, high  accepted range of each element, or of all; None where a range is not the matter
    can_clip   whether the ends of the range may stand for what is beyond them
    columns    names of the columns
    at         where users declare the input, if that is known;  error  what is raised for them
    """

    input: str
    where: Mask
    shape: tuple[int, ...]
    has_rows: bool
    why: str
    remedy: str
    then: str = ""
    low: Array | float | None = None
    high: Array | float | None = None
    can_clip: bool = True
    columns: tuple[str, ...] = ()
    at: str | None = None
    error: type[UserError] = RangeError
    by_rows: bool = False

    @property
    def count(self) -> int:
        """The number of misfitting elements."""
        return int(np.count_nonzero(self.where))

    def rows(self) -> Array | None:
        """Numbers of the rows or runs that they are in; None: they are of all."""
        if not self.has_rows:
            return None
        return np.flatnonzero(self.where.reshape(len(self.where), -1).any(axis=1))

    def of_columns(self) -> Array:
        """Numbers of the columns that they are in."""
        if self.by_rows or not self.shape or self._are_single:
            return np.array([], dtype=np.int64)
        return np.flatnonzero(self.where.reshape(-1, self.where.shape[-1]).any(axis=0))

    @property
    def _is_stack(self) -> bool:
        return self.has_rows and not self.by_rows and self.where.ndim == len(self.shape) + 1

    @property
    def _are_single(self) -> bool:
        """Whether rows or runs are of one number each."""
        return self.has_rows and not self.by_rows and self.where.ndim == 1

    def findings(self) -> Iterator[Finding]:
        """Each of them."""
        given = Given(self.input, self.shape, self.columns if len(self.columns) == (self.shape or (0,))[-1] else ())
        for found in np.argwhere(self.where):
            index = tuple(int(i) for i in found)
            row = index[0] if self.has_rows else None
            if self.by_rows or self._are_single or not self.shape:
                unit = "run" if self._is_stack else "row"
                column, place = None, f"input {self.input}" + (f", {unit} {row}" if self.has_rows else "")
            else:
                column, place = index[-1], describe_place(given, index, self.where.ndim)
            low, high = (self._end(end, index) for end in (self.low, self.high))
            why = self.why
            if low is not None and high is not None:
                least, most = between(low, high)
                why = f"{self.why} {least} to {most}{self.then}"
            name = given.columns[column] if given.columns and column is not None else ""
            yield Finding(self.input, row, column, name, low, high, why, self.can_clip, place)

    def _end(self, end: Array | float | None, index: tuple[int, ...]) -> float | None:
        return None if end is None else float(np.broadcast_to(end, self.where.shape)[index])


def refusal(spec: ClientSpec, found: Sequence[Misfits]) -> UserError:
    """The error for inputs with misfits: the first one in words, and how many there are."""
    first = next(finding for misfits in found for finding in misfits.findings())
    source = next(misfits for misfits in found if misfits.count)
    others = sum(misfits.count for misfits in found) - 1
    more = "" if not others else f" (and {others} more {'value is' if others == 1 else 'values are'} not taken)"
    declared = f" ({source.input} is declared in {source.at})" if source.at else ""
    noun = "circuit" if spec.arguments else "program"
    return source.error(f"{noun} {spec.name}, {first}{more}: {source.remedy}{declared}")


def replace_misfits(array: Array, found: Sequence[Misfits], fill: float) -> Array:
    """An input with misfits brought to the ends of their ranges, or replaced by a number that is taken."""
    for misfits in found:
        if misfits.can_clip and misfits.low is not None and misfits.high is not None:
            array = np.where(misfits.where, np.clip(array, misfits.low, misfits.high), array)
        else:
            array = np.where(misfits.where, fill, array)
    return array


def not_finite(where: Mask, name: str, shape: tuple[int, ...], has_rows: bool) -> Misfits:
    """Elements that are no numbers."""
    return Misfits(
        name, where, shape, has_rows, "is NaN or infinite", "replace it first, or leave it out", can_clip=False
    )


def not_whole(where: Mask, name: str, shape: tuple[int, ...], has_rows: bool, remedy: str) -> Misfits:
    """Elements that are fractions, where integers are taken."""
    return Misfits(name, where, shape, has_rows, "is no integer", remedy, can_clip=False, error=DtypeError)


def in_users_terms(spec: ClientSpec, misfits: Misfits) -> Misfits:
    """Add the names of columns, and the place where the input is declared."""
    names = misfits.columns or spec.columns_of(misfits.input)
    return replace(misfits, columns=names, at=dict(spec.declared).get(misfits.input))
