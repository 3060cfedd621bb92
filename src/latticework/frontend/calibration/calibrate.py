"""Calibration: run a module on sample data, note how large values get and where functions are used."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from latticework.errors import RangeError, ShapeError
from latticework.errors.remedies import CALIBRATE_APART
from latticework.errors.rounded_numbers import outside
from latticework.frontend.calibration.calibration_data import affordable_samples, has_large_arrays
from latticework.frontend.calibration.direct import is_direct
from latticework.frontend.programs.batching import batch_of, row_axes
from latticework.frontend.recording.tracing import user_line
from latticework.functions.approximation.channel_samples import (
    MARGIN,
    MOST_CHANNELS,
    ChannelSamples,
    channel_samples,
    telling_axis,
)
from latticework.functions.approximation.chebyshev import Interval
from latticework.functions.approximation.exceedance import ExtremesSeen
from latticework.functions.approximation.extreme_value import TailsSeen
from latticework.functions.approximation.real_functions import function_of
from latticework.ir.core import Op, Value
from latticework.ir.dialects.scalar_dialect import GroupType
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.interpret import interpret
from latticework.ir.location import Loc, Origin
from latticework.ir.module import Module
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.apply import APPLY
from latticework.tensor.ops.polynomial import POLYNOMIAL
from latticework.values.map_in_order import map_in_order

Sample = Mapping[str, Any]

_KEPT = 1 << 16  # elements kept per activation over all samples: enough for 257 quantiles
_QUANTILES = 257


@dataclass(slots=True)
class _Seen:
    """The range and some elements of one value, over all runs."""

    lo: float = np.inf
    hi: float = -np.inf
    nearest: float = np.inf  # to 0
    elements: list[npt.NDArray[np.float64]] = field(default_factory=list)
    places: list[npt.NDArray[np.int64]] = field(default_factory=list)  # of those, in C order
    lowest: npt.NDArray[np.float64] | None = None  # of each element
    highest: npt.NDArray[np.float64] | None = None
    tails: TailsSeen = field(default_factory=lambda: TailsSeen(MOST_CHANNELS))
    extremes: ExtremesSeen = field(default_factory=ExtremesSeen)

    def add(self, array: npt.NDArray[np.float64], keep: int, sample: int, rows: int | None) -> None:
        """Take note of an array, and keep at most `keep` of its elements, others every time; by rows along an axis."""
        self.nearest = min(self.nearest, float(np.abs(array).min()))
        step = -(-array.size // keep)
        places = np.arange(len(self.elements) % step, array.size, step)
        self.elements.append(array.reshape(-1)[places])
        self.places.append(places)
        self.lowest = np.minimum(array if self.lowest is None else self.lowest, array)
        self.highest = np.maximum(array if self.highest is None else self.highest, array)
        self.tails.add(array)
        self._add_extremes(array if rows is None else np.moveaxis(array, rows, 0), sample, by_row=rows is not None)

    def _add_extremes(self, array: npt.NDArray[np.float64], sample: int, *, by_row: bool) -> None:
        each = array.reshape(len(array) if by_row else 1, -1)
        low, high = each.min(axis=1), each.max(axis=1)
        for row in {*np.argsort(low, kind="stable")[:2].tolist(), *np.argsort(-high, kind="stable")[:2].tolist()}:
            self.extremes.add(sample * len(each) + row, float(low[row]), float(high[row]))

    def channels(self, rows: int | None, margin: float) -> ChannelSamples | None:
        """Return ranges along the axis on which they differ most, or None; `rows`: the axis of a batch's rows."""
        if self.lowest is None or self.highest is None:
            return None
        axis = telling_axis(self.lowest, self.highest, len(self.elements), rows)
        if axis is None:
            return None
        return channel_samples(
            axis, self.lowest, self.highest, np.concatenate(self.elements), np.concatenate(self.places), margin
        )


