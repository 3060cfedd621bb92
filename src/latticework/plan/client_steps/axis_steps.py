"""Steps on whole axes: other shapes and orders, some of the columns, sums and extremes, norms."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step import (
    Array,
    Bounded,
    CellKind,
    OwnerStep,
    Shape,
    Span,
    as_numbers,
    between,
    last_axes,
)
from latticework.plan.client_steps.step_arrays import MAX_AXES, check_shape


def check_dim(dim: int) -> None:
    """ValueError unless an axis is counted from the end."""
    if not -MAX_AXES <= dim < 0:
        raise ValueError(f"axis {dim} is not counted from the end")


class AxisStep(OwnerStep):
    """A step along one axis, `dim`, which is counted from the end."""

    dim: int

    def __post_init__(self) -> None:
        check_dim(self.dim)

    @property
    def depth(self) -> int:
        """Number of axes from `dim` to the last."""
        return -self.dim


@dataclass(frozen=True)
class Reshape(OwnerStep):
    """The last axes, which have the shape `old`, as ones of the shape `new`; elements in C order."""

    old: tuple[int, ...]
    new: tuple[int, ...]

    NAME: ClassVar[str] = "reshape"

    def __post_init__(self) -> None:
        check_shape(self.old)
        check_shape(self.new)
        if prod(self.old) != prod(self.new):
            raise ValueError(f"shape {self.old} as {self.new}")

    @property
    def depth(self) -> int:
        """The old axes."""
        return len(self.old)

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with the new axes."""
        if last_axes(shape, self.depth) != self.old:
            raise ValueError(f"an array of shape {shape} does not end in axes {self.old}")
        return (*shape[: len(shape) - self.depth], *self.new)

    def decided(self, shape: Shape, choices: int) -> int:
        """Pass decisions on, as elements only move."""
        return choices

    def apply(self, x: Array) -> Array:
        """Reshape numbers or labels."""
        return np.asarray(x).reshape(self.result_shape(np.shape(x)))

    def bounded(self, x: Bounded) -> Bounded:
        """Reshape a value and its bounds."""
        return x.moved(self.apply)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Move the ends of the span back."""
        back = Reshape(self.new, self.old)
        return back.apply(low), back.apply(high)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Reshape the ends."""
        return None if span is None else (self.apply(span[0]), self.apply(span[1]))

    def words(self) -> str:
        """Describe the step by both shapes."""
        return f"reshape {self.old} to {self.new}"


@dataclass(frozen=True)
class Transpose(OwnerStep):
    """The last axes in another order: which of them, counted from the first of these, comes where."""

    order: tuple[int, ...]

    NAME: ClassVar[str] = "transpose"

    def __post_init__(self) -> None:
        if len(self.order) > MAX_AXES or sorted(self.order) != list(range(len(self.order))):
            raise ValueError(f"{self.order[: MAX_AXES + 1]} is no order of axes")

    @property
    def depth(self) -> int:
        """The axes that change places."""
        return len(self.order)

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with its axes in their new order."""
        axes = last_axes(shape, self.depth)
        return (*shape[: len(shape) - self.depth], *(axes[i] for i in self.order))

    def decided(self, shape: Shape, choices: int) -> int:
        """Pass decisions on, as elements only move."""
        return choices

    def apply(self, x: Array) -> Array:
        """Transpose numbers or labels."""
        before = np.ndim(x) - self.depth
        return np.transpose(x, (*range(before), *(before + i for i in self.order)))

    def bounded(self, x: Bounded) -> Bounded:
        """Transpose a value and its bounds."""
        return x.moved(self.apply)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Move the ends of the span back."""
        back = Transpose(tuple(self.order.index(i) for i in range(self.depth)))
        return back.apply(low), back.apply(high)

    def words(self) -> str:
        """Describe the step by the order of axes."""
        return f"axes in the order {self.order}"


