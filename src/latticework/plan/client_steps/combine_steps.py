"""Steps that bring numbers of a row together: linear maps, votes, several chains of steps side by side."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import ClassVar

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.axis_steps import check_dim
from latticework.plan.client_steps.step import (
    Array,
    Bounded,
    OwnerStep,
    Shape,
    as_numbers,
    chain_reaches,
    chain_shape,
    concatenated_shape,
    last_axes,
)
from latticework.plan.client_steps.step_arrays import MAX_LABELS, OwnerArray

MAX_BRANCHES = 1 << 12
MAX_NESTING = 4


@dataclass(frozen=True)
class Linear(OwnerStep):
    """x @ weight + offset along the last axis.

    weight  (in, out);  offset  (out,)
    """

    weight: OwnerArray
    offset: OwnerArray

    NAME: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        if len(self.weight.shape) != 2 or self.offset.shape != self.weight.shape[1:]:
            raise ValueError(f"a matrix of shape {self.weight.shape} with an offset of shape {self.offset.shape}")

    @property
    def depth(self) -> int:
        """The last axis."""
        return 1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with as many numbers along the last axis as the matrix has columns."""
        if last_axes(shape, 1) != self.weight.shape[:1]:
            raise ValueError(f"an array of shape {shape} times a matrix of shape {self.weight.shape}")
        return (*shape[:-1], self.weight.shape[1])

    def apply(self, x: Array) -> Array:
        """Multiply with the matrix and add the offset, in float64."""
        return np.asarray(as_numbers(x) @ self.weight.array + self.offset.array)

    def bounded(self, x: Bounded) -> Bounded:
        """Exact: each weight takes the end that its sign says."""
        low, high = x.span
        rise, fall = np.maximum(self.weight.array, 0.0), np.minimum(self.weight.array, 0.0)
        offset = self.offset.array
        value = x.value @ self.weight.array + offset
        return Bounded(value, low @ rise + high @ fall + offset, high @ rise + low @ fall + offset)

    def words(self) -> str:
        """Describe the step by the size of its matrix."""
        return f"product with a matrix of {' x '.join(map(str, self.weight.shape))}"

    def weights(self) -> str:
        """Describe all of the step, which is weights."""
        return f"a matrix of {' x '.join(map(str, self.weight.shape))} numbers"


