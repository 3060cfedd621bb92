"""Levels of what loops carry, as drawings: a row for each value, a bar for each level that it has in an iteration."""

from __future__ import annotations

from latticework.errors.escaping import html_text
from latticework.lazy_dataclass import dataclass
from latticework.report.markup import code, percent
from latticework.report.quantities import count

BOOTSTRAP = "bootstrap"
MAX_VALUES = 12
HEIGHT = 64  # of a row, with the levels that are written above and below its bars
MARGIN = 16


@dataclass(frozen=True, slots=True)
class CarriedLevel:
    """A level that a carried value has in an iteration.

    op     what gives it that: "start", "bootstrap", or the instruction that spends levels;  where  its lines
    """

    op: str
    where: str
    level: int


@dataclass(frozen=True, slots=True)
class CarriedValue:
    """The levels of what a loop carries in a place, from the start of an iteration to its end."""

    name: str
    levels: tuple[CarriedLevel, ...]


@dataclass(frozen=True, slots=True)
class LoopLevels:
    """A loop that bootstraps, and the levels of what it carries."""

    where: str
    text: str
    values: tuple[CarriedValue, ...]


def drawings(loops: tuple[LoopLevels, ...]) -> str:
    """All loops, as HTML; nothing where there are none."""
    return "".join(_loop(loop) for loop in loops)


def _loop(loop: LoopLevels) -> str:
    highest = max((each.level for value in loop.values for each in value.levels), default=1) or 1
    rows = "".join(_row(value, highest) for value in loop.values[:MAX_VALUES])
    more = len(loop.values) - MAX_VALUES
    rest = f"<p>and {count(more)} more carried values</p>" if more > 0 else ""
    line = f"{html_text(loop.where)} {code(loop.text)}"
    return f"<p>Levels of what is carried, from the start of a turn to its end, by the loop at {line}:</p>{rows}{rest}"


def _row(value: CarriedValue, highest: int) -> str:
    number, parts = len(value.levels), []
    for place, each in enumerate(value.levels):
        left, width = percent(place, number), percent(1, number)
        tall = (HEIGHT - 2 * MARGIN) * each.level / highest
        if each.op == BOOTSTRAP:
            parts.append(f'<rect class="bootstrap" x="{left}" y="0" width="{width}" height="{HEIGHT}"/>')
        title = html_text(f"{each.op} {each.where}: level {each.level}")
        parts.append(
            f'<rect class="f-other" x="{left}" y="{HEIGHT - MARGIN - tall:.1f}" width="{width}" height="{tall:.1f}">'
            f"<title>{title}</title></rect>"
        )
        if number <= 40 or place in (0, number - 1) or each.op == BOOTSTRAP:
            middle = percent(place + 0.5, number)
            parts.append(f'<text x="{middle}" y="{HEIGHT - 3}" text-anchor="middle">{each.level}</text>')
    label = f'<text x="52" y="{HEIGHT // 2 + 4}" text-anchor="end">{html_text(value.name[:9])}</text>'
    return (
        f'<div class="timeline"><svg width="62" height="{HEIGHT}" aria-hidden="true">{label}</svg>'
        f'<svg width="100%" height="{HEIGHT}" role="img" aria-label="Levels of {html_text(value.name)}">'
        f"{''.join(parts)}</svg></div>"
    )
