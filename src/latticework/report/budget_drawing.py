"""The time of a run against the budget of memory, from the smallest that is enough to all that a run has a use for."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from latticework.errors.escaping import html_text
from latticework.plan.analysis.memory_plan import BudgetPoint
from latticework.report.budget_records import UnderBudget
from latticework.report.drawing_axes import ValueAxis, gutter, round_name, round_ratios, rule, tick, time_steps
from latticework.report.markup import percent
from latticework.report.quantities import count, duration, size

TOP = 34  # two rows of words
PLOT = 170
AXIS = 24
WIDE = 10_000  # units of the plot from left to right
MARGIN = 0.012  # of the width, at both ends
LEGEND = '<span><i class="dot k-use"></i>first run of a server</span><span><i class="dot k-kept"></i>later runs</span>'


def time_by_budget(found: UnderBudget) -> str:
    """The drawing with its legend, as HTML; nothing where one budget is as good as another."""
    if len(found.curve) < 2:
        return ""
    points = sorted((*found.curve, found.chosen), key=lambda point: point.shares.budget_bytes)
    least, most = points[0].shares.budget_bytes, points[-1].shares.budget_bytes
    bottom, height = TOP + PLOT, TOP + PLOT + AXIS
    axis = ValueAxis(1.08 * max(point.shares.seconds for point in points), TOP, bottom, time_steps)

    def x_of(value: float) -> float:
        return MARGIN + (1 - 2 * MARGIN) * log(value / least) / log(most / least)

    places = [x_of(point.shares.budget_bytes) for point in points]
    parts = [*axis.rules(), rule(bottom), *_resident(found.shares.resident_seconds, axis)]
    for value in round_ratios(least, most):
        parts.append(tick(percent(x_of(value), 1), bottom, round_name(value, size), _anchor(x_of(value), 0.03)))
    parts.append(_line("curve later", places, [axis.y(point.later_seconds) - TOP for point in points]))
    parts.append(_line("curve", places, [axis.y(point.shares.seconds) - TOP for point in points]))
    parts += _draw_choice(found.chosen, x_of(found.shares.budget_bytes), bottom)
    for point, place in zip(points, places, strict=True):
        parts += _points(point, percent(place, 1), axis, " chosen" * (point is found.chosen))
    parts.append(f'<text x="{percent(MARGIN, 1)}" y="12">smallest {size(least)}</text>')
    last = found.curve[-1].shares.budget_bytes
    if last == most:
        words = f"everything in memory {size(most)}"
        parts.append(f'<text x="{percent(1 - MARGIN, 1)}" y="12" text-anchor="end">{words}</text>')
    return (
        f'<div class="timeline">{gutter(axis.names(duration), height)}<svg width="100%" height="{height}" role="img" '
        f'aria-label="{html_text(_describe_curve(found))}">{"".join(parts)}</svg></div><div class="key">{LEGEND}</div>'
    )


def _describe_curve(found: UnderBudget) -> str:
    """The drawing in words."""
    told = [
        f"with {size(point.shares.budget_bytes)}, {words}, {duration(point.shares.seconds)} and "
        f"{duration(point.later_seconds)}"
        for point, words in (
            (found.curve[0], "the smallest that is enough"),
            (found.chosen, "the chosen budget"),
            (found.curve[-1], "which is all that it has a use for"),
        )
    ]
    return (
        f"Predicted time of a run against memory, of the first run of a server and of later ones: {'; '.join(told)}. "
        f"With all in memory from the start a run takes {duration(found.shares.resident_seconds)}. The numbers are in "
        "the table below."
    )


def _resident(seconds: float, axis: ValueAxis) -> list[str]:
    """The time that no budget betters."""
    y = axis.y(seconds)
    return [
        f'<line class="limit" x1="0" x2="100%" y1="{y:g}" y2="{y:g}"/>',
        f'<text class="label" x="{percent(1 - MARGIN, 1)}" y="{y + 17:g}" text-anchor="end">'
        f"{duration(seconds)} with all in memory from the start</text>",
    ]


def _line(classes: str, places: Sequence[float], heights: Sequence[float]) -> str:
    """A line through points, drawn as wide as the page."""
    points = " ".join(f"{WIDE * place:.0f},{height:.1f}" for place, height in zip(places, heights, strict=True))
    return (
        f'<svg y="{TOP}" width="100%" height="{PLOT}" preserveAspectRatio="none" viewBox="0 0 {WIDE} {PLOT}">'
        f'<polyline class="{classes}" points="{points}"/></svg>'
    )


def _draw_choice(point: BudgetPoint, place: float, bottom: float) -> list[str]:
    """A line up from the budget, with its name and times at its end."""
    anchor, x = _anchor(place, 0.2), percent(place, 1)
    words = (
        f"{size(point.shares.budget_bytes)}: {duration(point.shares.seconds)}, later {duration(point.later_seconds)}"
    )
    return [
        f'<line class="choice" x1="{x}" x2="{x}" y1="{TOP - 4}" y2="{bottom}"/>',
        f'<text class="label" x="{x}" y="{TOP - 8}" text-anchor="{anchor}">{words}</text>',
    ]


def _anchor(place: float, near: float) -> str:
    """The SVG text anchor at `place`, such that words do not leave the drawing."""
    return "start" if place < near else "end" if place > 1 - near else "middle"


def _points(point: BudgetPoint, x: str, axis: ValueAxis, classes: str) -> list[str]:
    """Draw points of a later run and of a first one, to hover over."""
    shares, parts = point.shares, []
    of_later = "point later", "later runs", point.later_seconds, point.later
    for name, words, seconds, keys in (of_later, ("point", "first run", shares.seconds, shares.keys)):
        said = html_text(
            f"{size(shares.budget_bytes)}, {words}: {duration(seconds)}, {count(keys.loads)} rows read, waits "
            f"{duration(keys.total.stall_seconds)}; {size(shares.keys.peak_bytes)} for keys, "
            f"{size(shares.kept.bytes)} for constants"
        )
        parts.append(
            f'<circle class="{name}{classes}" cx="{x}" cy="{axis.y(seconds):.1f}" r="4"><title>{said}</title></circle>'
        )
    return parts
