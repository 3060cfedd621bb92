"""Calibration data in the forms users have them, as one dictionary of inputs per run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, ShapeError, TraceError
from latticework.frontend.calibration.direct import direct_ranges
from latticework.frontend.programs.array_program import Program
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.tracing import user_line
from latticework.ir import Module, Value, interpret
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.schema.batch import Batch
from latticework.tensor.ops.base import shape_of
from latticework.tensor.ops.indexed import PART, ROW, WITH_PART
from latticework.values.inputs.foreign_arrays import in_numpy
from latticework.values.map_in_order import map_in_order
from latticework.values.packing.magnitudes import largest_magnitude

Sample = dict[str, Any]
Shape = tuple[int, ...]

_INDEXED = tuple(op.spec for op in (PART, WITH_PART, ROW))
ASSUMED_TRIPS = 64  # most iterations of a run-time loop that neither the data nor at_most bound
ASSUMED_SAMPLES = 4
PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the largest run-time integer, that are calibrated with too
SAMPLES_A_COUNT = 4  # with each of the smaller integers
MOST_COMBINATIONS = 32  # of several integers
KEPT_OUTPUTS = 1 << 23  # elements of the outputs of all samples, beyond which none are kept
MOST_SAMPLES = 4096  # that any module is run on
REPEATED_VALUES = 1 << 18  # that loops may compute again, over all samples that are run
LEAST_SAMPLES = 8
LARGE_ARRAY = 1 << 12  # elements of a value, on average, from which on NumPy computes longer than Python between them
SMALLEST = 1e-280  # that the largest number of an input may be


def samples_of(program: Program, module: Module, data: Any, batch: Batch | None = None) -> list[Sample]:
    """One dictionary of inputs per calibration run.

    data    an array for the only secret input, a tuple of arrays in order, or a dictionary by name (which may also
            give run-time integers). Each array is one value of the input, which goes with every sample of the
            others; a stack of them; or for an input of shape (B, ...) any number >= B of rows, of which blocks of B
            are taken, the last one from the end, so that every row has its part.
    batch   inputs that may also have fewer than B rows, which then are repeated
    raises  ShapeError if an array fits its input in none of these ways
    """
    names = [n for n, v in zip(module.input_names, module.inputs, strict=True) if isinstance(v.type, TensorType)]
    given = _by_name(program, names, data)
    stacks = {}
    for name, value in zip(module.input_names, module.inputs, strict=True):
        if isinstance(value.type, TensorType):
            with user_line(program.loc):
                array = _data(name, given[name])
                stacks[name] = _stack(program, name, value.type.shape, array, _is_batched(name, batch))
    total = max((len(stack) for stack in stacks.values()), default=1)
    counts = {name: len(stack) for name, stack in stacks.items() if len(stack) > 1}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise ShapeError(
            f"calibrate: the inputs have different numbers of samples ({listed}); give equally many", at=program.loc
        )
    limits = {name: _trips(program, module, name, given) for name in module.input_names if name not in stacks}
    samples = [{name: stack[i % len(stack)] for name, stack in stacks.items()} for i in range(total)]
    return with_fewer_turns(module, samples, limits)


def rows_given(program: Program, module: Module, data: Any, batch: Batch | None) -> int:
    """Count the inputs of the program that calibration data hold, or with a batch axis their rows."""
    types = {n: v.type for n, v in zip(module.input_names, module.inputs, strict=True)}
    ranks = {name: kind.rank for name, kind in types.items() if isinstance(kind, TensorType)}
    counts, given = [1], _by_name(program, list(ranks), data)
    for name, rank in ranks.items():
        shape, with_rows = np.shape(in_numpy(given[name])), _is_batched(name, batch)
        if len(shape) > rank:
            counts.append(shape[0] * (shape[1] if with_rows else 1))
        elif with_rows:
            counts.append(shape[0])
    return max(counts)


def repeated_rows(program: Program, module: Module, data: Any, batch: Batch) -> int:
    """Count the rows of data that are fewer than a batch has, and so were repeated; else 0."""
    types = {n: v.type for n, v in zip(module.input_names, module.inputs, strict=True)}
    ranks = {name: kind.rank for name, kind in types.items() if isinstance(kind, TensorType)}
    given = _by_name(program, list(ranks), data)
    shapes = {name: np.shape(in_numpy(given[name])) for name in batch.inputs}
    return min((s[0] for name, s in shapes.items() if len(s) == ranks[name] and s[0] < batch.rows), default=0)


def _is_batched(name: str, batch: Batch | None) -> bool:
    return batch is not None and name in batch.inputs


def with_fewer_turns(module: Module, samples: list[Sample], limits: Mapping[str, int]) -> list[Sample]:
    """All samples with the largest run-time integers, and some of them with smaller ones, 0 among them.

    What a loop leaves when it stops early may be larger than what it leaves at the end: where that is so in some of the
    samples, the loop is also stopped there.
    """
    full = [{**sample, **limits} for sample in samples]
    extremes: dict[str, set[int]] = {name: set() for name in limits}
    for number in choose_evenly(len(full), SAMPLES_A_COUNT) if limits else []:
        for name, counts in _extreme_turns(module, full[number]).items():
            extremes[name] |= counts
    others = [c for c in _combinations(limits, extremes) if c != dict(limits)]
    for number, fewer in enumerate(others):
        places = {(number + k * len(samples) // SAMPLES_A_COUNT) % len(samples) for k in range(SAMPLES_A_COUNT)}
        full += [{**samples[i], **fewer} for i in sorted(places)]
    return full


def _extreme_turns(module: Module, sample: Sample) -> dict[str, set[int]]:
    """Find the iterations after which a carried value is at an end of its range, by the loop's run-time integer.

    That is where some element is largest, smallest or nearest to 0.
    """
    inputs = zip(module.inputs, module.input_names, strict=True)
    names = {value: name for value, name in inputs if not isinstance(value.type, TensorType)}
    carried: dict[Value, set[str]] = {}
    for op in module.walk():
        if op.name == "loop.for" and op.operands and op.operands[0] in names:
            for value in op.regions[0].block.terminator.operands:
                carried.setdefault(value, set()).add(names[op.operands[0]])
    turns, found = Counter[Value](), dict[tuple[Value, int], tuple[float, int]]()

    def note(value: Value, array: Any) -> None:
        if value not in carried or not np.size(array):
            return
        turns[value] += 1
        for end, extreme in enumerate((-np.max(array), np.min(array), np.min(np.abs(array)))):
            if not extreme >= found.get((value, end), (np.inf, 0))[0]:  # NaN is as extreme as can be
                found[value, end] = float(extreme), turns[value]

    with np.errstate(over="ignore", invalid="ignore"):
        interpret(module, sample, on_value=note)
    counts: dict[str, set[int]] = {}
    for (value, _), (_, turn) in found.items():
        for name in carried[value]:  # of a loop within a loop, a turn of one of its runs
            counts.setdefault(name, set()).add((turn - 1) % sample[name] + 1)
    return counts


def affordable_samples(module: Module, sample: Mapping[str, Any], most: int) -> int:
    """Return the number of samples to run: `most`, or fewer where the module's loops have many iterations."""
    turns = Counter[Value]()
    interpret(module, sample, on_value=lambda value, _: turns.update((value,)))
    repeated = turns.total() - len(turns)
    return max(1, min(most, max(LEAST_SAMPLES, REPEATED_VALUES // max(repeated, 1))))


def has_large_arrays(module: Module) -> bool:
    """Whether two runs of a module at the same time take less than one after the other."""
    values = [v for op in module.walk() for v in op.results if v.is_secret and isinstance(v.type, TensorType)]
    return sum(prod(shape_of(v)) for v in values) >= LARGE_ARRAY * max(len(values), 1)


def choose_evenly(total: int, count: int) -> list[int]:
    """`count` numbers below `total`, evenly spaced; all of them where there are no more."""
    return [int(i) for i in np.unique(np.linspace(0, total - 1, min(count, total)).astype(int))]


class SampleSizes:
    """The magnitudes of all values in runs of a module on samples, cached for the same module and samples.

    So are outputs, of which those of the first module and samples that they are asked for are kept.
    """

    def __init__(self) -> None:
        self._asked: tuple[Module, Sequence[Sample]] | None = None
        self._columns: dict[Value, int] = {}
        self._rows: dict[int, npt.NDArray[np.float64]] = {}
        self._asked_outputs: tuple[Module, Sequence[Sample]] | None = None
        self._outputs: dict[int, list[Any]] = {}

    def of(self, module: Module, samples: Sequence[Sample], number: int) -> dict[Value, float]:
        """The largest number of each value in a sample's run; NaN where there is one."""
        self.run(module, samples, [number])
        return dict(zip(self._columns, self._rows[number].tolist(), strict=False))

    def run(self, module: Module, samples: Sequence[Sample], numbers: Sequence[int]) -> None:
        """Run the module on these samples, where it was not yet."""
        if self._asked is None or self._asked[0] is not module or self._asked[1] is not samples:
            self._asked, self._columns, self._rows = (module, samples), {}, {}
        missing = [number for number in numbers if number not in self._rows]
        found = map_in_order(
            lambda number: _sizes(module, samples[number]), missing, is_worth_it=has_large_arrays(module)
        )
        for number, (outputs, largest) in zip(missing, found, strict=True):
            if self._keeps_outputs(module, samples):
                self._outputs[number] = outputs
            places = [self._columns.setdefault(value, len(self._columns)) for value in largest]
            row = np.full(len(self._columns), -1.0)
            row[places] = list(largest.values())
            self._rows[number] = row

    def outputs(self, module: Module, samples: Sequence[Sample], numbers: Sequence[int]) -> list[list[Any]]:
        """The outputs of the runs of these samples."""
        if not self._keeps_outputs(module, samples):
            run, is_worth_it = partial(interpret, module), has_large_arrays(module)
            return list(map_in_order(run, [samples[number] for number in numbers], is_worth_it=is_worth_it))
        self.run(module, samples, [n for n in numbers if n not in self._outputs])  # what is asked for next, of the same
        return [self._outputs[number] for number in numbers]

    def _keeps_outputs(self, module: Module, samples: Sequence[Sample]) -> bool:
        if self._asked_outputs is None:
            elements = sum(
                prod(v.type.shape) for v in module.body.terminator.operands if isinstance(v.type, TensorType)
            )
            if elements * len(samples) <= KEPT_OUTPUTS:
                self._asked_outputs = module, samples
        asked = self._asked_outputs
        return asked is not None and asked[0] is module and asked[1] is samples


def _sizes(module: Module, sample: Sample) -> tuple[list[Any], dict[Value, float]]:
    """The outputs of a run, and the largest number of each value."""
    largest: dict[Value, float] = {}

    def note(value: Value, array: Any) -> None:
        size = largest_magnitude(array)
        if not size <= largest.get(value, -1.0):
            largest[value] = size

    return interpret(module, sample, on_value=note), largest


def telling_samples(
    module: Module, samples: Sequence[Sample], count: int, sizes: SampleSizes | None = None
) -> list[int]:
    """Numbers of samples that show what values can be: `count` evenly spaced ones, and where any value is largest.

    One sample among thousands may be the only one in which a value is large, and its results may be small.
    Cost: that of running the module on all samples, fewer where its loops make many turns; none for  sizes  that were
    asked about them before.
    """
    known = sizes or SampleSizes()
    with np.errstate(over="ignore", invalid="ignore"):
        run = choose_evenly(len(samples), affordable_samples(module, samples[0], MOST_SAMPLES))
        found = set(choose_evenly(len(samples), affordable_samples(module, samples[0], count)))
        largest: dict[Value, tuple[float, int]] = {}
        spaced_first = sorted(found) + [n for n in run if n not in found]  # of samples alike, a spaced one
        known.run(module, samples, spaced_first)
        for number in spaced_first:
            for value, size in known.of(module, samples, number).items():
                if not size <= largest.get(value, (-1.0, 0))[0]:
                    largest[value] = size, number
    return sorted(found | {number for _, number in largest.values()})


def _combinations(limits: Mapping[str, int], extremes: Mapping[str, set[int]]) -> list[dict[str, int]]:
    """Values of all run-time integers together, at most `MOST_COMBINATIONS`."""
    each = [sorted({round(part * limit) for part in PARTS} | {n for n in (0, 1, limit - 1) if 0 <= n <= limit}
                   | extremes[name]) for name, limit in limits.items()]  # fmt: skip
    found = [dict(zip(limits, values, strict=True)) for values in product(*each)] if limits else []
    if len(found) <= MOST_COMBINATIONS:
        return found
    chosen = np.random.default_rng(0).choice(len(found), MOST_COMBINATIONS - 1, replace=False)
    return [found[0], *(found[i] for i in np.sort(chosen) if i)]


def assume_samples(module: Module) -> list[Sample]:
    """Stand-ins where no data are given: uniform numbers in [-1, 1], seeded, and both ends of it.

    Inputs that go into a function with a range of its own have that range instead.
    """
    rng = np.random.default_rng(0)
    ranges = direct_ranges(module)
    inputs = list(zip(module.input_names, module.inputs, strict=True))

    def sample(draw: Callable[[float, float, Shape], Any]) -> Sample:
        return {
            name: draw(*ranges.get(name, (-1.0, 1.0)), v.type.shape)
            for name, v in inputs
            if isinstance(v.type, TensorType)
        }

    drawn = [sample(rng.uniform) for _ in range(ASSUMED_SAMPLES)]
    drawn += [
        sample(lambda low, high, shape: np.full(shape, high)),
        sample(lambda low, high, shape: np.full(shape, low)),
    ]
    indices = [name for name, v in inputs if not isinstance(v.type, TensorType)]
    return with_fewer_turns(module, drawn, {name: _assume_limit(module, name) for name in indices})


def _assume_limit(module: Module, name: str) -> int:
    limit = trip_limit(module, name)
    return ASSUMED_TRIPS if limit is None else limit


def trip_limit(module: Module, name: str) -> int | None:
    """The largest run-time integer that all loops which count to it allow, by at_most and by what they subscript."""
    value = dict(zip(module.input_names, module.inputs, strict=True))[name]
    limits = [extent - 1 for extent in _extents(module, value)]
    for op in module.walk():
        if op.name == "loop.for" and op.operands and op.operands[0] is value:
            limits += [] if op.attrs.get("at_most") is None else [op.attrs["at_most"]]
            limits += _extents(module, op.regions[0].block.args[0])
    return min(limits, default=None)


def _extents(module: Module, index: Value) -> list[int]:
    """Return the lengths of the axes that a run-time integer subscripts by itself."""
    indexed = [op for op in module.walk() if op.spec in _INDEXED and op.operands[-1] is index]
    return [op.attrs["shape"][0] if op.spec is ROW.spec else shape_of(op.operands[0])[0] for op in indexed]


def _by_name(program: Program, names: list[str], data: Any) -> dict[str, Any]:
    if isinstance(data, Mapping):
        missing = [n for n in names if n not in data]
        known = {p.name for p in program.inputs}
        unknown = [n if isinstance(n, str) else f"{n!r}, which is no text" for n in data if n not in known]
        if missing or unknown:
            raise TraceError(
                f"calibrate: missing inputs: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}",
                at=program.loc,
            )
        return dict(data)
    arrays = data if isinstance(data, tuple) else (data,)
    if len(arrays) != len(names):
        raise TraceError(
            f"calibrate: {len(arrays)} arrays for the {len(names)} secret inputs ({', '.join(names)}) of program "
            f"{program.name}; give one for each, as a tuple or a dictionary",
            at=program.loc,
        )
    return dict(zip(names, arrays, strict=True))


def _data(name: str, given: Any) -> np.ndarray[Any, Any]:
    try:
        array = plain_array(given)
    except (DtypeError, RangeError) as error:
        raise type(error)(f"calibrate: data for {name}: {error.message}") from None
    if not array.size:
        raise RangeError(f"calibrate: the data for {name} are empty (shape {array.shape}); give at least one sample")
    most = float(np.max(np.abs(array)))
    if 0 < most < SMALLEST:
        raise RangeError(
            f"calibrate: the data for {name} are at most {most:.3g}, and products of such numbers vanish; give at "
            f"least {SMALLEST:g}: multiply them by a public number"
        )
    return array


def _trips(program: Program, module: Module, name: str, given: Mapping[str, Any]) -> int:
    """The run-time integer to calibrate with: the largest that the compiled program will take."""
    limit = trip_limit(module, name)
    value = given.get(name, _assume_limit(module, name))
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DtypeError(
            f"calibrate: {name} is a {type(value).__name__}; give the largest whole number that it will have",
            at=program.loc,
        )
    if value < 0 or (limit is not None and value > limit):
        allowed = (
            "0 or more" if limit is None else f"0 to {limit}, which at_most of its loop, or what it subscripts, allows"
        )
        raise RangeError(f"calibrate: {name} is {value}; give {allowed}", at=program.loc)
    return int(value)


def _stack(
    program: Program, name: str, shape: Shape, array: np.ndarray[Any, Any], is_batched: bool
) -> np.ndarray[Any, Any]:
    if array.shape == shape:
        return array[None]
    if array.shape[1:] == shape and array.ndim == len(shape) + 1 and len(array):
        return array
    is_rows = 0 < array.ndim == len(shape) and array.shape[1:] == shape[1:]
    if is_rows and len(array) >= shape[0]:
        whole = len(array) // shape[0]
        blocks = array[: whole * shape[0]].reshape(whole, *shape)
        return blocks if len(array) % shape[0] == 0 else np.concatenate([blocks, array[None, -shape[0] :]])
    if is_rows and is_batched:
        return array[np.arange(shape[0]) % len(array)][None]
    raise ShapeError(
        f"calibrate: data for {name} have shape {array.shape}; the input has shape {shape}: give that, "
        f"a stack (samples, {', '.join(map(str, shape))}), or {shape[0] if shape else 1} and more rows of "
        f"shape {shape[1:]}"
        + ("; fewer are not repeated, for the program does not compute every row alike and apart" if is_rows else ""),
        at=program.loc,
    )
