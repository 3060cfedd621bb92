"""Steps after decryption alone: probabilities, classes, names. Decisions say whether errors could change them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.axis_steps import AxisStep
from latticework.plan.client_steps.step import Array, Bounded, OwnerStep, Shape, last_axes
from latticework.plan.client_steps.step_arrays import Labels


@dataclass(frozen=True)
class Softmax(AxisStep):
    """exp(x) / sum(exp(x)) along an axis, or with `log` the logarithm of it."""

    dim: int = -1
    log: bool = False

    NAME: ClassVar[str] = "softmax"
    BEFORE: ClassVar[bool] = False

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of the argument."""
        last_axes(shape, self.depth)
        return shape

    def bounded(self, x: Bounded) -> Bounded:
        """Each grows with its own argument and falls with every other: both ends are reached within the bounds."""
        low, high = x.span
        with np.errstate(over="ignore", invalid="ignore"):
            result = _log_softmax(x.value, x.value, self.dim)
            below, above = _log_softmax(low, high, self.dim), _log_softmax(high, low, self.dim)
        if self.log:
            return Bounded(result, below, above)
        return Bounded(np.exp(result), np.exp(below), np.exp(above))

    def words(self) -> str:
        """Describe the step by its axis."""
        return f"{'logarithm of the softmax' if self.log else 'softmax'} along axis {self.dim}"


def _log_softmax(own: Array, others: Array, dim: int) -> Array:
    """own - log(exp(own) + the sum of exp(others) but its own), stable for any numbers."""
    top = np.maximum(own.max(dim, keepdims=True), others.max(dim, keepdims=True))
    own, powers = own - top, np.exp(others - top)
    rest = powers.sum(dim, keepdims=True) - powers
    return np.asarray(own - np.log(np.exp(own) + np.maximum(rest, 0.0)))


@dataclass(frozen=True)
class Extreme(AxisStep):
    """The place of the largest number along an axis, or of the smallest; the first of several.

    labels  what the places are called, where they are
    keep    whether the axis stays, with one element
    """

    labels: Labels | None = None
    dim: int = -1
    keep: bool = False
    smallest: bool = False

    NAME: ClassVar[str] = "extreme"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape without the axis, or with one element there."""
        count = last_axes(shape, self.depth)[0]
        if self.labels is not None and len(self.labels) != count:
            raise ValueError(f"{len(self.labels)} labels of an axis of {count}")
        at = len(shape) + self.dim
        return (*shape[:at], *((1,) if self.keep else ()), *shape[at + 1 :])

    def decided(self, shape: Shape, choices: int) -> int:
        """Return the length of the axis: a decision is one place along it."""
        super().decided(shape, choices)
        return last_axes(shape, self.depth)[0] if self.labels is None else -1

    def bounded(self, x: Bounded) -> Bounded:
        """Certain where the one that is chosen is beyond every other, whatever the errors."""
        low, high = x.span
        value, (near, far) = (-x.value, (-high, low)) if self.smallest else (x.value, (low, -high))
        far = -far  # the most that the others can be
        place = np.expand_dims(np.argmax(value, self.dim), self.dim)
        least = np.take_along_axis(near, place, self.dim)
        others = far.copy()
        np.put_along_axis(others, place, -np.inf, self.dim)
        certain = least > others.max(self.dim, keepdims=True)
        if not self.keep:
            place, certain = place.squeeze(self.dim), certain.squeeze(self.dim)
        return Bounded(place if self.labels is None else self.labels.array[place], None, None, certain)

    def words(self) -> str:
        """Describe the step by its axis, and whether it gives labels."""
        which = f"place of the {'smallest' if self.smallest else 'largest'} along axis {self.dim}"
        return which if self.labels is None else f"label of the {which.partition(' of the ')[2]}"

    def weights(self) -> str:
        """Describe the labels."""
        return "" if self.labels is None else f"names of classes ({self.labels.words()})"


@dataclass(frozen=True)
class Threshold(OwnerStep):
    """The second label where a number is above the threshold, else the first; without labels 1 and 0.

    inclusive  whether the threshold itself is above
    """

    at: float
    labels: Labels | None = None
    inclusive: bool = False

    NAME: ClassVar[str] = "threshold"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.labels is not None and len(self.labels) != 2:
            raise ValueError(f"{len(self.labels)} labels on two sides of a threshold")

    def decided(self, shape: Shape, choices: int) -> int:
        """Return that decisions are between two choices."""
        super().decided(shape, choices)
        return 2 if self.labels is None else -1

    def bounded(self, x: Bounded) -> Bounded:
        """Certain where both bounds are on one side."""
        low, high = x.span

        def above(numbers: Array) -> Array:
            return np.asarray(numbers >= self.at if self.inclusive else numbers > self.at)

        side = above(x.value).astype(np.int64)
        decision = side if self.labels is None else self.labels.array[side]
        return Bounded(decision, None, None, above(low) == above(high))

    def words(self) -> str:
        """Describe the step by its threshold."""
        return f"which side of {self.at:g}"

    def weights(self) -> str:
        """Describe the threshold, and the labels."""
        labels = "" if self.labels is None else f", names of classes ({self.labels.words()})"
        return f"a threshold{labels}"


@dataclass(frozen=True)
class Largest(OwnerStep):
    """The places of the largest numbers along the last axis, from the largest on.

    count  how many;  labels  what the places are called, where they are
    """

    count: int
    labels: Labels | None = None

    NAME: ClassVar[str] = "largest"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    @property
    def depth(self) -> int:
        """The last axis."""
        return 1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with `count` elements along the last axis."""
        (size,) = last_axes(shape, 1)
        if not 1 <= self.count <= size or (self.labels is not None and len(self.labels) != size):
            raise ValueError(f"the largest {self.count} of {size}, or labels of another number")
        return (*shape[:-1], self.count)

    def decided(self, shape: Shape, choices: int) -> int:
        """Return the length of the axis: each decision is one place along it."""
        super().decided(shape, choices)
        return last_axes(shape, 1)[0] if self.labels is None else -1

    def bounded(self, x: Bounded) -> Bounded:
        """Each is certain if it is above all that follow and below all before, whatever the errors."""
        low, high = x.span
        order = np.argsort(-x.value, axis=-1, kind="stable")
        least = np.minimum.accumulate(np.take_along_axis(low, order, -1), axis=-1)  # of those up to here
        most = np.maximum.accumulate(np.take_along_axis(high, order, -1)[..., ::-1], axis=-1)[..., ::-1]  # from here on
        ends = np.full((*order.shape[:-1], 1), True)
        apart = np.concatenate([ends, least[..., :-1] > most[..., 1:], ends], axis=-1)  # between neighbours
        certain = (apart[..., :-1] & apart[..., 1:])[..., : self.count]
        place = order[..., : self.count]
        return Bounded(place if self.labels is None else self.labels.array[place], None, None, certain)

    def words(self) -> str:
        """Describe the step by its count."""
        return f"places of the {self.count} largest, in order"

    def weights(self) -> str:
        """Describe the labels."""
        return "" if self.labels is None else f"names of classes ({self.labels.words()})"


