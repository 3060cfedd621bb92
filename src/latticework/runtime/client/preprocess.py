"""Inputs as the owner has them: steps before encryption, and values that are not taken told in the owner's terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.errors import RangeError
from latticework.plan.client_steps.run_steps import UnfitInputError, accepted_spans, prepare, prepare_fitting, raw_array
from latticework.plan.client_steps.stages import Given, OwnerStages
from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.exchange.input_errors import Array, Mask, Misfits

FILTER = "leave it out"


def prepared_inputs(spec: ClientSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of the program from what the owner gives, by name; accepted ranges are not looked at.

    raises   ShapeError, DtypeError or RangeError
    """
    return dict(given) if spec.owner is None else prepare(spec.owner, spec.name, given)


def fitting_inputs(spec: ClientSpec, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[Misfits]]:
    """The same of rows, and runs, that all steps take; others are replaced by copies of one that fits.

    returns  the inputs, and what was replaced
    raises   ShapeError or DtypeError; RangeError where a step takes none of the rows
    """
    stages = spec.owner
    if stages is None:
        return dict(given), []
    values, found = dict(given), list[Misfits]()
    bad: dict[str, Mask] = {}
    while True:
        try:
            return prepare_fitting(stages, spec.name, values), found
        except UnfitInputError as error:
            known = {each.name: each for each in stages.given}
            raw = {name: raw_array(spec.name, known[name], values[name]) for name in error.given}
            if not all(has_rows(spec, known[name], array) for name, array in raw.items()):
                raise RangeError(str(error)) from None
            found += _of_steps(known, raw, error)
            for name, array in raw.items():
                bad[name] = bad.get(name, np.zeros(len(array), bool)) | error.rows
                if bad[name].all():
                    raise RangeError(str(error)) from None
                array = np.array(array)
                array[bad[name]] = array[np.flatnonzero(~bad[name])[0]]
                values[name] = array


def _of_steps(known: Mapping[str, Given], raw: Mapping[str, Array], error: UnfitInputError) -> Iterator[Misfits]:
    for name, array in raw.items():
        is_whole = error.unfit is not None and error.unfit.shape == array.shape
        yield Misfits(
            name, error.unfit if is_whole and error.unfit is not None else error.rows, known[name].shape, True,
            error.why, FILTER, can_clip=False, columns=known[name].columns, by_rows=not is_whole,
        )  # fmt: skip


def has_rows(spec: ClientSpec, given: Given, array: Array) -> bool:
    """Whether the first axis of what the owner gives is of rows, or of runs."""
    if array.ndim == len(given.shape) + 1:
        return True
    batched = () if spec.batch is None or spec.owner is None else spec.owner.given_for(spec.batch.inputs)
    return given.name in batched


def in_owners_terms(spec: ClientSpec, given: Mapping[str, Any], misfits: Misfits) -> Iterator[Misfits]:
    """Express misfits of an encrypted input as they were given, where the inverses of steps tell that."""
    stage = None if spec.owner is None else spec.owner.prepared(misfits.input)
    if spec.owner is None or stage is None:
        yield misfits
        return
    known = {each.name: each for each in spec.owner.given}
    left = misfits.where.copy()
    for name in dict.fromkeys(piece.given for piece in stage.pieces):
        raw = raw_array(spec.name, known[name], given[name])
        if misfits.low is None:  # of a matter that no range tells
            off = misfits.where if misfits.where.shape == raw.shape and len(stage.pieces) == 1 else None
            low, high = None, None
        else:
            off, low, high = _beyond(spec, spec.owner, known[name], raw)
        if off is None or not off.any():
            continue
        rows = has_rows(spec, known[name], raw)
        if rows and misfits.has_rows:  # rounding may put a value beyond a span whose result is taken
            kept = misfits.where.reshape(len(misfits.where), -1).any(axis=1)
            off = off & kept.reshape(-1, *(1,) * (off.ndim - 1))
        left[_also(off, left, rows=rows and misfits.has_rows)] = False
        yield replace(
            misfits, input=name, where=off, shape=known[name].shape, has_rows=rows, low=low, high=high,
            columns=known[name].columns,
        )  # fmt: skip
    if left.any():
        single = known[stage.pieces[0].given] if len(stage.pieces) == 1 else Given(stage.input, ())
        why = misfits.why if misfits.low is None else f"{misfits.why} after the owner's steps"
        rows_off: Mask = np.any(np.reshape(left, (len(left) if misfits.has_rows else 1, -1)), axis=1)
        least, most = (end if isinstance(end, float) else None for end in (misfits.low, misfits.high))
        where: Mask = rows_off if misfits.has_rows else rows_off.reshape(())
        yield replace(misfits, input=single.name, where=where, shape=(), by_rows=True, why=why, low=least, high=most)


def _beyond(
    spec: ClientSpec, stages: OwnerStages, given: Given, raw: Array
) -> tuple[Mask | None, Array | None, Array | None]:
    """Find elements of what is given that are beyond their spans, and these; None where none are known."""
    spans = accepted_spans(stages, {i.name: (i.low, i.high) for i in spec.secret_inputs})
    if given.name not in spans:
        return None, None, None
    numbers = _numeric(raw)
    low, high = (_for_rows(end, numbers, given) for end in spans[given.name])
    return (numbers < low) | (numbers > high), low, high


def _also(off: Mask, left: Mask, *, rows: bool) -> Any:
    """Elements of an encrypted input that those of what is given explain: of the same rows, or all."""
    return off.reshape(len(off), -1).any(axis=1) if rows else np.ones(left.shape, bool)


def _numeric(raw: Array) -> Array:
    """Convert to float64, NaN where there are texts."""
    if raw.dtype.kind in "biuf":
        return raw.astype(np.float64)
    numbers = [value if isinstance(value, int | float | np.number) else np.nan for value in raw.reshape(-1)]
    return np.array(numbers, dtype=np.float64).reshape(raw.shape)


def _for_rows(end: Array, raw: Array, given: Given) -> Array:
    """An end of ranges, which rows share, for any number of them."""
    is_rows = raw.ndim == len(given.shape) and raw.shape != given.shape
    return end[:1] if is_rows else end
