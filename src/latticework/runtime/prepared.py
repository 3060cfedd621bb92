"""Inputs as the owner has them: steps before encryption, and values that are not taken told in the owner's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from latticework.errors import RangeError
from latticework.owner.run import accepted_spans, place_of, prepare, raw_array
from latticework.owner.stages import Given, OwnerStages, Prepared
from latticework.plan.schema import ClientSpec
from latticework.words.figures import outside

_REMEDY = "the program's approximations are wrong outside: leave it out, or compile with calibrate= data that cover it"


def prepared_inputs(spec: ClientSpec, given: Mapping[str, Any], *, checked: bool = True) -> dict[str, Any]:
    """The inputs of the program from what the owner gives, by name.

    checked  whether values outside the accepted ranges are refused
    raises   ShapeError, DtypeError or RangeError
    """
    stages = spec.owner
    if stages is None:
        return dict(given)
    found = prepare(stages, spec.name, given)
    ranges = {i.name: (i.low, i.high) for i in spec.secret_inputs}
    for stage in stages.before if checked else ():
        low, high = ranges[stage.input]
        array = found.get(stage.input)
        if array is not None and ((array < low) | (array > high)).any():
            raise _refusal(spec, stages, stage, given, array)
    return found


def _refusal(
    spec: ClientSpec, stages: OwnerStages, stage: Prepared, given: Mapping[str, Any], prepared: np.ndarray[Any, Any]
) -> RangeError:
    """Names the first value that is outside its range, as it was given where that is told by the steps' inverses."""
    ranges = {i.name: (i.low, i.high) for i in spec.secret_inputs}
    spans = accepted_spans(stages, ranges)
    known = {each.name: each for each in stages.given}
    for name in dict.fromkeys(piece.given for piece in stage.pieces):
        if name not in spans:
            continue
        raw = _numeric(raw_array(spec.name, known[name], given[name]))
        low, high = (_for_rows(end, raw, known[name]) for end in spans[name])
        off = (raw < low) | (raw > high)
        if off.any():
            index = tuple(int(i) for i in np.argwhere(off)[0])
            ends = np.broadcast_to(low, raw.shape)[index], np.broadcast_to(high, raw.shape)[index]
            value = float(raw[index])
            told = outside(value, value, float(ends[0]), float(ends[1]))
            count = int(np.count_nonzero(off))
            more = f" (and {count - 1} more values are outside theirs)" if count > 1 else ""
            return RangeError(
                f"program {spec.name}, {place_of(known[name], index, raw.ndim)} is {told[0]}; accepted there is "
                f"{told[2]} to {told[3]}, as calibrated{more}: {_REMEDY}"
            )
    least, most = ranges[stage.input]
    index = tuple(int(i) for i in np.argwhere((prepared < least) | (prepared > most))[0])
    value = float(prepared[index])
    told = outside(value, value, least, most)
    single = known[stage.pieces[0].given] if len(stage.pieces) == 1 else Given(stage.input, ())
    where = place_of(single, index, prepared.ndim, with_column=False)
    return RangeError(
        f"program {spec.name}, {where} becomes {told[0]} before encryption; accepted is {told[2]} to {told[3]}, as "
        f"calibrated: {_REMEDY}"
    )


def _numeric(raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As float64, NaN where there are texts."""
    if raw.dtype.kind in "biuf":
        return raw.astype(np.float64)
    numbers = [value if isinstance(value, int | float | np.number) else np.nan for value in raw.reshape(-1)]
    return np.array(numbers, dtype=np.float64).reshape(raw.shape)


def _for_rows(end: np.ndarray[Any, Any], raw: np.ndarray[Any, Any], given: Given) -> np.ndarray[Any, Any]:
    """An end of ranges, which rows share, for any number of them."""
    is_rows = raw.ndim == len(given.shape) and raw.shape != given.shape
    return end[:1] if is_rows else end
