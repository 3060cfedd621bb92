"""Pictures of a report on accuracy: how the arguments of a function lie over its interval."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors.escaping import html_text
from latticework.errors.shown import count_noun
from latticework.report.accuracy_data import AccuracyLine, FunctionAccuracy
from latticework.report.accuracy_lines import span_text
from latticework.report.drawing_axes import rule, tick
from latticework.report.markup import percent
from latticework.report.quantities import count, real

PLOT, AXIS = 92, 24


def histograms(functions: Sequence[tuple[AccuracyLine, FunctionAccuracy]]) -> str:
    """One of each function, below what it is of."""
    figures = []
    for line, function in functions:
        reach = f"arguments reach {span_text(function.low, function.high)}"
        outside = f", outside in {count_noun(function.outside, 'row')}" if function.outside else ""
        figures.append(
            f"<figure><figcaption>{html_text(function.function)} "
            f'<span class="soft">{html_text(line.where)}<br>{html_text(reach + outside)}</span></figcaption>'
            f"{histogram(function)}</figure>"
        )
    return f'<div class="grids">{"".join(figures)}</div>'


def histogram(function: FunctionAccuracy) -> str:
    """Draw how often arguments lie where over the interval of the polynomial; parts with some outside are marked."""
    most, number = max(*function.counts, 1), len(function.counts)
    low, high = function.interval
    parts = [rule(PLOT)]
    for place, times in enumerate(function.counts):
        if times:
            height = max(1.5, (PLOT - 6) * times / most)
            is_outside = (place == 0 and function.low < low) or (place == number - 1 and function.high > high)
            start, end = (low + (high - low) * (place + more) / number for more in (0, 1))
            title = f"{count(times)} arguments from {real(start)} to {real(end)}" + ", or beyond" * is_outside
            parts.append(
                f'<rect class="f-{"product" if is_outside else "switch"}" x="{percent(place + 0.06, number)}" '
                f'y="{PLOT - height:g}" width="{percent(0.88, number)}" height="{height:g}">'
                f"<title>{html_text(title)}</title></rect>"
            )
    parts += [tick("0%", PLOT, _end(low), "start"), tick("100%", PLOT, _end(high), "end")]
    if low < -0.15 * (high - low) and high > 0.15 * (high - low):
        parts.append(tick(percent(-low, high - low), PLOT, "0"))
    said = f"Arguments of {function.function} over its interval"
    return f'<svg width="100%" height="{PLOT + AXIS}" role="img" aria-label="{html_text(said)}">{"".join(parts)}</svg>'


def _end(value: float) -> str:
    return real(float(f"{value:.3g}"))
