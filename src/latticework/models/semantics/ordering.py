"""Orders of elements: of public numbers only; which of two secrets is larger is a step, which no polynomial follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.semantics.operand_checks import axis_of, is_secret, whole


def sort(x: Any, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
    """Elements in order along an axis, and their places before; equal ones stay in turn."""
    array, axis, places = _order("sort", x, dim, descending)
    return np.take_along_axis(array, places, axis), places


def argsort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """Places of the elements in order along an axis."""
    return _order("argsort", x, dim, descending)[2]


def topk(x: Any, k: int, dim: int = -1, largest: bool = True) -> tuple[Any, Any]:
    """The k largest or smallest elements along an axis in order, and their places."""
    count = whole("topk", "k", k, 0)
    array, axis, places = _order("topk", x, dim, largest)
    if count > array.shape[axis]:
        raise ShapeError(
            f"topk: k={count} of the {array.shape[axis]} elements along axis {axis} of shape {array.shape}"
        )
    places = np.take(places, np.arange(count), axis)
    return np.take_along_axis(array, places, axis), places


def _order(name: str, x: Any, dim: int, descending: bool) -> tuple[Any, int, Any]:
    if is_secret(x):
        instead = REMEDIES["order"].add("the largest alone is amax")
        raise UnsupportedError(f"{name} of {np.shape(x)} secrets: {instead.for_models}")
    array = np.atleast_1d(np.asarray(x))
    axis = axis_of(name, dim, array.ndim)
    places = np.argsort(np.flip(array, axis) if descending else array, axis=axis, kind="stable")
    if descending:  # the reverse of an ascending order of the reverse keeps equal ones in turn
        places = array.shape[axis] - 1 - np.flip(places, axis)
    return array, axis, places
