"""Inputs that go into functions as they are: the range of the function is then one of the input."""

from __future__ import annotations

from collections.abc import Iterator

from latticework.functions.approximation.chebyshev import Interval
from latticework.ir.core import Op, Value
from latticework.ir.module import Module
from latticework.tensor.ops.apply import APPLY
from latticework.tensor.ops.broadcast_to import BROADCAST_TO
from latticework.tensor.ops.convert_layout import CONVERT_LAYOUT
from latticework.tensor.ops.indexed import PART, ROWS
from latticework.tensor.ops.polynomial import POLYNOMIAL
from latticework.tensor.ops.reshape import RESHAPE
from latticework.tensor.ops.roll import ROLL
from latticework.tensor.ops.transpose import TRANSPOSE

_MOVING = {op.spec for op in (BROADCAST_TO, CONVERT_LAYOUT, RESHAPE, ROLL, TRANSPOSE, ROWS, PART)}  # unchanged


def direct_ranges(module: Module) -> dict[str, Interval]:
    """Input name -> the range on which functions that all of its elements go into are approximated, where some are."""
    found: dict[str, Interval] = {}
    for name, value in zip(module.input_names, module.inputs, strict=True):
        intervals = [interval for op in _users(value) if (interval := _interval(op)) is not None]
        if intervals:
            lo, hi = max(low for low, _ in intervals), min(high for _, high in intervals)
            if lo < hi:
                found[name] = lo, hi
    return found


def is_direct(value: Value) -> bool:
    """Whether a value is an input as it is, or what a loop carries, which an input may be."""
    while isinstance(value.owner, Op) and value.owner.spec in _MOVING:
        value = value.owner.operands[0]
    return not isinstance(value.owner, Op)


def _users(value: Value) -> Iterator[Op]:
    """Operations that a value goes into as it is, also as what a loop carries first, or leaves after no turn."""
    for op, place in value.uses:
        yield op
        for same in find_unchanged_values(op, place):
            yield from _users(same)


def find_unchanged_values(op: Op, place: int) -> list[Value]:
    """Values that are what an operation is given at a place, or parts of it, at least in some runs."""
    if op.spec in _MOVING:
        return [op.result]
    if op.name == "loop.for":
        carried = place - (op.attrs.get("static_trip") is None)
        if carried < 0:
            return []
        first = op.regions[0].block.args[1 + carried]
        return [first] if op.attrs.get("static_trip") else [first, op.results[carried]]
    if op.name == "loop.if" and place > 0:
        return [region.block.args[place - 1] for region in op.regions]
    return []


def _interval(op: Op) -> Interval | None:
    if op.spec is APPLY.spec:
        interval: Interval | None = op.attrs["interval"]
        return interval
    if op.spec is POLYNOMIAL.spec:
        fitted: Interval | None = op.attrs["polynomial"].arguments
        return fitted
    return None