@dataclass(frozen=True)
class Winner(OwnerStep):
    """1 where the largest number along the last axis is (the first of several), else 0: a vote."""

    NAME: ClassVar[str] = "winner"
    BEFORE: ClassVar[bool] = False

    @property
    def depth(self) -> int:
        """The last axis."""
        return 1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of the argument."""
        last_axes(shape, 1)
        return shape

    def bounded(self, x: Bounded) -> Bounded:
        """Bound the vote: at least 1 where nothing else can be larger, at most 0 where something is larger for
        certain."""
        low, high = x.span
        count = low.shape[-1]
        value = np.argmax(x.value, -1)[..., None] == np.arange(count)
        return Bounded(value * 1.0, (low > _best_other(high)) * 1.0, (high >= _best_other(low)) * 1.0)

    def words(self) -> str:
        """Describe the step."""
        return "a vote for the largest"


def _best_other(x: Array) -> Array:
    """The largest of all others along the last axis; -infinity where there are none."""
    if x.shape[-1] == 1:
        return np.full(x.shape, -np.inf)
    first = np.argmax(x, -1)[..., None]
    second = np.partition(x, -2, axis=-1)[..., -2:-1]
    is_first = np.arange(x.shape[-1]) == first
    return np.where(is_first, second, np.take_along_axis(x, first, -1))


@dataclass(frozen=True)
class Votes(OwnerStep):
    """The number of comparisons that each class wins; x holds those of (0, 1), (0, 2), ..., above 0: the first one's.

    graded  with less than a third of a vote by how sure they are, as scikit-learn decides comparisons in pairs; the
            first class then wins a comparison of 0, else the second
    """

    classes: int
    graded: bool = False

    NAME: ClassVar[str] = "votes"
    BEFORE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 2 <= self.classes <= MAX_LABELS:
            raise ValueError(f"comparisons of {self.classes} classes")

    @property
    def depth(self) -> int:
        """The last axis."""
        return 1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with a number for each class."""
        if last_axes(shape, 1) != (comb(self.classes, 2),):
            raise ValueError(f"an array of shape {shape} for comparisons of {self.classes} classes")
        return (*shape[:-1], self.classes)

    def _count(self, first: Array, second: Array) -> Array:
        """Sums over the comparisons that a class is the first and the second of."""
        total = np.zeros((*first.shape[:-1], self.classes))
        for number, (i, j) in enumerate(combinations(range(self.classes), 2)):
            total[..., i] += first[..., number]
            total[..., j] += second[..., number]
        return total

    def _wins(self, x: Array) -> tuple[Array, Array]:
        first = x >= 0 if self.graded else x > 0
        return first * 1.0, ~first * 1.0

    def bounded(self, x: Bounded) -> Bounded:
        """A vote is between 0 and 1 where errors could change it; being sure never takes one away."""
        (low, high), value = x.span, self._count(*self._wins(x.value))
        below = self._count(self._wins(low)[0], self._wins(high)[1])
        above = self._count(self._wins(high)[0], self._wins(low)[1])
        if not self.graded:
            return Bounded(value, below, above)
        return Bounded(
            value + _grade(self._count(x.value, -x.value)),
            below + _grade(self._count(low, -high)),
            above + _grade(self._count(high, -low)),
        )

    def words(self) -> str:
        """Describe the step by the number of classes."""
        return f"votes of {comb(self.classes, 2)} comparisons of {self.classes} classes"


def _grade(sure: Array) -> Array:
    return np.asarray(sure / (3 * (np.abs(sure) + 1)))


@dataclass(frozen=True)
class Branches(OwnerStep):
    """Several chains of steps on the same numbers; their results joined along an axis counted from the end."""

    branches: tuple[tuple[OwnerStep, ...], ...]
    dim: int = -1

    NAME: ClassVar[str] = "branches"
    BEFORE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_dim(self.dim)
        if not 1 <= len(self.branches) <= MAX_BRANCHES or self._nesting() > MAX_NESTING:
            raise ValueError(f"{len(self.branches)} branches, or ones within each other")
        if not all(step.AFTER and not step.DECIDES for steps in self.branches for step in steps):
            raise ValueError("a branch with a step that decides, or that comes before encryption")

    def _nesting(self) -> int:
        inner = [s._nesting() for steps in self.branches for s in steps if isinstance(s, Branches)]
        return 1 + max(inner, default=0)

    def reaches(self, shape: Shape, axis: int) -> bool:
        """Whether any branch does, or they are joined along it."""
        branch_shape = chain_shape(shape, self.branches[0])
        return len(branch_shape) + self.dim == axis or any(chain_reaches(shape, steps, axis) for steps in self.branches)

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shapes of the branches, joined."""
        return concatenated_shape([chain_shape(shape, steps) for steps in self.branches], self.dim)

    def bounded(self, x: Bounded) -> Bounded:
        """Bound each branch by itself."""
        results = []
        for steps in self.branches:
            bounds = x
            for step in steps:
                bounds = step.bounded(bounds)
            results.append((bounds.value, *bounds.span))
        value, low, high = (np.concatenate(parts, self.dim) for parts in zip(*results, strict=True))
        return Bounded(value, low, high)

    def words(self) -> str:
        """Each, in short."""
        branches = [", ".join(step.words() for step in steps) or "as it is" for steps in self.branches[:3]]
        more = f"; and {len(self.branches) - 3} more" if len(self.branches) > 3 else ""
        return f"side by side: {'; '.join(branches)}{more}"

    def weights(self) -> str:
        """Describe the weights of all branches."""
        return ", ".join(dict.fromkeys(w for steps in self.branches for step in steps if (w := step.weights())))
