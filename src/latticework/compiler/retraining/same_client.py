"""Compare client files: whether the client of an old model may go on with a new one.

It may where whatever it does is right for the new model too, and all that it states holds of it: its steps are equal,
what it lets pass is accepted, and no result is larger or farther off than it says. What differs is said in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from latticework.errors.escaping import plain_text
from latticework.errors.rounded_numbers import write_value
from latticework.plan.schema.batch import Batch
from latticework.plan.schema.conditions import list_conditions
from latticework.plan.schema.constraints import Constraint
from latticework.plan.schema.feedback_limits import FeedbackLimits
from latticework.plan.schema.schema import ClientSpec, IndexInput, Output, SecretInput
from latticework.values.packing.key_manifest import KeySpec, missing_keys

# Parts of a client file that are equal or have to be, and what they are called. Of the others each has a rule below.
EQUAL = {
    "name": "the name of the program",
    "chain": "the parameters",
    "arguments": "what users give",
    "results": "what users get",
    "owner": "what the owner computes before encryption or after decryption",
    "columns": "the names of columns",
    "slot_rows": "which rows of slots hold the same",
}
RULED = ("inputs", "outputs", "manifest", "precision_bits", "batch", "feeding", "constraints")
TOLD = ("declared",)  # where users declare their inputs, for messages alone
assert {*EQUAL, *RULED, *TOLD} == {each.name for each in fields(ClientSpec)}


def find_differences(old: ClientSpec, new: ClientSpec) -> list[str]:
    """Find why the client file of an old model is none for a new one; nothing if it is."""
    return list(_differences(old, new))


def find_missing(old: ClientSpec, new: ClientSpec) -> list[KeySpec]:
    """Evaluation keys of a new model that none of the old one serves."""
    return missing_keys(new.manifest.specs, old.manifest.specs, new.chain.covers)


def _differences(old: ClientSpec, new: ClientSpec) -> Iterator[str]:
    yield from (f"{what} changed" for name, what in EQUAL.items() if getattr(old, name) != getattr(new, name))
    yield from _of_inputs(old, new)
    yield from _of_outputs(old, new)
    if new.precision_bits < old.precision_bits:
        yield f"precision_bits={new.precision_bits:g} is less than {old.precision_bits:g}"
    if missing := find_missing(old, new):
        yield f"{len(missing)} evaluation keys are new"
    if _name_rows(old.batch) != _name_rows(new.batch):
        yield "rows of a batch lie along another axis, or there are others"
    yield from _of_feeding(old.feeding, new.feeding)
    for each in new.constraints:
        if not any(_implies(held, each) for held in old.constraints):
            place, given = plain_text(each.place), plain_text(each.input)
            yield f"{plain_text(each.function)} at {place} takes other parts of {given}, or in another range"


def _of_inputs(old: ClientSpec, new: ClientSpec) -> Iterator[str]:
    if [i.name for i in old.inputs] != [i.name for i in new.inputs]:
        yield "the inputs are others"
        return
    for was, now in zip(old.inputs, new.inputs, strict=True):
        name = f"input {plain_text(was.name)}"
        if isinstance(was, IndexInput) or isinstance(now, IndexInput):
            if not (isinstance(was, IndexInput) and isinstance(now, IndexInput)):
                yield f"{name} is another kind of input"
            elif now.limit < was.limit:
                yield f"{name} may be {now.limit} at most, not {was.limit}"
            continue
        if replace(was, low=0.0, high=0.0) != replace(now, low=0.0, high=0.0):
            yield f"{name} is {_name_place(was, now)}"
        if not (now.low <= was.low and was.high <= now.high):
            yield f"{name} is accepted in {_interval(now.low, now.high)}, not all of {_interval(was.low, was.high)}"


def _of_outputs(old: ClientSpec, new: ClientSpec) -> Iterator[str]:
    if [o.name for o in old.outputs] != [o.name for o in new.outputs]:
        yield "the outputs are others"
        return
    for was, now in zip(old.outputs, new.outputs, strict=True):
        name = f"output {plain_text(old.output_labels[was.name])}"
        if (was.shape, was.pack, was.level, was.scale) != (now.shape, now.pack, now.level, now.scale):
            yield f"{name} is {_name_place(was, now)}"
        yield from (f"{name}: {said}" for said in _of_bounds(was, now))


def _of_bounds(was: Output, now: Output) -> Iterator[str]:
    """Find what an output states that is not true of the new one: its client takes results for right by that."""
    if was.reach is not None and now.reach is None:
        yield "its error bound is no longer proved for every input"
    elif was.reach is not None and now.reach is not None and now.reach > was.reach:
        yield f"it can be {_number(now.reach)} large, not {_number(was.reach)}"
    elif now.reach is None and now.magnitude > was.magnitude:
        yield f"it is {_number(now.magnitude)} large in calibration, not {_number(was.magnitude)}"
    for what, before, after in (
        ("error bound", was.error_bound, _stretch_bound(was, now)),
        ("usual error", was.usual_error, now.usual_error),
        ("error of approximated functions", was.approximation, now.approximation),
    ):
        if after > before:
            yield f"its {what} is {_number(after)}, not {_number(before)}"
    known = {replace(each, place="") for each in was.conditions}  # lines of a program move
    if was.shape == now.shape and np.any(now.mask_wrapping(now.shape) & ~was.mask_wrapping(was.shape)):
        yield "more of its elements may wrap around"
    if new := [each for each in now.conditions if replace(each, place="") not in known]:
        yield f"its error bound has new conditions: {list_conditions(new)}"


def _stretch_bound(was: Output, now: Output) -> float:
    """The error bound of results as large as the old client takes for usual ones, where nothing is proved of larger
    ones than calibration has: errors grow with values."""
    if now.reach is not None or not now.magnitude:
        return now.error_bound
    return now.error_bound * max(1.0, was.magnitude / now.magnitude)


def _name_rows(batch: Batch | None) -> tuple[int, tuple[str, ...], tuple[int, ...]] | None:
    """Name where rows of a batch lie; not what keeps others together, nor how many calibration had."""
    return None if batch is None else (batch.rows, batch.inputs, batch.axes)


def _of_feeding(was: FeedbackLimits | None, now: FeedbackLimits | None) -> Iterator[str]:
    if was is None or now is None:
        if was is not now:
            yield "results are fed back otherwise"
        return
    if was.sources != now.sources:
        yield "other results are fed back"
    elif now.runs < was.runs:
        yield f"{now.runs} runs may follow each other, not {was.runs}"
    elif any(a > b for new, old in zip(now.gains, was.gains, strict=True) for a, b in zip(new, old, strict=True)):
        yield "errors grow faster where results are fed back"


def _implies(held: Constraint, wanted: Constraint) -> bool:
    """Whether what meets the first also meets the second."""
    same = replace(held, low=0.0, high=0.0, function="", place="") == replace(
        wanted, low=0.0, high=0.0, function="", place=""
    )
    return same and wanted.low <= held.low and held.high <= wanted.high


def _name_place(was: SecretInput | Output, now: SecretInput | Output) -> str:
    """Say how two values of one name lie otherwise."""
    if was.shape != now.shape:
        return f"of shape {now.shape}, not {was.shape}"
    if was.pack != now.pack:
        return "laid out otherwise"
    if was.level != now.level:
        return f"at level {now.level}, not {was.level}"
    return "at another scale" if was.scale != now.scale else "fed by another result"


def _interval(low: float, high: float) -> str:
    return f"[{_number(low)}, {_number(high)}]"


def _number(value: float) -> str:
    return write_value(float(f"{value:.6g}"))
