"""Any number of rows, and stacks of inputs: cut into the runs of a program, and put together again.

An input may be given as the program declares it; as rows, any number of them, along its batch axis where the program
has one (`plan.batch`); or as a stack (runs, *shape), one whole input for each run. What is given once in a stack's
company is the same for all runs, and is encrypted once. The last run is filled up with copies of the last row, which
is as good as the others, and their results are cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import FormatError, ShapeError
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import ClientSpec, SecretInput
from latticework.values.inputs.foreign_arrays import say_one_row

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Extent:
    """The amount that is computed at once, where it is not one run of the program as compiled.

    runs  of the program, at least 1; a plan for batches carries several out in one of its own (`ClientSpec.runs_for`)
    rows  along its batch axis, in all runs; None: a stack of whole inputs, one for each run
    """

    runs: int
    rows: int | None = None

    def __str__(self) -> str:
        if self.rows is None:
            return f"a stack of {self.runs}"
        return "1 row" if self.rows == 1 else f"{self.rows} rows"


def in_runs(spec: ClientSpec, values: Mapping[str, Any]) -> tuple[dict[str, Any], Extent | None]:
    """Inputs of the plan cut into runs: what differs from run to run as a stack (runs, *shape), the rest as it is.

    values   arrays and integers by name, some of the inputs or all
    returns  None where everything has the shape that was compiled
    raises   ShapeError for a shape that fits in no way, and for inputs of different numbers of rows or runs
    """
    found = dict(values)
    extents: dict[str, Extent] = {}
    given = {i.name: np.shape(values[i.name]) for i in spec.secret_inputs if i.name in values}
    specs = {i.name: i for i in spec.secret_inputs}
    for name, shape in given.items():
        extent = extent_of(spec, specs[name], shape)
        if extent is not None:
            extents[name] = extent
    batched = () if spec.batch is None else spec.batch.inputs
    if any(extent.rows is not None for extent in extents.values()):
        extents |= {name: Extent(1, given[name][0]) for name in batched if name in given and name not in extents}
    if len(set(extents.values())) > 1:
        told = ", ".join(f"{name} of shape {given[name]} is {extent}" for name, extent in extents.items())
        raise ShapeError(f"program {spec.name}: {told}; give as many rows, or runs, of each of these inputs")
    if not extents:
        return found, None
    extent = next(iter(extents.values()))
    if extent.rows is not None:
        for name in extents:
            found[name] = _fill(np.asarray(values[name]), extent, specs[name].shape)
    return found, extent


def extent_of(spec: ClientSpec, wanted: SecretInput, shape: tuple[int, ...]) -> Extent | None:
    """The extent of an input of `shape`, None for the shape that was compiled; ShapeError if it fits in no way."""
    if shape == wanted.shape:
        return None
    if len(shape) == len(wanted.shape) + 1 and shape[1:] == wanted.shape and shape[0]:
        return Extent(shape[0])
    fits = 0 < len(shape) == len(wanted.shape) and shape[0] and shape[1:] == wanted.shape[1:]
    batch = spec.batch
    if fits and batch is not None and wanted.name in batch.inputs:
        return Extent(batch.runs(shape[0]), shape[0])
    raise ShapeError(
        f"program {spec.name}, input {wanted.name} has shape {shape}, the program was compiled for {wanted.shape}"
        f"{_remedy(spec, wanted, shape, fits=bool(fits))}"
    )


def _remedy(spec: ClientSpec, wanted: SecretInput, shape: tuple[int, ...], *, fits: bool) -> str:
    if one_row := say_one_row(shape, wanted.shape):
        return f"; {one_row}"
    if np.prod(shape, dtype=int) == np.prod(wanted.shape, dtype=int):
        return f"; reshape it to {wanted.shape}"
    stack = f"a stack (runs, {', '.join(map(str, wanted.shape))})" if wanted.shape else "a list of numbers, one a run"
    if not fits:
        rows = wanted.shape[1:] if spec.batch is not None and wanted.name in spec.batch.inputs else None
        any_rows = "" if rows is None else f"any number of rows of shape {rows}, or "
        return f"; give that, {any_rows}{stack} for several runs"
    told = "" if spec.batch is None else spec.batch.reason(wanted.name)
    reason = told and f" ({told})"
    return (
        f", and its rows cannot be padded or split: the program does not compute each of them alike and apart from the "
        f"others{reason}; give {wanted.shape[0]} rows, {stack} for several runs, or compile it for {shape}"
    )


def _fill(array: Array, extent: Extent, shape: tuple[int, ...]) -> Array:
    """Rows as whole runs (runs, *shape), the last row repeated at the end."""
    missing = extent.runs * shape[0] - len(array)
    return np.concatenate([array, np.repeat(array[-1:], missing, axis=0)]).reshape(extent.runs, *shape)


def of_run(value: Any, shape: tuple[int, ...], run: int) -> Any:
    """An input in one run: its own part of a stack, or what is the same for all."""
    return value[run] if np.ndim(value) > len(shape) else value


def of_items(spec: ClientSpec, extent: Extent, arrays: Sequence[Array]) -> Sequence[Array]:
    """The array of every input of the program, from those of all runs of the plan, which may hold several each."""
    return arrays if spec.rows == 1 else list(np.concatenate(arrays)[: extent.runs])


def put_together(spec: ClientSpec, extent: Extent | None, outputs: Sequence[Sequence[Array]]) -> list[Array]:
    """The results of all runs, by output: one after the other along the batch axis and cut to the rows, or stacked.

    outputs  of every output of the plan, its array in every run
    """
    if extent is None:
        return [array for (array,) in outputs]
    if extent.rows is None:
        return [np.stack(arrays) for arrays in outputs]
    assert spec.batch is not None
    pairs = zip(outputs, spec.batch.axes, strict=True)
    return [np.concatenate(arrays, axis).take(range(extent.rows), axis) for arrays, axis in pairs]


def joined_extent(spec: ClientSpec, parts: Sequence[tuple[str, Extent | None, Sequence[str]]]) -> Extent | None:
    """Join the extents of inputs that come in parts.

    parts   what each is called, its extent, and the inputs it holds
    raises  ShapeError for parts of different extents
    """
    known = [(name, extent) for name, extent, _ in parts if extent is not None]
    if not known:
        return None
    first, extent = known[0]
    batched = set() if spec.batch is None or extent.rows is None else set(spec.batch.inputs)
    for name, other, inputs in parts:
        if other not in (None, extent) or (other is None and batched & set(inputs)):
            told = other or f"{spec.batch.rows if spec.batch else 1} rows"
            raise ShapeError(
                f"program {spec.name}: {first} holds {extent} and {name} {told}; encrypt as many rows, or runs, in both"
            )
    check_extent(spec, extent)
    return extent


def check_extent(spec: ClientSpec, extent: Extent | None) -> None:
    """FormatError for an extent that the program cannot have; it may come from a file."""
    if extent is None or extent.rows is None:
        return
    if spec.batch is None or not spec.batch.inputs or spec.batch.runs(extent.rows) != extent.runs:
        raise FormatError(
            f"program {spec.name}: the ciphertexts are said to hold {extent.rows} rows in {extent.runs} runs, which "
            "this program cannot have; the file was altered"
        )


def check_runs(spec: ClientSpec, extent: Extent, counts: Mapping[str, int]) -> None:
    """FormatError unless there are ciphertexts for every run: else a short file could ask for any number of runs.

    counts  ciphertexts of each input
    """
    runs = spec.runs_for(extent.runs)
    differing = [i.name for i in spec.secret_inputs if counts[i.name] == runs * i.pack.count]
    rows = set() if spec.batch is None or extent.rows is None else set(spec.batch.inputs)
    if not differing or not rows <= set(differing):
        raise FormatError(
            f"program {spec.name}: the inputs are said to be {extent} in {runs} runs, but "
            f"{', '.join(rows - set(differing)) or 'they'} have no ciphertexts for so many; the file was altered"
        )


def extent_data(extent: Extent | None) -> dict[str, list[int]]:
    """The data of an extent in a file."""
    return {} if extent is None else {"extent": [extent.runs, *([] if extent.rows is None else [extent.rows])]}


def extent_from(extras: Mapping[str, Any]) -> Extent | None:
    """Read an extent from what `extent_data` gave; FormatError for anything else."""
    data = extras.get("extent")
    if data is None:
        return None
    if not isinstance(data, list) or len(data) not in (1, 2) or any(type(n) is not int or n < 1 for n in data):
        raise FormatError("the ciphertext file holds a number of rows or runs that is none; it was altered")
    return Extent(*data)


def has_rows(spec: ClientSpec, wanted: SecretInput, array: npt.NDArray[Any]) -> bool:
    """Whether the first axis of an input is of runs, or of rows that are computed apart from each other."""
    batched = () if spec.batch is None else spec.batch.inputs
    return np.ndim(array) == len(wanted.shape) + 1 or wanted.name in batched
