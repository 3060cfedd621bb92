"""Ranges of values where a bootstrap may stand: the power of two that each is divided by there.

A bootstrap takes slots within [-1, 1]; beyond it errors grow, by 4 bits at twice that. So every value gets an exponent
from runs on calibration data, over all iterations and with a margin: the least k for which the largest element times
the margin is at most 2^k. Slots that hold no element of a tensor may hold anything, and are left out where it is known
which they are; a bootstrap wraps what is too large in a slot, in that slot alone.
Cost: that of the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from math import ceil, inf, log2
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError
from latticework.ir import INDEX, Block, Loc, Module, Op, Value, interpret_together
from latticework.ir.dialects.bootstrap_dialect import MAX_EXPONENT
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.values.cores import count_cores
from latticework.values.map_in_order import map_in_order
from latticework.values.packing.magnitudes import largest_magnitude

MARGIN = 2.0  # over the largest value in calibration
AbstractValue = Mapping[int, npt.NDArray[np.bool_]]
ALL_SLOTS: AbstractValue = MappingProxyType({})


@dataclass
class Ranges:
    """The ranges that runs have shown.

    largest    magnitude of an element of every secret value, over all runs and iterations; 0 of what never ran
    outgrown   where values first were too large to be bootstrapped: the value, and the iteration of its loop
    runs       what a message calls the runs
    """

    largest: dict[Value, float] = field(default_factory=dict)
    outgrown: dict[Value, int | None] = field(default_factory=dict)
    runs: str = "on the calibration data"

    def exponent(self, value: Value) -> int | None:
        """The k for which a bootstrap divides a value by 2^k; None if it is too large."""
        return exponent_of(self.largest.get(value, inf))

    @property
    def exponents(self) -> dict[Value, int | None]:
        """The exponent of every value; None for values that are too large."""
        return {value: self.exponent(value) for value in self.largest}


def exponent_of(largest: float) -> int | None:
    """The k for which a bootstrap divides what is so large by 2^k; None if it is too large."""
    if largest * MARGIN > 2.0**MAX_EXPONENT or not np.isfinite(largest):
        return None
    return max(0, ceil(log2(largest * MARGIN))) if largest else 0


def find_ranges(module: Module, runs: Sequence[Mapping[str, Any]], held: AbstractValue = ALL_SLOTS) -> Ranges:
    """Find the ranges of the values of a `vec` module.

    runs  inputs by name, vectors as they are packed, integers as they are
    held  slots that hold elements of tensors by their position (`Origin.position`), (count, slots) each
    """
    result = Ranges()
    for value in _secrets(module):
        result.largest[value] = 0.0  # for ever, in what never runs: loops of no turns
    parts = [part for part in _halves(module, runs) if part]
    outgrown: dict[Value, _Moment] = {}
    with np.errstate(over="ignore", invalid="ignore"):
        for seen in map_in_order(lambda some: _run(module, some, held), parts):
            for value, size in seen.largest.items():
                result.largest[value] = max(size, result.largest.get(value, 0.0))
            for value, step in seen.outgrown.items():
                outgrown[value] = min(step, outgrown.get(value, step), key=lambda moment: moment.time)
    result.outgrown = {value: step.iteration for value, step in sorted(outgrown.items(), key=lambda each: each[1].time)}
    return result


def _halves(module: Module, runs: Sequence[Mapping[str, Any]]) -> list[Sequence[Mapping[str, Any]]]:
    """Runs for two threads, where there are two cores and all take the same steps; iterations of loops are short."""
    integers = [name for name, value in zip(module.input_names, module.inputs, strict=True) if value.type is INDEX]
    alike = all(run[name] == runs[0][name] for name in integers for run in runs)
    may = alike and count_cores() > 1 and not any(op.regions for op in module.body.ops)
    middle = len(runs) // 2 if may else 0
    return [runs[:middle], runs[middle:]]


class _Moment(NamedTuple):
    """A moment of runs: values that had become known to each of them, and the iteration of the innermost loop."""

    time: int
    iteration: int | None


@dataclass
class _Shown:
    """The largest magnitudes in some runs, and where values first were too large."""

    largest: dict[Value, float] = field(default_factory=dict)
    outgrown: dict[Value, _Moment] = field(default_factory=dict)


def _run(module: Module, runs: Sequence[Mapping[str, Any]], held: AbstractValue) -> _Shown:
    """Run the module, and note how large values are."""
    result, iterations, known = _Shown(), dict[Block, int](), 0

    def note(value: Value, array: npt.NDArray[Any]) -> None:
        nonlocal known
        known += 1
        if value.type is INDEX:
            if isinstance(value.owner, Block) and value.index == 0:
                iterations[value.owner] = int(array)
            return
        if not isinstance(value.type, VecType) or not value.is_secret:
            return
        seen = _largest(array, value, held)
        if not seen <= result.largest.get(value, 0.0):
            result.largest[value] = seen if np.isfinite(seen) else inf
            if exponent_of(result.largest[value]) is None and value not in result.outgrown:
                result.outgrown[value] = _Moment(known // len(runs), iterations.get(_block(value)))

    interpret_together(module, runs, on_value=note)
    return result


def _secrets(module: Module) -> list[Value]:
    """All secret vectors of a module."""
    values = list(module.inputs)
    for op in module.walk():
        values += [*op.results, *(arg for region in op.regions for arg in region.block.args)]
    return [value for value in values if isinstance(value.type, VecType) and value.is_secret]


def outgrown_error(ranges: Ranges, carried: Sequence[Value]) -> RangeError | None:
    """The error for the first value of these that grows beyond what can be bootstrapped; None if none does."""
    for value in carried:
        if value in ranges.outgrown:
            iteration = ranges.outgrown[value]
            name, at = _describe(value)
            where = "" if iteration is None else f" in iteration {iteration + 1}"
            return RangeError(
                f"{name} has to be bootstrapped, which takes values up to 2^{MAX_EXPONENT}, and grows beyond "
                f"2^{MAX_EXPONENT - 1}{where} {ranges.runs}; scale it down, or make its steps smaller",
                at=at,
            )
    return None


def _largest(array: npt.NDArray[Any], value: Value, held: AbstractValue) -> float:
    """The largest magnitude of an element; of a complex one that of its real and imaginary parts."""
    parts = np.maximum(np.abs(array.real), np.abs(array.imag)) if np.iscomplexobj(array) else array
    position = value.origin.position if value.origin is not None else None
    where = held.get(position[0]) if position is not None else None
    if where is None or where.size != parts.size:
        return largest_magnitude(parts)
    return largest_magnitude(parts, where)


def _block(value: Value) -> Block:
    block = value.owner.block if isinstance(value.owner, Op) else value.owner
    assert block is not None
    return block


def _describe(value: Value) -> tuple[str, Loc | None]:
    """The name that users know a value by, and its line."""
    origin = value.origin
    if isinstance(value.owner, Op):
        line = value.owner.loc
        return (f"the value of {line.text!r}" if line.text else value.owner.name), line
    if origin is None:
        return "a carried value", None
    return repr(origin.name) if origin.name else "a carried value", origin.loc