def calibrate(
    module: Module, samples: Sequence[Sample], *, margin: float = MARGIN, max_samples: int = 4096,
    assumed: bool = False, num_rows: int | None = None,
) -> Module:  # fmt: skip
    """Run the module on samples; returns a copy that knows the magnitudes.

    samples  dictionaries, input name -> array (or integer); at most `max_samples`, evenly spaced, are run, fewer if
             loops make many turns
    assumed  they are stand-ins, which say nothing about ranges
    margin   by this part of the range seen, intervals reach further on each side
    num_rows  of what the user gave, each an input of the program or a row of one, where samples have some repeatedly
    returns  Origin.max_abs of every value set to what was seen; every tensor.apply without an interval given one
    raises   RangeError where data leave the range the user gave; ShapeError for samples that do not fit
    """
    module = module.clone()
    batch = batch_of(module) if any(op.spec is APPLY.spec for op in module.walk()) else None
    rows = {} if batch is None else row_axes(module, batch.inputs)
    seen, num_run = _run(module, samples, max_samples, rows)
    num_run *= batch.rows if batch is not None and batch.inputs else 1
    num_rows = num_run if num_rows is None else min(num_rows, num_run)
    for value, facts in seen.items():
        largest = max(abs(facts.lo), abs(facts.hi))
        origin = value.origin or Origin("", value.owner.loc if isinstance(value.owner, Op) else Loc.unknown())
        value.origin = replace(origin, max_abs=largest)
    for op in module.walk():
        facts_of_operand = seen.get(op.operands[0]) if op.operands else None
        if facts_of_operand is not None and op.spec is APPLY.spec:
            _calibrate_activation(op, facts_of_operand, margin, rows.get(op.operands[0]), num_rows, assumed)
        if facts_of_operand is not None and op.spec is POLYNOMIAL.spec:
            _calibrate_polynomial(op, facts_of_operand, margin, assumed)
    return module


def input_ranges(module: Module, samples: Sequence[Sample]) -> dict[str, Interval]:
    """Smallest and largest element of each array input over all samples."""
    ranges: dict[str, Interval] = {}
    for name, value in zip(module.input_names, module.inputs, strict=True):
        if isinstance(value.type, TensorType | GroupType):
            arrays = [np.asarray(sample[name]) for sample in samples]
            ranges[name] = (float(min(a.min() for a in arrays)), float(max(a.max() for a in arrays)))
    return ranges


