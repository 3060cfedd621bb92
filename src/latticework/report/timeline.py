"""The level timeline: predicted time to the right, level upwards, colour by family, source lines below.

Horizontal lengths are percentages and vertical ones pixels, so that the drawing
fills any width and its text keeps its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import groupby

from latticework.errors.escaping import html_text
from latticework.lazy_dataclass import dataclass
from latticework.report.drawing_axes import rule, time_axis
from latticework.report.markup import percent
from latticework.report.quantities import count, duration

TOP = 22  # room for loop marks
BAND = 20
AXIS = 24
MAX_MOMENTS = 1500
MAX_NAMED = 3  # lines in a label
LABEL_SHARE = 0.1  # a source line shorter than this share of the width gets no label


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch of code for the timeline: one or more like instructions in a row.

    lines  (where, text) of the lines that cause it;  trips  how often it runs;  seconds  of every run but the first
    bootstrap  number of the call among those of `Bootstrapping` that it is part of
    """

    family: str = field(metadata={"key": "kind"})
    op: str
    level: int | None
    lines: tuple[tuple[str, str], ...]
    seconds: float
    trips: int
    instructions: int
    bootstrap: int | None = None


def timeline(code: Sequence[Moment]) -> str:
    """The drawing, as HTML with two SVGs: level names, and the plot."""
    moments = _visible(tuple(code))
    levels = [m.level for m in moments if m.level is not None]
    if not levels:
        return ""
    low, high = min(levels), max(levels)
    row = max(7, min(22, 280 // (high - low + 1)))
    bottom = TOP + row * (high - low + 1)
    height = bottom + 8 + BAND + AXIS
    total = sum(m.seconds for m in moments)
    parts = [rule(TOP + row * i) for i in range(high - low + 2)]
    parts += _bootstraps(moments, total, bottom)
    parts += _blocks(moments, total, lambda level: TOP + row * (high - level), row)
    parts += _loops(moments, total)
    parts += _band(moments, total, bottom + 8)
    parts += time_axis(total, bottom + 8 + BAND)
    gutter = _gutter(low, high, row, bottom)
    return (
        f'<div class="timeline"><svg width="62" height="{height}" aria-hidden="true">{gutter}</svg>'
        f'<svg width="100%" height="{height}" role="img" aria-label="Level and predicted time of every instruction">'
        f"{''.join(parts)}</svg></div>"
    )


def _visible(moments: tuple[Moment, ...]) -> tuple[Moment, ...]:
    """All moments, or the longest of very many, in order."""
    if len(moments) <= MAX_MOMENTS:
        return moments
    shortest = sorted((m.seconds for m in moments), reverse=True)[MAX_MOMENTS - 1]
    return tuple(m for m in moments if m.seconds >= shortest)


def _blocks(moments: tuple[Moment, ...], total: float, top_of: Callable[[int], int], row: int) -> list[str]:
    parts, start, level = [], 0.0, 0
    for moment in moments:
        level = moment.level if moment.level is not None else level
        number = "" if moment.instructions == 1 else f", {count(moment.instructions)} instructions"
        trips = "" if moment.trips == 1 else f", {count(moment.trips)} trips"
        title = f"{moment.op}, level {level}{number}{trips}: {duration(moment.seconds)}"
        parts.append(
            f'<rect class="f-{moment.family}" x="{percent(start, total)}" y="{top_of(level) + 1}" '
            f'width="{percent(moment.seconds, total)}" height="{row - 1}"><title>{html_text(title)}</title></rect>'
        )
        start += moment.seconds
    return parts


def _bootstraps(moments: tuple[Moment, ...], total: float, bottom: int) -> list[str]:
    """A ground under every bootstrap."""
    parts, start = [], 0.0
    for bootstrap, group in groupby(moments, key=lambda m: m.bootstrap):
        length = sum(m.seconds for m in group)
        if bootstrap is not None:
            parts.append(
                f'<rect class="bootstrap" x="{percent(start, total)}" y="{TOP}" width="{percent(length, total)}" '
                f'height="{bottom - TOP}"><title>bootstrap {bootstrap + 1}: {duration(length)}</title></rect>'
            )
        start += length
    return parts


def _loops(moments: tuple[Moment, ...], total: float) -> list[str]:
    """A bracket over every stretch that runs more than once."""
    parts, start = [], 0.0
    for trips, group in groupby(moments, key=lambda m: m.trips):
        length = sum(m.seconds for m in group)
        if trips > 1:
            left, right = percent(start, total), percent(start + length, total)
            middle = percent(start + length / 2, total)
            parts.append(
                f'<line class="loop" x1="{left}" x2="{right}" y1="{TOP - 5}" y2="{TOP - 5}"/>'
                f'<text x="{middle}" y="{TOP - 9}" text-anchor="middle">{count(trips)} trips</text>'
            )
        start += length
    return parts


def _band(moments: tuple[Moment, ...], total: float, y: int) -> list[str]:
    """The user's source lines that the moments above them come from."""
    parts, start = [], 0.0
    shade: dict[tuple[tuple[str, str], ...], int] = {}
    for lines, group in groupby(moments, key=lambda m: m.lines):
        length = sum(m.seconds for m in group)
        text = "; ".join(f"{where}  {said}" for where, said in lines)
        tone = shade.setdefault(lines, len(shade) % 2)
        left = percent(start, total)
        parts.append(
            f'<rect class="band{tone}" x="{left}" y="{y}" width="{percent(length, total)}" height="{BAND}">'
            f"<title>{html_text(text)}: {duration(length)}</title></rect>"
        )
        if length >= LABEL_SHARE * total:
            label = f'<text class="label" x="6" y="14">{html_text(_name_lines(lines))}</text>'
            parts.append(f'<svg x="{left}" y="{y}" width="{percent(length, total)}" height="{BAND}">{label}</svg>')
        start += length
    return parts


def _name_lines(lines: tuple[tuple[str, str], ...]) -> str:
    """line 18, or lines 18, 19 and 3 more."""
    numbers = [where.rsplit(":", 1)[-1] for where, _ in lines]
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    more = f" and {len(numbers) - MAX_NAMED} more" if len(numbers) > MAX_NAMED else ""
    return f"lines {', '.join(numbers[:MAX_NAMED])}{more}"


def _gutter(low: int, high: int, row: int, bottom: int) -> str:
    """Names of the levels, thinned out where rows are narrow."""
    every = max(1, -(-14 // row))
    parts = [
        f'<text x="52" y="{TOP + row * (high - level) + row / 2 + 4}" text-anchor="end">{name}</text>'
        for level in range(high, low - 1, -every)
        for name in [f"level {level}" if high > low else ""]
    ]
    parts.append(f'<text x="52" y="{bottom + 22}" text-anchor="end">source</text>')
    return "".join(parts)
