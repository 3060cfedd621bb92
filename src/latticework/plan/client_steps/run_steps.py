"""Carrying out what the owner computes: from what is given to what is encrypted, from what is decrypted to results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from latticework.errors import DtypeError, RangeError, ShapeError
from latticework.plan.client_steps.stages import Finished, Given, OwnerStages, Prepared, Steps, joined_shape
from latticework.plan.client_steps.step import Array, Bounded, Shape, Span, UnfitValueError
from latticework.values.inputs.foreign_arrays import as_array, as_cells, find_loss, say_one_row

MAX_SPANNED = 1 << 20
ROUNDING = 2.0**-44  # of float64 in these steps, relative


class UnfitInputError(ValueError):
    """Values that a step of the owner's does not take, in the owner's terms.

    given  the names of what they are in
    unfit  which elements of it, where that is one and steps before kept its columns apart; else None
    rows   which elements along the first axis they are in
    why    without any value
    """

    def __init__(self, text: str, given: Sequence[str], unfit: Array | None, rows: Array, why: str) -> None:
        self.given, self.unfit, self.rows, self.why = tuple(given), unfit, rows, why
        super().__init__(text)


def prepare(stages: OwnerStages, program: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The encrypted inputs that all pieces are given of, by name, and what needs no steps as it is.

    given   by the names that the owner uses; arrays of one run, of any number of rows, or stacks (runs, *shape)
    raises  ShapeError, DtypeError or RangeError in the owner's terms
    """
    try:
        return prepare_fitting(stages, program, given)
    except UnfitInputError as error:
        raise RangeError(str(error)) from None


