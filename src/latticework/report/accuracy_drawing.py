"""Pictures of a report on accuracy: bars of shares, and how the arguments of a function lie over its interval."""

from __future__ import annotations

from latticework.report.accuracy_data import FunctionAccuracy
from latticework.report.axes import rule, tick
from latticework.report.markup import percent
from latticework.report.quantities import count, real
from latticework.words.escaping import html_text

PLOT, AXIS = 92, 24


def bar(part: float | None, colour: str) -> str:
    """A bar of this part of the whole width; nothing where there is no number."""
    if part is None:
        return ""
    width = percent(min(max(part, 0.0), 1.0), 1.0)
    return f'<span class="bar"><i class="b-{colour}" style="width:{width}"></i></span>'


def histogram(function: FunctionAccuracy) -> str:
    """How often arguments lie where over the interval of the polynomial; parts with some outside are marked."""
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