@dataclass(frozen=True)
class NamesOf(OwnerStep):
    """The name of a decision, which is the number of a class."""

    labels: Labels

    NAME: ClassVar[str] = "names_of"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    def decided(self, shape: Shape, choices: int) -> int:
        """They have names then, of which there have to be enough."""
        if not choices:
            raise ValueError("names of numbers that are no decisions")
        if choices > len(self.labels):
            raise ValueError(f"{len(self.labels)} names of {choices} classes")
        if choices < 0:
            super().decided(shape, choices)
        return -1

    def bounded(self, x: Bounded) -> Bounded:
        """Name decisions, which stay as certain as they were."""
        if x.certain is None or x.value.dtype.kind not in "iu":
            raise ValueError("names are of the numbers of decisions")
        if ((x.value < 0) | (x.value >= len(self.labels))).any():
            raise ValueError(f"a decision that is none of {len(self.labels)} names")
        return Bounded(self.labels.array[x.value], None, None, x.certain)

    def words(self) -> str:
        """Describe the step by the number of names."""
        return f"name, of {len(self.labels)}"

    def weights(self) -> str:
        """Describe the names."""
        return f"names of classes ({self.labels.words()})"


@dataclass(frozen=True)
class ByName(OwnerStep):
    """Numbers along the last axis as a dictionary, by these names."""

    names: Labels

    NAME: ClassVar[str] = "by_name"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True
    ENDS: ClassVar[bool] = True

    @property
    def depth(self) -> int:
        """The last axis."""
        return 1

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of the argument, of numbers with a name each."""
        if last_axes(shape, 1) != (len(self.names),):
            raise ValueError(f"{len(self.names)} names of an array of shape {shape}")
        return shape

    def bounded(self, x: Bounded) -> Bounded:
        """Return the same numbers, with their names."""
        names: tuple[Any, ...] = tuple(self.names.array.tolist())
        return Bounded(x.value, *x.span, names=names)

    def words(self) -> str:
        """Describe the step by the number of names."""
        return f"a dictionary of {len(self.names)}"

    def weights(self) -> str:
        """Describe the names."""
        return f"names of classes ({self.names.words()})"
