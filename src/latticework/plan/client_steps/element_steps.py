"""Steps on single elements: scales and shifts, functions, limits."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from latticework.functions.function_record import FunctionRecord, domain_words
from latticework.functions.table import BY_NAME, RECORDS
from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.cells import EMPTY, numbers_of
from latticework.plan.client_steps.step import Array, Bounded, OwnerStep, Shape, Span, as_numbers, last_axes, require
from latticework.plan.client_steps.step_arrays import OwnerArray


@dataclass(frozen=True)
class Affine(OwnerStep):
    """x * scale + offset, both of the shape of the last axes, or of one element.

    blank  what is missing stays so, before encryption, for a later step to fill in
    """

    scale: OwnerArray
    offset: OwnerArray
    blank: bool = field(default=False, metadata={"unstored_default": True})

    NAME: ClassVar[str] = "affine"

    def __post_init__(self) -> None:
        if self.scale.shape != self.offset.shape:
            raise ValueError(f"a scale of shape {self.scale.shape} with an offset of shape {self.offset.shape}")

    @property
    def depth(self) -> int:
        """The axes that its parameters have."""
        return len(self.scale.shape)

    def result_shape(self, shape: Shape) -> Shape:
        """The same; parameters have it, or 1, along the last axes."""
        wanted = last_axes(shape, self.depth)
        if any(own not in (1, n) for own, n in zip(self.scale.shape, wanted, strict=True)):
            raise ValueError(f"a scale of shape {self.scale.shape} on an array of shape {shape}")
        return shape

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def apply(self, x: Array) -> Array:
        """Scale and shift, in float64."""
        numbers = numbers_of(x, EMPTY.where(x)) if self.blank else as_numbers(x)
        return numbers * self.scale.array + self.offset.array

    def bounded(self, x: Bounded) -> Bounded:
        """Exact."""
        scale, offset = self.scale.array, self.offset.array
        ends = [end * scale + offset for end in x.span]
        return Bounded(x.value * scale + offset, np.minimum(*ends), np.maximum(*ends))

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Return the span of arguments with results from `low` to `high`; None where a scale is 0."""
        scale, offset = self.scale.array, self.offset.array
        if not scale.all():
            return None
        ends = [(end - offset) / scale for end in (low, high)]
        return np.minimum(*ends), np.maximum(*ends)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Scale and shift the ends."""
        if span is None:
            return None
        with np.errstate(invalid="ignore"):
            ends = [np.nan_to_num(end * self.scale.array, nan=0.0, posinf=_INF, neginf=-_INF) for end in span]
        return np.minimum(*ends) + self.offset.array, np.maximum(*ends) + self.offset.array

    def words(self) -> str:
        """Describe the step by the number of columns."""
        count = self.scale.array.size
        return "scale and shift" + (f" each of {count} columns" if count > 1 else " by one number each")

    def weights(self) -> str:
        """They follow from data or from weights."""
        count = self.scale.array.size
        return f"scales and shifts of {count} columns" if count > 1 else "a scale and a shift"


_INF = np.inf


@dataclass(frozen=True)
class Elementary(OwnerStep):
    """A function of every element: one of `functions/table.py` through which bounds can be carried."""

    function: str

    NAME: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        record = BY_NAME.get(self.function)
        if record is None or not record.owner_computes:
            known = ", ".join(record.name for record in RECORDS if record.owner_computes)
            raise ValueError(f"no function is called {self.function!r}; there are {known}")

    @property
    def record(self) -> FunctionRecord:
        """The function's record in the table."""
        return BY_NAME[self.function]

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def apply(self, x: Array) -> Array:
        """Apply the function, in float64."""
        record, numbers = self.record, as_numbers(x)
        words = domain_words(record.domains, record.closed).removeprefix("of ")
        require(record.contains(numbers), f"is not {words}, which its {self.function} takes")
        with np.errstate(over="ignore"):
            result = self._values(numbers)
        require(np.isfinite(result), f"is too large for its {self.function}")
        return result

    def _values(self, x: Array) -> Array:
        return np.asarray((self.record.in_clear or self.record.meaning)(x))

    def bounded(self, x: Bounded) -> Bounded:
        """Bound the function by its values at both ends and at `least_at`. Exact arguments never lie outside the
        domain."""
        ((first, last),) = self.record.domains
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            arguments = [np.minimum(np.maximum(part, first), last) for part in (x.value, *x.span)]
            value, *ends = map(self._values, arguments)
        low, high = np.minimum(*ends), np.maximum(*ends)
        if (least_at := self.record.least_at) is not None:
            around = (arguments[1] <= least_at) & (arguments[2] >= least_at)
            low = np.where(around, self._values(np.asarray(least_at)), low)
        return Bounded(value, low, high)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Return the span of arguments by the inverse, of ends within the values that the function takes."""
        record = self.record
        if record.inverse is None:
            return None
        (domain,) = record.domains
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            least, most = sorted(float(self._values(np.asarray(end))) for end in domain)
            first, last = (record.inverse(np.minimum(np.maximum(end, least), most)) for end in (low, high))
        first = np.where(low > most, record.monotone * _INF, first)
        last = np.where(high < least, -record.monotone * _INF, last)
        return (first, last) if record.monotone > 0 else (last, first)

    def words(self) -> str:
        """Describe the step by its function's name."""
        return self.function


@dataclass(frozen=True)
class Clip(OwnerStep):
    """Elements below low become low, those above high become high; of the shape of the last axes, or of one element."""

    low: OwnerArray
    high: OwnerArray

    NAME: ClassVar[str] = "clip"

    def __post_init__(self) -> None:
        if self.low.shape != self.high.shape or (self.low.array > self.high.array).any():
            raise ValueError(f"limits of shapes {self.low.shape} and {self.high.shape}, or a low one above a high one")

    @property
    def depth(self) -> int:
        """The axes that its limits have."""
        return len(self.low.shape)

    def result_shape(self, shape: Shape) -> Shape:
        """The same; limits have it, or 1, along the last axes."""
        wanted = last_axes(shape, self.depth)
        if any(own not in (1, n) for own, n in zip(self.low.shape, wanted, strict=True)):
            raise ValueError(f"limits of shape {self.low.shape} on an array of shape {shape}")
        return shape

    def _clip(self, x: Array) -> Array:
        return np.clip(x, self.low.array, self.high.array)

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same columns."""
        return columns

    def apply(self, x: Array) -> Array:
        """Clip, in float64."""
        return self._clip(as_numbers(x))

    def bounded(self, x: Bounded) -> Bounded:
        """Clip a value and its bounds."""
        return x.each(self._clip)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Return a span without ends where the limits are accepted."""
        least, most = np.broadcast_arrays(low, self.low.array)[0], np.broadcast_arrays(high, self.high.array)[0]
        return np.where(self.low.array >= low, -_INF, least), np.where(self.high.array <= high, _INF, most)

    def words(self) -> str:
        """Describe the step by the number of limits."""
        count = self.low.array.size
        return "clip" + (f" each of {count} columns" if count > 1 else "")

    def weights(self) -> str:
        """Describe the limits."""
        return f"limits of {self.low.array.size} columns" if self.low.array.size > 1 else ""
