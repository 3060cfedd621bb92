"""Reductions along axes: `dim` is one axis, several, or None for all; `keepdim` leaves axes of length 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.frontend.functions.comparing import argmax as place_of_largest
from latticework.models.semantics.operand_checks import axes_of, axis_of, is_secret, number, values


def sum(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum."""
    return np.sum(values(x), axis=axes_of("sum", dim, np.ndim(x)), keepdims=keepdim)


def mean(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The mean."""
    return np.mean(values(x), axis=axes_of("mean", dim, np.ndim(x)), keepdims=keepdim)


def var(x: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    """The sum of squared distances from the mean over the number of elements less `correction`."""
    return np.var(values(x), axis=axes_of("var", dim, np.ndim(x)), ddof=correction, keepdims=keepdim)


def std(x: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    """The square root of the variance."""
    return np.sqrt(var(x, dim, correction, keepdim))


def prod(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The product."""
    return np.prod(values(x), axis=axes_of("prod", dim, np.ndim(x)), keepdims=keepdim)


def amax(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element: of secrets by comparisons of halves, which spend a relu's levels log2(n) times."""
    return _extreme("amax", x, dim, keepdim, np.maximum)


def amin(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element, as amax."""
    return _extreme("amin", x, dim, keepdim, np.minimum)


def _extreme(name: str, x: Any, dim: Any, keepdim: bool, pick: Callable[[Any, Any], Any]) -> Any:
    axes = axes_of(name, dim, np.ndim(x))
    if not is_secret(x):
        return (np.amax if pick is np.maximum else np.amin)(x, axis=axes, keepdims=keepdim)
    for axis in axes:
        x = _reduce_by_halves(x, axis, pick)
    return x if keepdim else np.squeeze(x, axes)


def _reduce_by_halves(x: Any, axis: int, pick: Callable[[Any, Any], Any]) -> Any:
    """Halves of an odd number share the middle: what is in both makes no difference, and nothing need be filled up."""
    while (n := x.shape[axis]) > 1:
        half = (n + 1) // 2
        before = (np.s_[:],) * axis
        x = pick(x[(*before, np.s_[:half])], x[(*before, np.s_[n - half :])])
    return x


def norm(x: Any, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """(sum of |x|^p)^(1/p), the largest magnitude for p = inf and the smallest for -inf."""
    order = {"fro": 2.0}.get(p) if isinstance(p, str) else number("norm", "p", 2 if p is None else p)
    if order is None or order == 0 or (order < 0 and order != -np.inf):
        raise UnsupportedError(f"norm: p={p!r}; there are numbers above 0, inf, -inf and 'fro'")
    if np.isinf(order):
        return (amax if order > 0 else amin)(np.absolute(x), dim, keepdim)
    if order == 2:
        return np.sqrt(sum(np.square(x), dim, keepdim))
    if order == 1:
        return sum(np.absolute(x), dim, keepdim)
    base = x if order % 2 == 0 else np.absolute(x)
    return np.power(sum(np.power(base, order), dim, keepdim), 1.0 / order)


def logsumexp(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """log(sum(exp(x))): of secrets from their mean on, so that the logarithm's argument is at least their number."""
    axes = axes_of("logsumexp", dim, np.ndim(x))
    if is_secret(x):
        middle = np.mean(x, axis=axes, keepdims=True)
    else:
        middle = np.amax(x, axis=axes, keepdims=True)
        middle = np.where(np.isfinite(middle), middle, 0.0)
    found = np.log(np.sum(np.exp(x - middle), axis=axes, keepdims=True)) + middle
    return found if keepdim or not axes else np.squeeze(found, axes)


def cumsum(x: Any, dim: int) -> Any:
    """Sums of all elements so far along an axis."""
    return np.cumsum(values(x), axis_of("cumsum", dim, np.ndim(x))) if np.ndim(x) else values(x)


def argmax(x: Any, dim: int | None = None, keepdim: bool = False, gap: float | None = None) -> Any:
    """The place of the largest element, the first where several are; of secrets with the gap by which it leads."""
    return _place("argmax", x, dim, keepdim, gap)


def argmin(x: Any, dim: int | None = None, keepdim: bool = False, gap: float | None = None) -> Any:
    """The place of the smallest element, as argmax."""
    return _place("argmin", x, dim, keepdim, gap)


def _place(name: str, x: Any, dim: int | None, keepdim: bool, gap: float | None) -> Any:
    rank = np.ndim(x)
    axis = None if dim is None else axis_of(name, dim, rank)
    if not is_secret(x):
        return (np.argmax if name == "argmax" else np.argmin)(
            np.asarray(x), axis=axis if rank else None, keepdims=keepdim
        )
    if gap is None:
        raise UnsupportedError(f"{name} of {np.shape(x)} secrets: {REMEDIES['place'].for_models}")
    if rank == 0:
        raise ShapeError(f"{name}: one number has no place; give an array")
    flat = np.reshape(x, -1) if axis is None else x
    along = 0 if axis is None else axis
    found = place_of_largest(flat if name == "argmax" else -flat, along, gap=number(name, "gap", gap))
    if not keepdim:
        return found
    return np.reshape(
        found, (1,) * rank if axis is None else tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    )
