"""Several chains of steps on the same columns before encryption, their results beside each other."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step import (
    Array,
    CellKind,
    OwnerStep,
    Shape,
    Span,
    UnfitValueError,
    between,
    chain_cells,
    chain_image,
    chain_reaches,
    chain_shape,
    concatenated_shape,
    last_axes,
    merge_cells,
)

MAX_BESIDE = 1 << 16  # chains, with those of chains within them
MAX_NESTING = 12


@dataclass(frozen=True)
class Beside(OwnerStep):
    """Chains of steps on the last axis, each on all of it; their results joined along it.

    width  of the last axis
    """

    width: int
    branches: tuple[tuple[OwnerStep, ...], ...]

    NAME: ClassVar[str] = "beside"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.width < 1 or not self.branches or self._count() > MAX_BESIDE or self._nesting() > MAX_NESTING:
            raise ValueError(f"{len(self.branches)} chains on {self.width} columns, or ones within each other")
        if not all(step.BEFORE for steps in self.branches for step in steps):
            raise ValueError("a chain with a step that comes after decryption")

    def _inner(self) -> list[Beside]:
        return [step for steps in self.branches for step in steps if isinstance(step, Beside)]

    def _nesting(self) -> int:
        return 1 + max((each._nesting() for each in self._inner()), default=0)

    def _count(self) -> int:
        return len(self.branches) + sum(each._count() for each in self._inner())

    @property
    def depth(self) -> int:
        """The last axis."""
        return 1

    def reaches(self, shape: Shape, axis: int) -> bool:
        """Whether any chain works along it, or they are joined along it."""
        return axis >= len(shape) - 1 or any(chain_reaches(shape, steps, axis) for steps in self.branches)

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shapes after all chains, joined."""
        if last_axes(shape, 1) != (self.width,):
            raise ValueError(f"an array of shape {shape} has not {self.width} columns")
        return concatenated_shape([chain_shape(shape, steps) for steps in self.branches], -1)

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the columns of all chains, where each result is of one."""
        joined: list[int] = []
        for steps in self.branches:
            of_chain: tuple[int, ...] | None = columns
            for step in steps:
                of_chain = None if of_chain is None else step.columns_of(of_chain)
            if of_chain is None:
                return None
            joined += of_chain
        return tuple(joined)

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Return what all chains read and pass on."""
        found: dict[int, CellKind] = {}
        passed: list[int] = []
        for steps in self.branches:
            read, after = chain_cells(steps, columns)
            merge_cells(found, read)
            passed += after or (-1,) * chain_shape((1, self.width), steps)[-1]
        return found, tuple(passed) if max(passed) >= 0 else ()

    def apply(self, x: Array) -> Array:
        """Numbers, or cells as they are."""
        return np.concatenate([self._run(steps, np.asarray(x)) for steps in self.branches], axis=-1)

    def _run(self, steps: tuple[OwnerStep, ...], x: Array) -> Array:
        """The result of a chain; UnfitValueError in terms of the columns of x."""
        columns, is_told = tuple(range(self.width)), True  # those that the values came of, and whether one by one
        array = x
        for step in steps:
            try:
                array = step.apply(array)
            except UnfitValueError as error:
                unfit = np.zeros(x.shape, bool)
                if is_told and error.unfit.shape == (*x.shape[:-1], len(columns)):
                    for number, column in enumerate(columns):
                        unfit[..., column] |= error.unfit[..., number]
                else:
                    rows = np.asarray(error.unfit.reshape(*x.shape[:-1], -1).any(axis=-1))
                    unfit[..., list(columns)] = rows[..., None]
                raise UnfitValueError(unfit, str(error), error.by or step.words()) from None
            after = step.columns_of(columns) if is_told else None
            columns, is_told = (columns, False) if after is None else (after, True)
        return array

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Return the span that all chains with a span of their own take."""
        shape = (*np.shape(low)[:-1], self.width)
        least, most = np.full(shape, -np.inf), np.full(shape, np.inf)
        at = 0
        for steps in self.branches:
            width = chain_shape(shape, steps)[-1]
            span: Span | None = low[..., at : at + width], high[..., at : at + width]
            at += width
            for step in reversed(steps):
                span = None if span is None else step.preimage(*span)
            if span is not None:
                least, most = np.maximum(least, span[0]), np.minimum(most, span[1])
        return least, most

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return those of all chains, joined; without end where a chain tells none."""
        spans = [chain_image(shape, steps, span) for steps in self.branches]
        if all(each is None for each in spans):
            return None
        shapes = [chain_shape(shape, steps) for steps in self.branches]
        known = [each or between(own, -np.inf, np.inf) for each, own in zip(spans, shapes, strict=True)]
        return np.concatenate([low for low, _ in known], -1), np.concatenate([high for _, high in known], -1)

    def words(self) -> str:
        """Describe each chain, in short."""
        told = [", ".join(step.words() for step in steps) or "as it is" for steps in self.branches[:8]]
        more = f"; and {len(self.branches) - 8} more" if len(self.branches) > 8 else ""
        return f"side by side: {'; '.join(told)}{more}"

    def weights(self) -> str:
        """Describe the weights of all chains."""
        return "; ".join(dict.fromkeys(told for steps in self.branches for step in steps if (told := step.weights())))
