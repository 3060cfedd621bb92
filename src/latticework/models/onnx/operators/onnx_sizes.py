"""Sizes of results before they are computed, for operators that make more than they are given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.models.onnx.size_limits import check_size, format_shape
from latticework.models.semantics.operand_checks import is_secret

Meaning = Callable[..., Any]


def bound_size(shape_of: Callable[..., Sequence[int]]) -> Callable[[Meaning], Meaning]:
    """A meaning whose result, of the shape that `shape_of` tells of the same arguments, is checked beforehand."""

    def around(meaning: Meaning) -> Meaning:
        @functools.wraps(meaning)
        def check_and_compute(*args: Any, **options: Any) -> Any:
            check_size(shape_of(*args, **options), secret=is_secret(*args, *_inside(args)))
            return meaning(*args, **options)

        return check_and_compute

    return around


def broadcast(*operands: Any, **_options: Any) -> tuple[int, ...]:
    """The shape of what is computed element by element. ShapeError where operands do not fit."""
    shapes = [np.shape(operand) for operand in operands if operand is not None]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(f"shapes {', '.join(map(format_shape, shapes))} do not fit each other") from None


def product(a: Any, b: Any, *_others: Any, **_options: Any) -> tuple[int, ...]:
    """The shape of a product of two matrices, or of stacks of them."""
    left, right = np.shape(a), np.shape(b)
    if not left or not right:
        raise ShapeError(f"a product of matrices of shapes {left} and {right}; numbers are none")
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    try:
        return (*np.broadcast_shapes(left[:-2], right[:-2]), *rows, *columns)
    except ValueError:
        raise ShapeError(
            f"stacks of matrices of shapes {format_shape(left)} and {format_shape(right)} do not fit"
        ) from None


def _inside(args: Sequence[Any]) -> list[Any]:
    return [part for arg in args if isinstance(arg, tuple | list) for part in arg]
