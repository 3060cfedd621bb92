"""Scores of which some count for nothing: filled with -inf before a softmax, or with a number far below all others.

Such a number would be in the range of every polynomial, and -inf is none. So what fills it in makes `MaskedScores`,
which can be moved, and added to, until a softmax leaves those places out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from latticework.errors import UnsupportedError
from latticework.frontend.recording.tracing import Traced

LEFT_OUT = -1e4
"""Numbers from here down count for nothing: of scores that differ by less than 9,000 the share that remains, below
e^-1000, is 0 in float64; and softmaxes of a span of 9,000 cannot be compiled."""

_MOVES: frozenset[Callable[..., Any]] = frozenset(
    (np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.broadcast_to, np.flip)
)
_ABOUT: frozenset[Callable[..., Any]] = frozenset((np.shape, np.ndim, np.size))
_ARITHMETIC = (np.add, np.subtract, np.multiply, np.divide)


class MaskedScores:
    """Secret scores, and where they count.

    scores  a traced array
    kept    public booleans of their shape
    """

    __slots__ = ("kept", "scores")

    def __init__(self, scores: Any, kept: Any) -> None:
        shape = np.broadcast_shapes(scores.shape, np.shape(kept))
        self.scores = scores if scores.shape == shape else np.broadcast_to(scores, shape)
        self.kept = np.broadcast_to(np.asarray(kept, dtype=bool), shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.kept.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.kept.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.kept.size

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Sums, and products by public numbers above 0: -inf stays what it is."""
        if ufunc not in _ARITHMETIC or method != "__call__" or options:
            _refuse(f"np.{ufunc.__name__}")
        first, second = inputs
        if ufunc is np.add and not isinstance(first, MaskedScores):
            first, second = second, first
        if ufunc in (np.add, np.subtract) and isinstance(first, MaskedScores) and not isinstance(second, MaskedScores):
            if ufunc is np.add and not isinstance(second, Traced):
                return with_addend(first, np.asarray(second))
            return MaskedScores(ufunc(first.scores, second), self.kept)
        if ufunc is np.multiply and not isinstance(first, MaskedScores):
            first, second = second, first
        if ufunc in (np.multiply, np.divide) and isinstance(first, MaskedScores) and _is_above_0(second):
            return MaskedScores(ufunc(first.scores, second), self.kept)
        return _refuse(f"np.{ufunc.__name__}")

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        if function in _ABOUT:
            return function(self.kept, *args[1:], **options)
        if function in _MOVES and args and args[0] is self:
            moved = (function(part, *args[1:], **options) for part in (self.scores, self.kept))
            return MaskedScores(*moved)
        return _refuse(f"np.{function.__name__}")

    def __getitem__(self, index: Any) -> MaskedScores:
        return MaskedScores(self.scores[index], self.kept[index])

    def __array__(self, *_args: Any, **_options: Any) -> NoReturn:
        _refuse("an operator")

    def __add__(self, other: Any) -> Any:
        return np.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return np.add(self, other)

    def __sub__(self, other: Any) -> Any:
        return np.subtract(self, other)

    def __mul__(self, other: Any) -> Any:
        return np.multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return np.multiply(self, other)

    def __truediv__(self, other: Any) -> Any:
        return np.divide(self, other)


def _refuse(what: str) -> NoReturn:
    raise UnsupportedError(
        f"{what}: -inf, or numbers of {LEFT_OUT:g} or less, were filled in or added here, which only a softmax takes; "
        "fill in 0 instead, or multiply the result of the softmax by the mask"
    )


def _is_above_0(factor: Any) -> bool:
    if isinstance(factor, (Traced, MaskedScores)):
        return False
    numbers = np.asarray(factor)
    return bool(np.all((numbers > 0) & np.isfinite(numbers)))


def without(scores: Any, mask: Any) -> Any:
    """Scores, secret or not, that count for nothing where a public mask is true."""
    gone = np.asarray(mask, dtype=bool)
    if not gone.any() and np.broadcast_shapes(gone.shape, scores.shape) == scores.shape:
        return scores
    if isinstance(scores, MaskedScores):
        return MaskedScores(scores.scores, scores.kept & ~gone)
    return MaskedScores(scores, ~gone) if isinstance(scores, Traced) else np.where(gone, -np.inf, scores)


def with_addend(scores: Any, addend: Any) -> Any:
    """Scores, secret or not, plus public numbers, which leave out what they are far below 0 for."""
    numbers = np.asarray(addend)
    gone = numbers <= LEFT_OUT
    rest = np.where(gone, 0.0, numbers) if gone.any() else numbers
    if isinstance(scores, MaskedScores):
        summed: Any = MaskedScores(np.add(scores.scores, rest), scores.kept) if rest.any() else scores
    else:
        summed = np.add(scores, rest) if rest.any() else scores
    return without(summed, gone)
