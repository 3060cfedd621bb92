"""Axes of drawings whose lengths are percentages to the right and pixels down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from math import ceil, floor, log, log10

from latticework.errors.escaping import html_text
from latticework.report.markup import percent
from latticework.report.quantities import duration

GUTTER = 62  # to the left of a drawing, for the names of its rows
MANTISSAS = (
    (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8),
    (1, 1.5, 2, 3, 5, 7),
    (1, 2, 3, 5),
    (1, 2, 5),
    (1,),
)  # from dense to sparse
NARROWEST = 0.13  # share of the width between two labels


def rule(y: float) -> str:
    """A thin line from left to right."""
    return f'<line class="rule" x1="0" x2="100%" y1="{y:g}" y2="{y:g}"/>'


def tick(x: str, y: float, label: str, anchor: str = "middle") -> str:
    """A tick below a drawing, with its label if it has one."""
    named = f'<text x="{x}" y="{y + 18:g}" text-anchor="{anchor}">{html_text(label)}</text>' if label else ""
    return f'<line class="rule" x1="{x}" x2="{x}" y1="{y:g}" y2="{y + 5:g}"/>{named}'


def time_axis(total: float, y: float) -> list[str]:
    """Ticks at round times."""
    return [
        tick(
            percent(moment, total), y, "" if moment > 0.95 * total else round_name(moment, duration),
            "middle" if moment else "start",
        )
        for moment in time_steps(total, 5)
    ]  # fmt: skip


def round_steps(highest: float, number: int) -> list[float]:
    """List about `number` round values from 0 to at most `highest`: multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(highest / number))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= highest / number * 0.999)
    return [i * step for i in range(floor(highest / step * (1 + 1e-9)) + 1)]


def time_steps(highest: float, number: int) -> list[float]:
    """The same of seconds, which are written as minutes and hours where there are many."""
    unit = 3600.0 if highest >= 7200 else 60.0 if highest >= 120 else 1.0
    return [unit * step for step in round_steps(highest / unit, number)]


def round_name(value: float, written: Callable[[float], str]) -> str:
    """A round value as it is written, without the zeros behind its point: 5 s, 1.5 GB."""
    number, _, unit = written(value).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}" if value else "0"


def round_ratios(least: float, most: float) -> list[float]:
    """Round values for a logarithmic axis, no two too close to one another."""
    powers = range(floor(log10(least)), ceil(log10(most)) + 1)
    for mantissas in MANTISSAS:
        found = [m * 10.0**power for power in powers for m in mantissas if least <= m * 10.0**power <= most]
        if all(log(b / a) >= NARROWEST * log(most / least) for a, b in pairwise(found)):
            return found
    return []


def gutter(names: Iterable[tuple[float, str]], height: float) -> str:
    """An SVG with names beside their places, in pixels from the top."""
    parts = [f'<text x="52" y="{y + 4:g}" text-anchor="end">{html_text(name)}</text>' for y, name in names]
    return f'<svg width="{GUTTER}" height="{height:g}" aria-hidden="true">{"".join(parts)}</svg>'


class ValueAxis:
    """Values upwards, from 0 at `bottom` to the highest at `top`, in pixels.

    steps  (highest, number) -> about so many round values up to it
    """

    def __init__(
        self, highest: float, top: float, bottom: float, steps: Callable[[float, int], list[float]] = round_steps
    ) -> None:
        self.highest, self.top, self.bottom = highest, top, bottom
        self.round = steps(highest, 4)

    def y(self, value: float) -> float:
        """The place of a value."""
        return self.bottom - (self.bottom - self.top) * value / self.highest

    def rules(self) -> list[str]:
        """Lines at round values."""
        return [rule(self.y(value)) for value in self.round]

    def names(self, written: Callable[[float], str]) -> list[tuple[float, str]]:
        """These values, by their places."""
        return [(self.y(value), round_name(value, written)) for value in self.round]
