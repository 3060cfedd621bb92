"""Samples of a circuit's inputs: calibration data in the forms that users have, and declared ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from latticework.compiler.circuits.circuit_pipeline import Scalars
from latticework.compiler.stage_results import Vectors
from latticework.errors import DtypeError, RangeError, ShapeError, TraceError
from latticework.frontend import Circuit
from latticework.frontend.calibration.calibration_data import ASSUMED_SAMPLES, Sample
from latticework.frontend.recording.plain import plain_array
from latticework.ir import Module, interpret
from latticework.plan.schema.arguments import Argument, gather

MARGIN = 0.1  # inputs may leave the calibrated range by this part of it
MOST_CORNERS = 32  # of declared ranges, at which values that bootstraps take are looked at; of more, those drawn


def circuit_samples(circuit: Circuit, scalars: Scalars, data: Any) -> list[Sample]:
    """Arrays of all groups by name: the data given, and the corners of the declared ranges."""
    arguments = scalars.traced.arguments
    rng = np.random.default_rng(0)
    if data is None:
        drawn = [{a.name: rng.uniform(*_bounds(a), a.shape) for a in arguments} for _ in range(ASSUMED_SAMPLES)]
    else:
        drawn = _order_given(circuit, arguments, data)
    first = drawn[0]
    for end in (0, 1):
        declared = [a.name for a in arguments if a.low is not None or data is None]
        corner = {a.name: np.full(a.shape, _bounds(a)[end]) if a.name in declared else first[a.name] for a in arguments}
        drawn.append(corner)
    return _to_groups(scalars, drawn)


def corner_samples(scalars: Scalars) -> list[Sample]:
    """Arrays of all groups by name, every number at an end of its range: all such corners, or some by chance.

    A difference of numbers is 0 where all are at the same end, and largest where they are at different ones.
    """
    arguments = scalars.traced.arguments
    sizes = [prod(a.shape) for a in arguments]
    total = sum(sizes)
    if 2**total <= MOST_CORNERS:
        ends = np.array(list(product((0, 1), repeat=total)))
    else:
        ends = np.random.default_rng(0).integers(0, 2, (MOST_CORNERS, total))
    drawn = []
    for corner in ends:
        parts = np.split(corner, np.cumsum(sizes)[:-1])
        of_arguments = zip(arguments, parts, strict=True)
        drawn.append({a.name: np.choose(part, _bounds(a)).reshape(a.shape) for a, part in of_arguments})
    return _to_groups(scalars, drawn)


def note_sizes(placed: Module, samples: Sequence[Sample]) -> None:
    """Note at outputs how large corners make them, where that is more than was seen before.

    raises  RangeError for an output that grows beyond all numbers
    """
    with np.errstate(over="ignore", invalid="ignore"):
        runs = [interpret(placed, sample) for sample in samples]
    for value, *arrays in zip(placed.body.terminator.operands, *runs, strict=True):
        if value.origin is not None:
            seen = float(np.max([np.max(np.abs(array)) for array in arrays], initial=0.0))
            if not np.isfinite(seen):
                raise RangeError(
                    f"output {value.origin.name} grows beyond all numbers with inputs at ends of their declared "
                    "ranges: declare smaller ones, or give calibrate=data if yours are never there",
                    at=value.origin.loc,
                )
            value.origin = replace(value.origin, max_abs=max(value.origin.max_abs or 0.0, seen))


def _to_groups(scalars: Scalars, drawn: Sequence[Mapping[str, Any]]) -> list[Sample]:
    arguments, names = scalars.traced.arguments, scalars.traced.module.input_names
    sizes = [len(group.labels) for group in scalars.written.groups]
    return [dict(zip(names, gather(arguments, sizes, values), strict=True)) for values in drawn]


def _bounds(argument: Argument) -> tuple[float, float]:
    if argument.low is None or argument.high is None:
        return -1.0, 1.0
    return float(argument.low), float(argument.high)


def _order_given(circuit: Circuit, arguments: Sequence[Argument], data: Any) -> list[dict[str, Any]]:
    """Calibration data by the user's names, one dictionary per run."""
    names = ", ".join(a.name for a in arguments)
    if not isinstance(data, Mapping):
        if len(arguments) != 1:
            raise TraceError(f"calibrate: give a dictionary by name for the inputs {names}", at=circuit.loc)
        data = {arguments[0].name: data}
    if set(data) != {a.name for a in arguments}:
        raise TraceError(f"calibrate: the inputs are {names}; got {', '.join(map(str, data))}", at=circuit.loc)
    stacks = {}
    for a in arguments:
        try:
            array = plain_array(data[a.name])
        except (DtypeError, RangeError) as error:
            raise type(error)(f"calibrate: data for {a.name}: {error.message}", at=circuit.loc) from None
        if array.shape == a.shape:
            array = array[None]
        if array.shape[1:] != a.shape or not array.size:
            raise ShapeError(
                f"calibrate: data for {a.name} have shape {array.shape}; the input has shape {a.shape}: give that, or "
                "a stack (samples, ...) of such",
                at=circuit.loc,
            )
        stacks[a.name] = array
    if len({len(s) for s in stacks.values()}) > 1:
        listed = ", ".join(f"{name}: {len(s)}" for name, s in stacks.items())
        raise ShapeError(f"calibrate: different numbers of samples ({listed}); give equally many", at=circuit.loc)
    count = len(next(iter(stacks.values())))
    return [{name: stack[i] for name, stack in stacks.items()} for i in range(count)]


def with_ranges(vectors: Vectors, scalars: Scalars, samples: Sequence[Sample]) -> Vectors:
    """Arguments that have no declared range accept what samples reached, widened a little."""
    assert vectors.circuit is not None
    names = scalars.traced.module.input_names
    ranged = []
    for here, there in zip(vectors.circuit.arguments, scalars.traced.arguments, strict=True):
        if here.low is None:
            held = [np.asarray(s[names[there.input]])[list(there.elements)] for s in samples]
            low, high = float(min(x.min() for x in held)), float(max(x.max() for x in held))
            margin = MARGIN * ((high - low) or max(abs(high), 1.0))
            here = replace(here, low=low - margin, high=high + margin)
        ranged.append(here)
    return replace(vectors, circuit=replace(vectors.circuit, arguments=tuple(ranged)))
