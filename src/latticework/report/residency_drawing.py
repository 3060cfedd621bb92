"""Keys in memory over the time of a run: a layer for each reason why rows are there, waits and source lines below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

from latticework.errors.escaping import html_text
from latticework.report.budget_records import KeyLoop, KeyStretch, UnderBudget
from latticework.report.drawing_axes import ValueAxis, gutter, time_axis
from latticework.report.markup import percent
from latticework.report.quantities import count, duration, size

Key = TypeVar("Key")

ROOM = 18  # above the plot for each row of marks
PLOT = 190
WAITS = 9
BAND = 20
AXIS = 24
WIDE = 10_000  # units of the plot from left to right
LABEL_SHARE = 0.08  # what is shorter than this share of the width gets no label
NUMBER_SHARE = 0.02  # and no number
LAYERS = (  # from below; class, what is in it
    ("k-use", "in use or read ahead"),
    ("k-read", "being read"),
    ("k-kept", "kept for a later use"),
    ("k-spent", "not used again"),
)


def residency(found: UnderBudget) -> str:
    """The drawing with its legend, as HTML; nothing where no key is read."""
    stretches, keys = found.over_time, found.shares.keys
    total = sum(one.seconds for one in stretches)
    if not keys.loads or total <= 0:
        return ""
    most = max(one.most_bytes for one in stretches)
    is_near = keys.budget_bytes <= 1.5 * most
    depth = max((loop.depth + 1 for loop in found.loops), default=0)
    has_bootstraps = any(one.bootstrap is not None for one in stretches)
    marks = ROOM * (min(depth, 2) + has_bootstraps)
    top, bottom = marks + 16, marks + 16 + PLOT
    scale = ValueAxis(1.02 * max(most, keys.budget_bytes * is_near), top, bottom)
    waits = bottom + 6
    band = waits + WAITS + 6
    height = band + BAND + AXIS
    numbered = all(loop.alike_start == loop.alike_end for loop in found.loops)
    parts = _bootstraps(stretches, total, marks, bottom, numbered=numbered)
    parts += [*scale.rules(), _layers(stretches, total, scale)]
    if is_near:
        y = scale.y(keys.budget_bytes)
        parts.append(f'<line class="limit" x1="0" x2="100%" y1="{y:g}" y2="{y:g}"/>')
        parts.append(f'<text class="label" x="100%" y="{y - 5:g}" text-anchor="end">{_budget_words(found)}</text>')
    parts += [part for loop in found.loops if loop.depth < 2 for part in _loop(loop, total, ROOM * (loop.depth + 1))]
    parts += _waits(stretches, total, waits)
    parts += _band(stretches, total, top, band)
    parts += time_axis(total, band + BAND)
    names = [
        *scale.names(size),
        *[(marks - 7, "bootstrap")] * has_bootstraps,
        (waits + WAITS / 2, "waits"),
        (band + BAND / 2, "source"),
    ]
    said = html_text(
        f"Keys in memory over the {duration(total)} of a run: at most {size(most)}; the budget for keys is "
        f"{size(keys.budget_bytes)}; {count(round(keys.total.stalls))} waits of {duration(keys.total.stall_seconds)} "
        "together. The numbers are in the table below."
    )
    return (
        f'<div class="timeline">{gutter(names, height)}<svg width="100%" height="{height:g}" role="img" '
        f'aria-label="{said}">{"".join(parts)}</svg></div>{_legend(stretches)}'
    )


def _budget_words(found: UnderBudget) -> str:
    return f"budget for keys {size(found.shares.keys.budget_bytes)}"


def _legend(stretches: Sequence[KeyStretch]) -> str:
    items = "".join(
        f'<span><i class="dot {name}"></i>{words}</span>'
        for (name, words), held in zip(LAYERS, zip(*map(_layer_bytes, stretches), strict=True), strict=True)
        if any(part > 0 for part in held)
    )
    waits = '<span><i class="dot k-wait"></i>waits</span>' if any(one.stalls for one in stretches) else ""
    return f'<div class="key">{items}{waits}</div>'


def _layer_bytes(one: KeyStretch) -> tuple[float, float, float, float]:
    """Bytes of each layer; they add up to what is held."""
    rest = one.held_bytes - one.being_read - one.kept - one.unneeded
    return max(rest, 0.0), one.being_read, one.kept, one.unneeded


def _layers(stretches: Sequence[KeyStretch], total: float, scale: ValueAxis) -> str:
    """An area for each layer, each down to the bottom, the widest first."""
    parts = []
    for number in range(len(LAYERS), 0, -1):
        steps = [f"M0 {scale.bottom - scale.top:g}"]
        for one in stretches:
            y, end = scale.y(sum(_layer_bytes(one)[:number])) - scale.top, WIDE * (one.start + one.seconds) / total
            steps.append(f"V{y:.1f}H{end:.0f}")
        shape = "".join(steps) + f"V{scale.bottom - scale.top:g}Z"
        parts.append(f'<path class="{LAYERS[number - 1][0]}" d="{shape}"/>')
    return (
        f'<svg y="{scale.top:g}" width="100%" height="{scale.bottom - scale.top:g}" preserveAspectRatio="none" '
        f'viewBox="0 0 {WIDE} {scale.bottom - scale.top:g}">{"".join(parts)}</svg>'
    )


def _bootstraps(stretches: Sequence[KeyStretch], total: float, y: float, bottom: float, *, numbered: bool) -> list[str]:
    """A ground behind every bootstrap, with its number where each turn of a loop is told."""
    parts = []
    for bootstrap, start, length, _ in runs(stretches, lambda one: one.bootstrap):
        if bootstrap is None:
            continue
        left, width = percent(start, total), percent(length, total)
        parts.append(
            f'<rect class="bootstrap" x="{left}" y="{y + 2:g}" width="{width}" height="{bottom - y - 2:g}">'
            f"<title>bootstrap{f' {bootstrap + 1}' * numbered}: {duration(length)}</title></rect>"
        )
        if numbered and length >= NUMBER_SHARE * total:
            middle = percent(start + length / 2, total)
            parts.append(f'<text x="{middle}" y="{y - 3:g}" text-anchor="middle">{bootstrap + 1}</text>')
    return parts


def _loop(loop: KeyLoop, total: float, y: float) -> list[str]:
    """A bracket over a loop, with marks where the turns that are told as one begin and end."""
    middle = percent((loop.start + loop.end) / 2, total)
    edges = dict.fromkeys(percent(moment, total) for moment in (loop.start, loop.alike_start, loop.alike_end, loop.end))
    parts = [f'<line class="loop" x1="{x}" x2="{x}" y1="{y - 4:g}" y2="{y + 2:g}"/>' for x in edges]
    parts.append(
        f'<line class="loop" x1="{percent(loop.start, total)}" x2="{percent(loop.end, total)}" y1="{y - 4:g}" '
        f'y2="{y - 4:g}"><title>{count(loop.trips)} trips: {duration(loop.end - loop.start)}</title></line>'
    )
    if loop.end - loop.start >= LABEL_SHARE * total:
        parts.append(f'<text x="{middle}" y="{y - 7:g}" text-anchor="middle">{count(loop.trips)} trips</text>')
    return parts


def _waits(stretches: Sequence[KeyStretch], total: float, y: float) -> list[str]:
    """A mark as long as each wait."""
    return [
        f'<rect class="k-wait" x="{percent(one.start, total)}" y="{y:g}" width="{percent(one.waiting, total)}" '
        f'height="{WAITS}"><title>{count(max(1, round(one.stalls)))} waits at {html_text(_line(one))}: '
        f"{duration(one.waiting)}</title></rect>"
        for one in stretches
        if one.stalls
    ]


def _band(stretches: Sequence[KeyStretch], total: float, top: float, y: float) -> list[str]:
    """The lines that keys are read for, each with what it reads, to point at in the plot too."""
    parts = []
    tones: dict[tuple[str, str], int] = {}
    for line, start, length, inside in runs(stretches, lambda one: (one.where, one.text)):
        where, text = line
        if not where or length < total / WIDE:
            continue
        loads, waits = sum(one.loads for one in inside), sum(one.waiting for one in inside)
        said = html_text(
            f"{_line(inside[0])}  {text}: {duration(length)}, {count(round(loads))} rows read, at most "
            f"{size(max(one.most_bytes for one in inside))} in memory" + (f", waits {duration(waits)}" if waits else "")
        )
        left, width = percent(start, total), percent(length, total)
        tone = tones.setdefault(line, len(tones) % 2)
        for classes, at, tall in ((f"band{tone}", y, BAND), ("over", top, PLOT)):
            parts.append(
                f'<rect class="{classes}" x="{left}" y="{at:g}" width="{width}" height="{tall}">'
                f"<title>{said}</title></rect>"
            )
        if length >= LABEL_SHARE * total:
            label = f'<text class="label" x="6" y="14">{html_text(_line(inside[0]))}</text>'
            parts.append(f'<svg x="{left}" y="{y:g}" width="{width}" height="{BAND}">{label}</svg>')
    return parts


def _line(one: KeyStretch) -> str:
    """line 18."""
    return f"line {one.where.rsplit(':', 1)[-1]}"


def runs(
    stretches: Sequence[KeyStretch], key: Callable[[KeyStretch], Key]
) -> list[tuple[Key, float, float, list[KeyStretch]]]:
    """Neighbours of the same key: (key, start, seconds, stretches)."""
    found = []
    for name, group in groupby(stretches, key=key):
        inside = list(group)
        found.append((name, inside[0].start, sum(one.seconds for one in inside), inside))
    return found
