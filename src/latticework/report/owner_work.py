"""What the owner computes before encryption and after decryption, and what of the model it thereby learns."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import numpy as np

from latticework.owner.run import accepted_spans
from latticework.owner.stages import Finished, OwnerStages, Steps
from latticework.owner.step import OwnerStep
from latticework.plan.schema import ClientSpec
from latticework.report.data import ColumnRange, OwnerWork, StageRow
from latticework.report.markup import code, fold, section, table
from latticework.report.quantities import real
from latticework.report.quantities import shape as shape_text
from latticework.report.text_table import WIDTH, clip, columns
from latticework.words.escaping import html_text, plain_text

MAX_COLUMNS = 4096  # whose ranges are told
_SHOWN = 12  # of them in text
_HEADS = ("what the owner does", "shape", "steps")
_RANGE_HEADS = ("column", "of", "range accepted")
_LEARNED = "The client's file holds of the model: "


def owner_work(spec: ClientSpec) -> OwnerWork | None:
    """Of a program; None where its owner only encrypts and decrypts."""
    stages = spec.owner
    if stages is None:
        return None
    shapes = {each.name: each.shape for each in stages.given}
    before = [
        StageRow(piece.given, stage.input, shapes[piece.given], _told((*piece.steps, *stage.steps)))
        for stage in stages.before
        for piece in stage.pieces
    ]
    outputs = {output.name: output.shape for output in spec.outputs}
    after = [
        StageRow(each.name, " and ".join(each.reads()), outputs[each.output], _finished(each)) for each in stages.after
    ]
    return OwnerWork(tuple(before), tuple(after), tuple(_ranges(spec, stages)), _learned(stages))


def _told(steps: Steps) -> tuple[str, ...]:
    return tuple(step.words() for step in steps)


def _finished(result: Finished) -> tuple[str, ...]:
    """Its steps, after what another output does to its bounds."""
    doubt = (
        () if result.doubt is None else (f"errors up to how far {result.doubt.output} is from {result.doubt.clear:g}",)
    )
    return (*doubt, *_told(result.steps))


def _learned(stages: OwnerStages) -> tuple[str, ...]:
    """What of the model's weights is in the steps, each kind once."""

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
    """What is accepted in each column, in all of its rows."""
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


def owner_text(work: OwnerWork) -> list[str]:
    """The section of a text."""
    lines = ["", "At the owner, in the clear"]
    rows = [[clip(said, 36), shape_text(row.shape), clip(steps, 50)] for row, said, steps in _rows(work)]
    lines += columns(_HEADS, rows, left=3)
    if work.ranges:
        rows = [[each.given, _column(each), _span(each)] for each in work.ranges[:_SHOWN]]
        lines += ["", *columns(("given", "column", "range accepted"), rows, left=2)]
        if len(work.ranges) > _SHOWN:
            lines.append(f"  and {len(work.ranges) - _SHOWN} more columns")
    if work.learned:
        said = plain_text(_LEARNED + "; ".join(work.learned) + ".")
        lines += ["", *wrap(said, WIDTH, initial_indent="  ", subsequent_indent="  ")]
    return lines


def owner_html(work: OwnerWork) -> str:
    """The section of a page."""
    body = table(_HEADS, [[code(said), shape_text(row.shape), html_text(steps)] for row, said, steps in _rows(work)])
    if work.ranges:
        rows = [[html_text(_column(each)), code(each.given), _span(each)] for each in work.ranges]
        body += fold(f"ranges accepted in {len(rows)} columns", table(_RANGE_HEADS, rows, numbers=(2,)))
    if work.learned:
        body += f"<p>{html_text(_LEARNED + '; '.join(work.learned))}.</p>"
    return section("At the owner, in the clear", body)


def _rows(work: OwnerWork) -> Iterator[tuple[StageRow, str, str]]:
    for row in work.before:
        yield row, f"encrypts {row.of} from {row.name}", ", ".join(row.steps) or "joined"
    for row in work.after:
        yield row, f"makes {row.name} of {row.of}", ", ".join(row.steps) or "as decrypted"


def _column(each: ColumnRange) -> str:
    return f"{each.column} {each.name}".rstrip()


def _span(each: ColumnRange) -> str:
    return f"{real(each.low)} to {real(each.high)}"
