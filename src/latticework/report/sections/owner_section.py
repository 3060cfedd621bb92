"""Section on the owner's steps before encryption and after decryption, and what of the model they reveal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.run_steps import accepted_spans
from latticework.plan.client_steps.stages import Finished, OwnerStages, Steps
from latticework.plan.client_steps.step import OwnerStep
from latticework.plan.schema.schema import ClientSpec
from latticework.report.blocks import Cell, Section, Words, absent
from latticework.report.figure_labels import Column, Within, table
from latticework.report.quantities import count, real
from latticework.report.quantities import shape as shape_text

MAX_COLUMNS = 4096  # whose ranges are told
_SHOWN = 12  # of them in text, and on a page at once


@dataclass(frozen=True, slots=True)
class StageRow:
    """The owner's steps for an input or a result.

    name   of what is given, or of the result;  of  the encrypted input, or the decrypted output
    shape  of what is given, or of the output
    """

    name: Annotated[str, Column("what the owner does", row=lambda r: Cell(f"encrypts {r.of} from {r.name}", "code"))]
    of: Annotated[str, Within("name")]
    shape: Annotated[tuple[int, ...], Column("shape", lambda extents: Cell(shape_text(extents), "formula"))]
    steps: Annotated[tuple[str, ...], Column("steps", lambda steps: _steps(steps, "joined"))]


def _steps(steps: Sequence[str], none: str) -> Cell:
    return Cell("", asides=(("", ", ".join(steps) or none, ""),))


_MADE = {
    "name": Column("what the owner does", row=lambda r: Cell(f"makes {r.name} of {r.of}", "code")),
    "steps": Column("steps", lambda steps: _steps(steps, "as decrypted")),
}


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The range that a column of what is given has to lie in.

    name  of the column, where it is known
    """

    given: Annotated[str, Column("given", lambda name: Cell(name, "code"))]
    column: Annotated[int, Column("column", row=lambda each: f"{each.column} {each.name}".rstrip())]
    name: Annotated[str, Within("column")]
    low: Annotated[
        float, Column("range accepted", row=lambda each: f"{real(each.low)} to {real(each.high)}", number=True)
    ]
    high: Annotated[float, Within("low")]


@dataclass(frozen=True, slots=True)
class OwnerWork:
    """The owner's work in the clear.

    learned  what of the model's weights is in its steps, and so in the client's file
    """

    before: tuple[StageRow, ...]
    after: tuple[StageRow, ...]
    ranges: tuple[ColumnRange, ...]
    learned: tuple[str, ...]


def owner_sections(work: OwnerWork | None) -> tuple[Section, ...]:
    """Steps, ranges, and what they give away."""
    if work is None:
        return absent("owner")
    rest = f"ranges accepted in {count(max(0, len(work.ranges) - _SHOWN))} more columns"
    learned = f"The client's file holds of the model: {'; '.join(work.learned)}."
    blocks = (
        table("owner.before", StageRow, work.before),
        table("owner.after", StageRow, work.after, replaced=_MADE),
        table("owner.ranges", ColumnRange, work.ranges, most=_SHOWN, rest=rest, cut=_SHOWN),
        Words((learned,) if work.learned else (), data={"owner.learned": work.learned}),
    )
    return (Section("At the owner, in the clear", blocks),)


def owner_work(spec: ClientSpec) -> OwnerWork | None:
    """List the owner's work of a program; None where its owner only encrypts and decrypts."""
    stages = spec.owner
    if stages is None:
        return None
    shapes = {each.name: each.shape for each in stages.given}
    before = [
        StageRow(piece.given, stage.input, shapes[piece.given], _step_texts((*piece.steps, *stage.steps)))
        for stage in stages.before
        for piece in stage.pieces
    ]
    outputs = {output.name: output.shape for output in spec.outputs}
    after = [
        StageRow(each.name, " and ".join(each.reads()), outputs[each.output], _result_texts(each))
        for each in stages.after
    ]
    return OwnerWork(tuple(before), tuple(after), tuple(_ranges(spec, stages)), _list_weights(stages))


def _step_texts(steps: Steps) -> tuple[str, ...]:
    return tuple(step.words() for step in steps)


def _result_texts(result: Finished) -> tuple[str, ...]:
    """Its steps, after what another output does to its bounds."""
    doubt = (
        () if result.doubt is None else (f"errors up to how far {result.doubt.output} is from {result.doubt.clear:g}",)
    )
    return (*doubt, *_step_texts(result.steps))


def _list_weights(stages: OwnerStages) -> tuple[str, ...]:
    """List the kinds of the model's weights that the steps hold, each once."""

    def steps() -> Iterator[OwnerStep]:
        for stage in stages.before:
            for piece in stage.pieces:
                yield from piece.steps
            yield from stage.steps
        for each in stages.after:
            yield from each.steps

    told = [weight for step in steps() if (weight := step.weights())]
    if any(each.doubt for each in stages.after):
        told.append("how far results can be apart that a doubt is about")
    return tuple(dict.fromkeys(told))


def _ranges(spec: ClientSpec, stages: OwnerStages) -> Iterator[ColumnRange]:
    """List the range that is accepted in each column, in all of its rows."""
    spans = accepted_spans(stages, {i.name: (i.low, i.high) for i in spec.secret_inputs})
    for given in stages.given:
        width = given.shape[-1] if given.shape else 1
        if given.name not in spans or width > MAX_COLUMNS:
            continue
        low, high = (np.reshape(end, (-1, width)) for end in spans[given.name])
        for number, (least, most) in enumerate(zip(low.max(0), high.min(0), strict=True)):
            if np.isfinite([least, most]).any():
                name = given.columns[number] if given.columns else ""
                yield ColumnRange(given.name, number, name, float(least), float(most))
