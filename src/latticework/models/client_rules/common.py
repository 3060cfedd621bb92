"""Owner's steps for operators that several importers have."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.functions.function_record import FunctionRecord, Moved
from latticework.models.client_rules.table_rules import SECRET, CannotMoveError, MovedNode, OwnerRule, Steps
from latticework.plan.client_steps import (
    Affine,
    Clip,
    Columns,
    Elementary,
    Labels,
    OwnerArray,
    Reduce,
    Reshape,
    TableRows,
    Threshold,
    Transpose,
)

_WIDEST = 1e300  # what no number that is encrypted reaches


def nothing(moved: MovedNode) -> Steps:
    """No steps, for operators that leave numbers as they are."""
    moved.first_is_secret()
    return ()


def elementary(record: FunctionRecord) -> OwnerRule:
    """The rule of a function of every element, which models leave to the owner at one end or both."""

    def make(moved: MovedNode) -> Steps:
        moved.first_is_secret()
        return (Elementary(record.name),)

    return OwnerRule(make if record.moved is Moved.BEFORE_AND_AFTER else None, make)


def reshape(moved: MovedNode, sizes: Any) -> Steps:
    """The same elements in other axes; the first axis stays where it does, so that rows stay rows."""
    new = [int(n) for n in sizes]
    if new.count(-1) == 1:
        known = -prod(new)
        new[new.index(-1)] = prod(moved.shape) // max(known, 1)
    old = list(moved.shape)
    if prod(new) != prod(old) or min(new, default=1) < 1:
        raise CannotMoveError(f"shape {moved.shape} as {tuple(new)}")
    shared = 0
    while shared < min(len(old), len(new)) and old[shared] == new[shared]:
        shared += 1
    if old == new:
        return ()
    return (Reshape(tuple(old[shared:]), tuple(new[shared:])),)


def transpose(moved: MovedNode, order: Any) -> Steps:
    """Axes in another order; the first ones that stay where they are do, so that rows stay rows."""
    rank = len(moved.shape)
    new = [int(axis) % rank for axis in order]
    if sorted(new) != list(range(rank)):
        raise CannotMoveError(f"{tuple(new)} is no order of {rank} axes")
    kept = next((place for place, axis in enumerate(new) if place != axis), rank)
    return () if kept == rank else (Transpose(tuple(axis - kept for axis in new[kept:])),)


def reduce_axes(moved: MovedNode, kind: str, axes: Any, *, keep: bool) -> Steps:
    """A sum, mean or extreme along axes, one after the other; None: along all of them."""
    rank = len(moved.shape)
    dims = sorted({moved.dim(axis) for axis in (range(rank) if axes is None else axes)}, reverse=True)
    gone = 0 if keep else 1  # the last axis goes first, and those before it are then counted from a nearer end
    return tuple(Reduce(kind, dim + gone * number, keep) for number, dim in enumerate(dims))


def affine(kind: str) -> OwnerRule:
    """The rule of +, -, * or / with one public operand."""

    def make(moved: MovedNode) -> Steps:
        return affine_steps(moved, kind)

    def rename(moved: MovedNode, labels: Labels) -> Labels:
        scale, offset = _affine_parts(moved, kind)
        if labels.numbers is None or scale.size != 1:
            raise CannotMoveError("it computes with names of classes")
        found = labels.array * scale.reshape(()) + offset.reshape(())
        return Labels.of(found.astype(np.int64) if labels.whole and (found == np.rint(found)).all() else found)

    return OwnerRule(make, make, wanted=False, renames=rename)


def affine_steps(moved: MovedNode, kind: str) -> Steps:
    """+, -, * or / with one public operand."""
    return scale_and_shift(moved, *_affine_parts(moved, kind))


def _affine_parts(moved: MovedNode, kind: str) -> tuple[Any, Any]:
    """The scale and the offset of +, -, * or / with one public operand."""
    first, second = moved.args[:2]
    if (first is SECRET) == (second is SECRET):
        raise CannotMoveError("both operands are secret")
    number = np.asarray(second if first is SECRET else first, dtype=np.float64)
    one, zero = np.ones_like(number), np.zeros_like(number)
    if kind == "add":
        return one, number
    if kind == "sub":
        return (one, -number) if first is SECRET else (-one, number)
    if kind == "mul":
        return number, zero
    if first is SECRET and number.all():
        return 1.0 / number, zero
    raise CannotMoveError("a quotient by what is secret, or by 0")


def scale_and_shift(moved: MovedNode, scale: Any, offset: Any) -> Steps:
    """x * scale + offset, of parameters without leading axes of one element."""
    scale, offset = (np.asarray(a, dtype=np.float64) for a in np.broadcast_arrays(scale, offset))
    while scale.ndim and scale.shape[0] == 1:
        scale, offset = scale[0], offset[0]
    if scale.ndim > len(moved.shape):
        raise CannotMoveError("the public operand has more axes")
    return (Affine(OwnerArray.of(scale), OwnerArray.of(offset)),)


def clip(low: Any, high: Any) -> Steps:
    """The step that clips to [low, high]; None: no limit."""
    ends = [default if end is None else float(np.asarray(end)) for end, default in ((low, -_WIDEST), (high, _WIDEST))]
    return (Clip(*(OwnerArray.of(max(-_WIDEST, min(_WIDEST, end))) for end in ends)),)


def table_rows(table: Any) -> Steps:
    """Rows of a public table by secret numbers."""
    array = np.asarray(table)
    if array.dtype.kind not in "fiub" or not array.ndim:
        raise CannotMoveError("what is looked up in is no public table of numbers")
    return (TableRows(OwnerArray.of(array)),)


def columns(moved: MovedNode, dim: int, places: Any) -> Steps:
    """Elements of an axis by public numbers."""
    size = moved.shape[dim]
    found = tuple(place + size if place < 0 else place for place in places)
    return (Columns(dim, size, found),)


def above(moved: MovedNode, number: Any, *, inclusive: bool, turned: bool) -> Steps:
    """The step that compares with a public number; `turned`: 1 where the value is below."""
    at = np.asarray(number, dtype=np.float64)
    if at.size != 1:
        raise CannotMoveError("several thresholds")
    labels = Labels.of([1, 0]) if turned else None
    return (Threshold(float(at.reshape(())), labels, inclusive),)


def labels_of(*candidates: Any) -> Labels:
    """The first of these that there are, as labels."""
    for candidate in candidates:
        if candidate is not None and np.size(candidate):
            return Labels.of([v.decode() if isinstance(v, bytes) else v for v in np.asarray(candidate).tolist()])
    raise CannotMoveError("it has no labels")