@dataclass(frozen=True)
class Columns(AxisStep):
    """Some elements of an axis, in this order.

    dim    the axis, counted from the end;  size  its length
    places of the elements
    """

    dim: int
    size: int
    places: tuple[int, ...]

    NAME: ClassVar[str] = "columns"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape((self.size, max(len(self.places), 1)))
        if not self.places or not all(0 <= place < self.size for place in self.places):
            raise ValueError(f"places outside an axis of {self.size}, or none")

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with another length of the axis."""
        if last_axes(shape, self.depth)[0] != self.size:
            raise ValueError(f"axis {self.dim} of an array of shape {shape} has not {self.size} elements")
        at = len(shape) + self.dim
        return (*shape[:at], len(self.places), *shape[at + 1 :])

    def decided(self, shape: Shape, choices: int) -> int:
        """Pass decisions on, as elements only move."""
        return choices

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Pass cells on."""
        taken = self.columns_of(columns)
        return ({}, taken) if taken is not None else super().read_cells(columns)

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the columns of the last axis that are taken."""
        return tuple(columns[place] for place in self.places) if self.dim == -1 else None

    def apply(self, x: Array) -> Array:
        """Take columns of numbers or labels."""
        return np.take(x, list(self.places), axis=self.dim)

    def bounded(self, x: Bounded) -> Bounded:
        """Take columns of a value and its bounds."""
        return x.moved(self.apply)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Move the ends of the span back; columns that are left out may hold anything."""
        at = np.ndim(low) + self.dim
        shape = (*np.shape(low)[:at], self.size, *np.shape(low)[at + 1 :])
        least, most = np.moveaxis(np.full(shape, -np.inf), at, 0), np.moveaxis(np.full(shape, np.inf), at, 0)
        for place, below, above in zip(self.places, np.moveaxis(low, at, 0), np.moveaxis(high, at, 0), strict=True):
            least[place], most[place] = np.maximum(least[place], below), np.minimum(most[place], above)
        return np.moveaxis(least, 0, at), np.moveaxis(most, 0, at)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Take columns of the ends."""
        return None if span is None else (self.apply(span[0]), self.apply(span[1]))

    def words(self) -> str:
        """Describe the step by the number of columns that are taken."""
        return f"{len(self.places)} of {self.size} columns"


def _logsumexp(x: Array, axis: int, *, keepdims: bool) -> Array:
    top = x.max(axis, keepdims=True)
    log_sum = top + np.log(np.exp(x - top).sum(axis, keepdims=True))
    return np.asarray(log_sum if keepdims else log_sum.squeeze(axis))


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "logsumexp": _logsumexp,
}  # fmt: skip


@dataclass(frozen=True)
class Reduce(AxisStep):
    """The sum, mean, min, max or logarithm of the sum of exponentials along an axis.

    dim  the axis, counted from the end;  keep  whether it stays, with one element
    """

    kind: str
    dim: int
    keep: bool = False

    NAME: ClassVar[str] = "reduce"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in _REDUCTIONS:
            raise ValueError(f"no reduction is called {self.kind!r}; there are {', '.join(_REDUCTIONS)}")

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape without the axis, or with one element there."""
        last_axes(shape, self.depth)
        at = len(shape) + self.dim
        return (*shape[:at], *((1,) if self.keep else ()), *shape[at + 1 :])

    def _reduce(self, x: Array) -> Array:
        result: Array = _REDUCTIONS[self.kind](x, axis=self.dim, keepdims=self.keep)
        return result

    def apply(self, x: Array) -> Array:
        """Reduce along the axis, in float64."""
        return self._reduce(as_numbers(x))

    def bounded(self, x: Bounded) -> Bounded:
        """Reduce bounds: none of these functions falls as its arguments grow."""
        return x.each(self._reduce)

    def words(self) -> str:
        """Describe the step by its axis."""
        return f"{self.kind} along axis {self.dim}"


@dataclass(frozen=True)
class Normalise(AxisStep):
    """Divided by the norm along an axis; where that is 0, as it is.

    norm  "l1", "l2", "max", or "share": "l1", but equal shares where that is 0;  dim  the axis, counted from the end
    """

    norm: str
    dim: int = -1

    NAME: ClassVar[str] = "normalise"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in ("l1", "l2", "max", "share"):
            raise ValueError(f"norm {self.norm!r} is none of l1, l2, max and share")

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of the argument."""
        last_axes(shape, self.depth)
        return shape

    def apply(self, x: Array) -> Array:
        """Divide by the norm, in float64."""
        return self._divide(as_numbers(x))

    def _divide(self, x: Array) -> Array:
        order = {"l1": 1, "share": 1, "l2": 2, "max": np.inf}[self.norm]
        norms = np.linalg.norm(x, order, axis=self.dim, keepdims=True)
        if self.norm == "share":
            return np.where(norms == 0, 1 / x.shape[self.dim], x / np.where(norms == 0, 1.0, norms))
        return np.asarray(x / np.where(norms == 0, 1.0, norms))

    def bounded(self, x: Bounded) -> Bounded:
        """Each quotient grows with its own element, and falls or grows with the size of each other, by its own sign."""
        low, high = x.span
        if self.norm == "max":
            unknown = np.full(np.shape(x.value), np.inf)
            return Bounded(self._divide(x.value), -unknown, unknown)
        size = np.square if self.norm == "l2" else np.abs
        length = np.sqrt if self.norm == "l2" else np.asarray
        ends = size(low), size(high)
        least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(*ends))
        most = np.maximum(*ends)
        others = [total.sum(self.dim, keepdims=True) - total for total in (least, most)]

        def quotient(own: Array, rest: Array) -> Array:
            norm = length(size(own) + np.maximum(rest, 0.0))
            return np.asarray(own / np.where(norm == 0, 1.0, norm))

        below = np.where(low >= 0, quotient(low, others[1]), quotient(low, others[0]))
        above = np.where(high >= 0, quotient(high, others[0]), quotient(high, others[1]))
        return Bounded(self._divide(x.value), below, above)

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return 1, and 0 or -1: no element is more than the norm."""
        if span is None or self.norm == "share":
            return None
        return between(shape, 0.0 if (span[0] >= 0).all() else -1.0, 1.0)

    def words(self) -> str:
        """Describe the step by its norm."""
        return f"divide by the {self.norm} norm along axis {self.dim}"