def prepare_fitting(stages: OwnerStages, program: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Compute inputs as `prepare` does; raise UnfitInputError for values that a step does not take."""
    known = {each.name: each for each in stages.given}
    raw = {name: raw_array(program, known[name], value) for name, value in given.items() if name in known}
    inputs = {name: value for name, value in given.items() if name not in known}
    for stage in stages.before:
        if all(piece.given in raw for piece in stage.pieces):
            inputs[stage.input] = _prepare_input(stages, program, stage, raw)
    return inputs


def raw_array(program: str, given: Given, value: Any) -> Array:
    """Return a value as an array, of numbers or texts, of a shape that fits."""
    where = f"program {program}, input {given.name}"
    lost = find_loss(value)
    if lost:
        raise DtypeError(f"{where} is {lost}")
    if isinstance(value, set | frozenset):
        raise DtypeError(f"{where} is a {type(value).__name__}, which has no order; give sorted(value)")
    try:
        array = as_array(value)
        if array.dtype.kind in "USO":
            array = as_cells(value)
    except DtypeError:  # a frame with columns of texts
        array = as_cells(value)
    except ValueError:
        raise DtypeError(f"{where} is a {type(value).__name__} of rows of different lengths; give an array") from None
    if array.dtype.kind == "O" and any(isinstance(each, list | tuple | np.ndarray) for each in array.flat):
        raise DtypeError(f"{where} holds a list in the place of a number or a text; give one of these for each column")
    if array.ndim == 1 and len(given.shape) == 2 and given.shape[1] == 1:
        array = array[:, None]  # a list of texts, one a row
    is_rows = 0 < array.ndim == len(given.shape) and array.shape[1:] == given.shape[1:]
    is_stack = array.ndim == len(given.shape) + 1 and array.shape[1:] == given.shape
    if not array.size or not (array.shape == given.shape or is_rows or is_stack):
        one_row = say_one_row(array.shape, given.shape)
        raise ShapeError(
            f"{where} has shape {array.shape}; the program takes {given.shape}"
            + (f"; {one_row}" if one_row else _or_rows(given.shape))
        )
    return array


def _or_rows(shape: Shape) -> str:
    inner = ", ".join(map(str, shape))
    return f", or a stack (runs, {inner}) of such" if inner else ", or a list of numbers, one a run"


def _prepare_input(stages: OwnerStages, program: str, stage: Prepared, raw: Mapping[str, Array]) -> Array:
    known = {each.name: each for each in stages.given}
    pieces = []
    for piece in stage.pieces:
        steps = piece.steps if len(stage.pieces) > 1 else (*piece.steps, *stage.steps)
        pieces.append(_through(steps, raw[piece.given], program, known[piece.given], (piece.given,)))
    if len(pieces) == 1:
        return pieces[0]
    try:
        joined = np.concatenate(pieces, axis=stage.dim)
    except ValueError:
        shapes = ", ".join(f"{p.given} of shape {raw[p.given].shape}" for p in stage.pieces)
        raise ShapeError(f"program {program}: {shapes} do not go together; give as many rows of each") from None
    return _through(stage.steps, joined, program, None, [piece.given for piece in stage.pieces])


def _through(steps: Steps, array: Array, program: str, given: Given | None, of: Sequence[str]) -> Array:
    shape = array.shape
    named = given or Given("of several inputs joined", ())
    columns: tuple[int, ...] | None = tuple(range(named.shape[-1])) if named.shape else None
    for step in steps:
        try:
            array = step.apply(array)
        except UnfitValueError as error:
            index = error.index if columns is None else (*error.index[:-1], columns[error.index[-1]])
            place = describe_place(named, index, array.ndim, with_column=columns is not None)
            why = f"{error} ({error.by or step.words()})"
            unfit = _in_columns(error.unfit, columns, shape) if given is not None else None
            rows = np.any(np.reshape(error.unfit, (len(error.unfit) if error.unfit.ndim else 1, -1)), axis=1)
            raise UnfitInputError(f"program {program}, {place} {why}", of, unfit, rows, why) from None
        columns = None if columns is None else step.columns_of(columns)
    return array


def _in_columns(unfit: Array, columns: tuple[int, ...] | None, shape: Shape) -> Array | None:
    """Elements that steps made, as those of what was given, where each column is of one; None where that is not so."""
    if not shape or (columns is not None and unfit.shape != (*shape[:-1], len(columns))):
        return None
    if columns is None:
        return unfit if unfit.shape == shape else None
    marks = np.zeros(shape, dtype=bool)
    for number, column in enumerate(columns):
        marks[..., column] |= unfit[..., number]
    return marks


def describe_place(given: Given, index: tuple[int, ...], axes: int, *, with_column: bool = True) -> str:
    """Say where an element of an input's array lies: input x, row 3, column 7 (mean area).

    axes  of the given array: one more than are declared where it is a stack of runs
    """
    rank = len(given.shape)
    words, rest = [f"input {given.name}"], list(index)
    if rank and axes > rank:
        words.append(f"run {rest.pop(0)}")
    if rank > 1 and rest:
        words.append(f"row {rest.pop(0)}")
    if with_column and rest:
        name = given.columns[rest[-1]] if given.columns else ""
        where = f"column {rest[0]}" if len(rest) == 1 else f"element {tuple(rest)}"
        words.append(where + (f" ({name})" if name else ""))
    return ", ".join(words)


def accepted_spans(stages: OwnerStages, ranges: Mapping[str, tuple[float, float]]) -> dict[str, Span]:
    """Return the span that each element of the owner's inputs has to lie in, where that is one span, by name.

    Nothing is said of inputs with more than 2^20 elements on the way: files may announce any.
    ranges  of the encrypted inputs, by name
    """
    shapes = {each.name: each.shape for each in stages.given}
    spans: dict[str, Span] = {}
    for stage in stages.before:
        wanted = stages.shape_of(stage)
        sizes = [*_sizes(wanted, ()), *_sizes(_pieces_shape(stage, shapes), stage.steps)]
        sizes += [n for piece in stage.pieces for n in _sizes(shapes[piece.given], piece.steps)]
        if max(sizes) > MAX_SPANNED:
            continue
        low, high = ranges[stage.input]
        span = _back(stage.steps, (np.full(wanted, low), np.full(wanted, high)))
        at = 0
        for piece in stage.pieces:
            if span is None:
                continue
            own = joined_shape([(shapes[piece.given], piece.steps)], Prepared("", (piece,)))
            axis = len(own) + stage.dim
            width = own[axis] if own else 0
            cut = span if len(stage.pieces) == 1 else _cut(span, axis, at, width)
            at += width
            part = _back(piece.steps, cut)
            if part is not None:
                shape = shapes[piece.given]
                here = (np.broadcast_to(part[0], shape), np.broadcast_to(part[1], shape))
                before = spans.get(piece.given, here)
                spans[piece.given] = np.maximum(before[0], here[0]), np.minimum(before[1], here[1])
    return spans


def _pieces_shape(stage: Prepared, shapes: Mapping[str, Shape]) -> Shape:
    """The shape of the joined pieces of an encrypted input, before the steps on all of it."""
    return joined_shape([(shapes[piece.given], piece.steps) for piece in stage.pieces], replace(stage, steps=()))


def _sizes(shape: Shape, steps: Steps) -> list[int]:
    """Return the numbers of elements before and after every step."""
    sizes = [prod(shape)]
    for step in steps:
        shape = step.result_shape(shape)
        sizes.append(prod(shape))
    return sizes


def _cut(span: Span, axis: int, at: int, width: int) -> Span:
    places = range(at, at + width)
    return np.take(span[0], places, axis), np.take(span[1], places, axis)


def _back(steps: Steps, span: Span | None) -> Span | None:
    for step in reversed(steps):
        span = None if span is None else step.preimage(*span)
    return span


def finish(result: Finished, value: Array, error: float, doubted: tuple[Array, float] | None = None) -> Bounded:
    """A result of a decrypted output whose numbers are each off by at most `error`; infinite, it bounds nothing.

    doubted  the output that its doubt reads, where it has one, and how far that may be off
    """
    value = np.asarray(value, dtype=np.float64)
    is_bounded = bool(np.isfinite([error, doubted[1] if doubted else 0.0]).all())
    off: float | Array = error if is_bounded else 0.0
    if is_bounded and doubted and result.doubt is not None:
        more = result.doubt.errors(*doubted)
        off = error + more.reshape(*more.shape, *(1,) * (value.ndim - more.ndim))
    bounded = Bounded.within(value, off)
    for step in result.steps:
        bounded = step.bounded(bounded)
    if is_bounded:
        return bounded
    if bounded.certain is not None:
        return Bounded(bounded.value, None, None, np.zeros_like(bounded.certain))
    unknown = np.full(np.shape(bounded.value), np.inf)
    return Bounded(bounded.value, -unknown, unknown, None, bounded.names)


def finish_of(result: Finished, outputs: Mapping[str, Array], errors: Mapping[str, float]) -> Bounded:
    """A result of the decrypted outputs that it reads, by name, whose numbers may each be off by so much."""
    values = [(outputs[name], errors[name]) for name in result.reads()]
    return finish(result, *values[0], doubted=values[1] if len(values) > 1 else None)


def finish_exact(results: Sequence[Finished], outputs: Mapping[str, Array]) -> list[Any]:
    """All results of exact outputs, as the owner gets them."""
    return [to_result(finish_of(result, outputs, dict.fromkeys(outputs, 0.0))) for result in results]


def errors_of(bounded: Bounded) -> Array:
    """Return how far each number of a result may be off; of decisions 0 where they are certain, else infinite."""
    if bounded.certain is not None:
        return np.where(bounded.certain, 0.0, np.inf)
    low, high = bounded.span
    with np.errstate(invalid="ignore"):
        off = np.maximum(bounded.value - low, high - bounded.value)
    return np.where(np.isnan(off), np.inf, off) + ROUNDING * float(np.max(np.abs(bounded.value), initial=0.0))


def error_of(bounded: Bounded) -> float:
    """The most that a number of a result may be off; 0 for decisions that are certain, else infinite."""
    return float(np.max(errors_of(bounded), initial=0.0))


def to_result(bounded: Bounded) -> Any:
    """A result as the owner gets it: an array, or a dictionary, or for rows a list of dictionaries."""
    if not bounded.names:
        return np.array(bounded.value)

    def name_entries(row: Array) -> Any:
        if row.ndim > 1:
            return [name_entries(part) for part in row]
        return dict(zip(bounded.names, row.tolist(), strict=True))

    return name_entries(np.asarray(bounded.value))


def arrange_results(names: Sequence[str], values: Sequence[Any]) -> Any:
    """Results as the program returns them: one by itself, a tuple, or a dictionary where they have names."""
    if list(names) == ["result"]:
        return values[0]
    if list(names) == [f"result{i}" for i in range(len(names))]:
        return tuple(values)
    return dict(zip(names, values, strict=True))
