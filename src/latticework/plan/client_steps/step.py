"""The base of all steps of the owner's: data with a meaning in NumPy, checked, and bounds carried through it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step_arrays import check_shape

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Span = tuple[Array, Array]
CellKind = tuple[str, frozenset[str]]  # "text" or "number", and texts that are known there
TEXT, NUMBER = "text", "number"
MAX_INTEGER_BITS = 1000  # float64 holds no larger ones


class UnfitValueError(ValueError):
    """Values that a step is not defined for; they are private, and no message shows one.

    unfit  which elements of the array that the step was given
    by     the step within it that does not take them, in words; "": itself
    """

    def __init__(self, unfit: Array, why: str, by: str = "") -> None:
        self.unfit, self.by = unfit, by
        super().__init__(why)

    @property
    def index(self) -> tuple[int, ...]:
        """Index of the first unfit value."""
        return tuple(int(i) for i in np.argwhere(self.unfit)[0])


@dataclass(frozen=True)
class Bounded:
    """The value that a postprocessing step takes or returns, with bounds.

    value      numbers, or once it is decided, labels
    low, high  between which the exact numbers lie; None of what is decided
    certain    of each decision, whether any numbers within the bounds lead to it; None before one is taken
    names      of the last axis, once numbers are an entry of a dictionary each
    """

    value: Array
    low: Array | None
    high: Array | None
    certain: Array | None = None
    names: tuple[Any, ...] = ()

    @classmethod
    def within(cls, value: Array, error: float | Array) -> Bounded:
        """Numbers that are each off by at most so much, or by as much as an array says of each."""
        return cls(value, value - error, value + error)

    @property
    def span(self) -> Span:
        """The bounds of numbers."""
        if self.low is None or self.high is None:
            raise ValueError("labels are given to a step that takes numbers")
        return self.low, self.high

    def each(self, move: Callable[[Array], Array]) -> Bounded:
        """The same move, which never falls as its arguments grow, or only moves elements, of values and bounds."""
        low, high = self.span
        return Bounded(move(self.value), move(low), move(high))

    def moved(self, move: Callable[[Array], Array]) -> Bounded:
        """Move elements, decisions too, by a function that does nothing else."""
        if self.certain is None:
            return self.each(move)
        return Bounded(move(self.value), None, None, move(self.certain))


class OwnerStep:
    """One step before encryption or after decryption; its subclasses are all that there are.

    Steps work on the last `depth` axes of an array, whatever axes stand before them: of several rows or runs.

    NAME           in files, and in reports
    BEFORE, AFTER  whether it may stand before encryption, and after decryption
    DECIDES        whether it makes something else of numbers than numbers
    ENDS           whether no other step may come after it
    OF_CATEGORIES  whether it takes values of one input alone, by what they may be
    """

    _KINDS: ClassVar[dict[str, type[OwnerStep]]] = {}
    NAME: ClassVar[str] = ""
    BEFORE: ClassVar[bool] = True
    AFTER: ClassVar[bool] = True
    DECIDES: ClassVar[bool] = False
    ENDS: ClassVar[bool] = False
    OF_CATEGORIES: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if cls.NAME:  # else it is a base of several
            OwnerStep._KINDS[cls.NAME] = cls

    @staticmethod
    def kinds() -> Mapping[str, type[OwnerStep]]:
        """Return all kinds of steps, by name."""
        for module in (
            "axis_steps",
            "beside",
            "combine_steps",
            "element_steps",
            "lookups",
            "postprocess_steps",
            "row_queries",
            "set_queries",
            "table_steps",
            "text_steps",
        ):  # not before somebody asks
            import_module(f"latticework.plan.client_steps.{module}")
        return OwnerStep._KINDS

    @property
    def depth(self) -> int:
        """Number of last axes that the step works on; 0: element by element."""
        return 0

    def reaches(self, shape: Shape, axis: int) -> bool:
        """Whether it works along an axis, counted from the front, of an array of this shape."""
        return axis >= len(shape) - self.depth

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of the result; ValueError for an argument's shape that the step does not take."""
        return shape

    def decided(self, shape: Shape, choices: int) -> int:
        """Return of how many choices the results are the numbers; 0: they are numbers as any, -1: the choices have
        names.

        choices  the same of what it is given, an array of this shape; ValueError where it does not take that
        """
        if choices:
            raise ValueError(f"step {self.NAME} on what is decided")
        return 0

    def columns_of(self, columns: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the columns that the results along the last axis are of, given those of the arguments; None: not of
        one column each."""
        return None

    def read_cells(self, columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
        """Return what cells of these columns it reads, and of which columns it passes cells on as they are.

        columns  -1 where there are results of steps before;  returns  a column each, -1 for results; none: all are
        """
        return dict.fromkeys(columns, (NUMBER, frozenset())), ()

    def apply(self, x: Array) -> Array:
        """Its meaning; UnfitValueError for a value that it does not take."""
        raise NotImplementedError(self.NAME)

    def bounded(self, x: Bounded) -> Bounded:
        """Apply the step to a value with bounds."""
        raise NotImplementedError(self.NAME)

    def preimage(self, low: Array, high: Array) -> Span | None:
        """Return the span of arguments with results from `low` to `high`; None where that is not one span."""
        return None

    def image(self, shape: Shape, span: Span | None) -> Span | None:
        """Return between which ends results of any accepted argument of this shape lie, as far as steps tell.

        span  the same of the argument; None: nothing is known, as of cells;  returns  ends may be infinite
        """
        return None

    def words(self) -> str:
        """Describe the step, for reports."""
        raise NotImplementedError(self.NAME)

    def weights(self) -> str:
        """Describe the model's weights that the step holds, for reports; "" where it holds none."""
        return ""


def chain_shape(shape: Shape, steps: Sequence[OwnerStep]) -> Shape:
    """Return the shape after these steps; ValueError where one does not take it."""
    for step in steps:
        shape = step.result_shape(shape)
        check_shape(shape)
    return shape


def chain_image(shape: Shape, steps: Sequence[OwnerStep], span: Span | None = None) -> Span | None:
    """Return between which ends results of all steps lie, as `image`."""
    for step in steps:
        span = step.image(shape, span)
        shape = step.result_shape(shape)
    return span


def between(shape: Shape, low: float, high: float) -> Span:
    """Return the same ends for all elements."""
    return np.full(shape, low), np.full(shape, high)


def chain_cells(steps: Sequence[OwnerStep], columns: tuple[int, ...]) -> tuple[dict[int, CellKind], tuple[int, ...]]:
    """Return what steps read, and pass on, as `read_cells`; ValueError for a column read as texts and as numbers."""
    found: dict[int, CellKind] = {}
    for step in steps:
        if not columns:
            break
        read, columns = step.read_cells(columns)
        merge_cells(found, read)
    return found, columns


def merge_cells(found: dict[int, CellKind], more: Mapping[int, CellKind]) -> None:
    """Add what others read; ValueError as `chain_cells`."""
    for column, (kind, known) in more.items():
        if column < 0:
            continue
        before = found.get(column, (kind, frozenset[str]()))
        if before[0] != kind:
            raise ValueError(f"column {column} is read as texts and as numbers")
        found[column] = kind, before[1] | known


def chain_reaches(shape: Shape, steps: Sequence[OwnerStep], axis: int) -> bool:
    """Whether any of the steps works along an axis, counted from the front."""
    for step in steps:
        if step.reaches(shape, axis):
            return True
        shape = step.result_shape(shape)
    return False


def concatenated_shape(shapes: Sequence[Shape], dim: int) -> Shape:
    """The shape of arrays joined along axis `dim`, counted from the end; ValueError where they do not fit."""
    first, at = shapes[0], len(shapes[0]) + dim
    rest = first[:at] + first[at + 1 :]
    if len(shapes) == 1:
        return first
    if at < 0 or any(len(shape) != len(first) or shape[:at] + shape[at + 1 :] != rest for shape in shapes):
        raise ValueError(f"arrays of shapes {', '.join(map(str, shapes[:4]))} joined along axis {dim}")
    joined = (*first[:at], sum(shape[at] for shape in shapes), *first[at + 1 :])
    check_shape(joined)
    return joined


def as_numbers(x: Array) -> npt.NDArray[np.float64]:
    """Convert to float64; UnfitValueError for what is no finite number."""
    array = np.asarray(x)
    if array.dtype.kind not in "biuf":
        numeric = np.array(
            [isinstance(n, int | float | np.integer | np.floating | np.bool_) for n in array.reshape(-1)]
        )
        require(numeric.reshape(array.shape), "is no number")
        large = np.array([isinstance(n, int) and n.bit_length() > MAX_INTEGER_BITS for n in array.reshape(-1)])
        require(~large.reshape(array.shape), f"is a whole number of more than {MAX_INTEGER_BITS} bits")
    numbers = array.astype(np.float64)
    require(np.isfinite(numbers), "is no finite number")
    return numbers


def require(fits: Array, why: str) -> None:
    """UnfitValueError that says where values do not fit, and why."""
    if not fits.all():
        raise UnfitValueError(~np.asarray(fits), why)


def last_axes(shape: Shape, count: int) -> Shape:
    """The last axes; ValueError where there are fewer."""
    if len(shape) < count:
        raise ValueError(f"an array of shape {shape} has fewer than {count} axes")
    return shape[len(shape) - count :]
