"""Steps on single elements: scales and shifts, functions, limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from latticework.owner.arrays import OwnerArray
from latticework.owner.step import Array, Bounded, OwnerStep, Shape, Span, as_numbers, last_axes, require


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), of any numbers."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


@dataclass(frozen=True)
class Affine(OwnerStep):
    """x * scale + offset, both of the shape of the last axes, or of one element."""

    scale: OwnerArray
    offset: OwnerArray

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
        """The same."""
        return columns

    def apply(self, x: Array) -> Array:
        """In float64."""
        return as_numbers(x) * self.scale.array + self.offset.array

    def bounded(self, x: Bounded) -> Bounded:
        """Exact."""
        scale, offset = self.scale.array, self.offset.array
        ends = [end * scale + offset for end in x.span]
        return Bounded(x.value * scale + offset, np.minimum(*ends), np.maximum(*ends))

    def preimage(self, low: Array, high: Array) -> Span | None:
        """None where a scale is 0."""
        scale, offset = self.scale.array, self.offset.array
        if not scale.all():
            return None
        ends = [(end - offset) / scale for end in (low, high)]
        return np.minimum(*ends), np.maximum(*ends)

    def words(self) -> str:
        """With how many there are."""
        count = self.scale.array.size
        return "scale and shift" + (f" each of {count} columns" if count > 1 else " by one number each")

    def weights(self) -> str:
        """They follow from data or from weights."""
        count = self.scale.array.size
        return f"scales and shifts of {count} columns" if count > 1 else "a scale and a shift"


_INF = np.inf
# name -> (meaning, inverse or None, smallest argument, whether that itself is taken)
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None, float, bool]] = {
    "exp": (np.exp, np.log, -_INF, True),
    "expm1": (np.expm1, np.log1p, -_INF, True),
    "log": (np.log, np.exp, 0.0, False),
    "log1p": (np.log1p, np.expm1, -1.0, False),
    "sqrt": (np.sqrt, np.square, 0.0, True),
    "sigmoid": (sigmoid, None, -_INF, True),
    "tanh": (np.tanh, None, -_INF, True),
    "absolute": (np.abs, None, -_INF, True),
}


@dataclass(frozen=True)
class Elementary(OwnerStep):
    """exp, expm1, log, log1p, sqrt, sigmoid, tanh or absolute of every element."""

    function: str

    NAME: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        if self.function not in _FUNCTIONS:
            raise ValueError(f"no function is called {self.function!r}; there are {', '.join(_FUNCTIONS)}")

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """The same."""
        return columns

    def apply(self, x: Array) -> Array:
        """In float64."""
        meaning, _, least, included = _FUNCTIONS[self.function]
        given = as_numbers(x)
        fits = given >= least if included else given > least
        require(fits, f"is not {'at least' if included else 'above'} {least:g}, which its {self.function} takes")
        with np.errstate(over="ignore"):
            found: Array = meaning(given)
        require(np.isfinite(found), f"is too large for its {self.function}")
        return found

    def bounded(self, x: Bounded) -> Bounded:
        """Of bounds, for all but absolute never fall. Exact arguments are none below where one is defined."""
        meaning, _, least, _ = _FUNCTIONS[self.function]
        low, high = x.span
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.function == "absolute":
                around = (low <= 0) & (high >= 0)
                ends = np.abs(low), np.abs(high)
                return Bounded(np.abs(x.value), np.where(around, 0.0, np.minimum(*ends)), np.maximum(*ends))
            return Bounded(*(meaning(np.maximum(part, least)) for part in (x.value, low, high)))

    def preimage(self, low: Array, high: Array) -> Span | None:
        """By the inverse."""
        inverse = _FUNCTIONS[self.function][1]
        if inverse is None:
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.function == "sqrt":
                return np.where(low > 0, np.square(low), 0.0), np.where(high >= 0, np.square(high), -_INF)
            ends = inverse(low), inverse(high)
        return np.where(np.isnan(ends[0]), -_INF, ends[0]), np.where(np.isnan(ends[1]), -_INF, ends[1])

    def words(self) -> str:
        """Its name."""
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

    def _clipped(self, x: Array) -> Array:
        return np.clip(x, self.low.array, self.high.array)

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """The same."""
        return columns

    def apply(self, x: Array) -> Array:
        """In float64."""
        return self._clipped(as_numbers(x))

    def bounded(self, x: Bounded) -> Bounded:
        """Of bounds."""
        return x.each(self._clipped)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Anything where the limits are accepted."""
        least, most = np.broadcast_arrays(low, self.low.array)[0], np.broadcast_arrays(high, self.high.array)[0]
        return np.where(self.low.array >= low, -_INF, least), np.where(self.high.array <= high, _INF, most)

    def words(self) -> str:
        """With how many limits there are."""
        count = self.low.array.size
        return "clip" + (f" each of {count} columns" if count > 1 else "")

    def weights(self) -> str:
        """Its limits."""
        return f"limits of {self.low.array.size} columns" if self.low.array.size > 1 else ""