def _run(
    module: Module, samples: Sequence[Sample], max_samples: int, rows: Mapping[Value, int]
) -> tuple[dict[Value, _Seen], int]:
    """Run the module on samples: what every value held, and the number of samples."""
    if not len(samples):
        raise RangeError("calibrate: there are no samples; give at least one set of inputs")
    seen: dict[Value, _Seen] = {}
    number = 0
    with np.errstate(over="ignore", invalid="ignore"):
        max_samples = affordable_samples(module, samples[0], max_samples)
    keep = max(16, _KEPT // min(len(samples), max_samples))
    activations = {op.operands[0] for op in module.walk() if op.spec is APPLY.spec}

    def take_note(number: int, held: _Held) -> None:
        if not isfinite(held.least) or not isfinite(held.greatest):
            if isinstance(held.value.owner, Op) and held.value.owner.spec is APPLY.spec:
                _refuse_arguments(held.value.owner, seen[held.value.owner.operands[0]], number)
            raise _not_finite(held.value, number)
        facts = seen.setdefault(held.value, _Seen())
        facts.lo, facts.hi = min(facts.lo, held.least), max(facts.hi, held.greatest)
        if held.array is not None:
            facts.add(held.array, keep, number, rows.get(held.value))

    chosen = list(_space_out(samples, max_samples))
    run, is_worth_it = partial(_run_sample, module, activations), has_large_arrays(module)
    runs = map_in_order(run, chosen, is_worth_it=is_worth_it)
    for (number, _), held_by_values in zip(chosen, runs, strict=True):
        for held in held_by_values:
            take_note(number, held)
    return seen, len(chosen)


class _Held(NamedTuple):
    """A value at one time of a run: its range, NaN where there is one, and of a function's argument the array."""

    value: Value
    least: float
    greatest: float
    array: npt.NDArray[Any] | None


class _NotFinite(Exception):
    """A value of a run is not finite."""


def _run_sample(module: Module, activations: Collection[Value], numbered: tuple[int, Sample]) -> list[_Held]:
    """Run the module on one sample, until a value is not finite."""
    found: list[_Held] = []
    number, sample = numbered

    def note(value: Value, array: npt.NDArray[Any]) -> None:
        if isinstance(value.type, TensorType):
            least, greatest = float(array.min()), float(array.max())
            found.append(_Held(value, least, greatest, array if value in activations else None))
            if not isfinite(least) or not isfinite(greatest):
                raise _NotFinite

    try:
        with np.errstate(over="ignore", invalid="ignore"), suppress(_NotFinite):
            interpret(module, sample, on_value=note)
    except ShapeError as error:
        raise ShapeError(f"calibrate: sample {number}: {error.message}", at=error.at) from None
    return found


def _not_finite(value: Value, sample: int) -> RangeError:
    """Return the error for a value that is not finite: an input, or a result of finite inputs."""
    if isinstance(value.owner, Op):
        return RangeError(
            f"calibrate: a value leaves the range of floating-point numbers (2^1024) in sample {sample}; scale the "
            "inputs or the weights down, declare narrower ranges (low=, high=) where there are some, or write fewer "
            "products in a row",
            at=value.owner.loc,
        )
    name = value.origin.name if value.origin else ""
    return RangeError(f"calibrate: input {name} is NaN or infinite in sample {sample}; clean the data")


def _refuse_arguments(op: Op, seen: _Seen, number: int) -> None:
    """A function has no finite value in a sample."""
    function = function_of(op.attrs["function"])
    with user_line(op.loc):
        function.check_domain(seen.lo, seen.hi, "arguments in calibration reach")
        raise RangeError(
            f"{function.name}: its value is infinite or NaN in sample {number} of calibration, where arguments reach "
            f"from {seen.lo:.6g} to {seen.hi:.6g}; scale them down, or keep them where the function has a finite value"
        )


def _space_out(samples: Sequence[Sample], count: int) -> Iterator[tuple[int, Sample]]:
    numbers = np.unique(np.linspace(0, len(samples) - 1, min(count, len(samples))).round().astype(int))
    return ((int(number), samples[number]) for number in numbers)


def _calibrate_activation(
    op: Op, seen: _Seen, margin: float, rows: int | None, num_rows: int, assumed: bool
) -> None:  # fmt: skip
    function = function_of(op.attrs["function"])
    is_stated = op.attrs["interval"] is not None and op.attrs["tails"] is None
    if function.gap and seen.nearest < function.gap:
        raise RangeError(
            f"{function.name}: calibration data come within {seen.nearest:.3g} of 0, inside gap={function.gap:g}, "
            "where any number between -1 and 1 may come out; "
            + (
                f"its thresholds are of trees, from which rows have to keep: give {CALIBRATE_APART}"
                if function.told
                else "give a smaller gap, or keep the argument away from 0"
            ),
            at=op.loc,
        )
    with user_line(op.loc):
        interval, wide = op.attrs["interval"], function.widen(seen.lo, seen.hi, margin)
    if interval is None:
        op.attrs["interval"] = wide
        if not function.gap and not is_direct(op.operands[0]):  # clients keep all of an input within one range
            op.attrs["channels"] = seen.channels(rows, margin)
    elif seen.lo < interval[0] or seen.hi > interval[1]:
        given = outside(seen.lo, seen.hi, interval[0], interval[1], shown=4)
        raise RangeError(
            f"{function.name}: calibration data reach from {given[0]} to {given[1]} here, outside the "
            f"given range=({given[2]}, {given[3]}); widen it to ({wide[0]:.4g}, {wide[1]:.4g}), "
            "or leave range= out",
            at=op.loc,
        )
    quantiles = np.quantile(np.concatenate(seen.elements), np.linspace(0.0, 1.0, _QUANTILES))
    op.attrs["samples"] = tuple(float(x) for x in quantiles)
    channels = op.attrs["channels"]
    if not assumed:
        extremes = None if is_stated else seen.extremes.of(num_rows)
        whole = replace(seen.tails.along(None), extremes=extremes)
        op.attrs["tails"] = (whole, None if channels is None else seen.tails.along(channels.axis))


def _calibrate_polynomial(op: Op, seen: _Seen, margin: float, assumed: bool) -> None:
    polynomial, wide = op.attrs["polynomial"], _widen(seen, margin)
    if polynomial.basis == "power":
        op.attrs["polynomial"] = replace(polynomial, interval=wide)
    elif not assumed and (seen.lo < polynomial.interval[0] or seen.hi > polynomial.interval[1]):
        given = outside(seen.lo, seen.hi, polynomial.interval[0], polynomial.interval[1], shown=4)
        raise RangeError(
            f"polynomial: calibration data reach from {given[0]} to {given[1]} here, outside the range "
            f"({given[2]}, {given[3]}) of its Chebyshev coefficients; fit them on ({wide[0]:.4g}, {wide[1]:.4g}), or "
            "scale the argument",
            at=op.loc,
        )


def _widen(seen: _Seen, margin: float) -> Interval:
    """The range seen and the margin on each side; an interval also around a constant."""
    span = (seen.hi - seen.lo) or max(abs(seen.hi), 1.0)
    return seen.lo - margin * span, seen.hi + margin * span
