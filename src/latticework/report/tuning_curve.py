"""The curve of accuracy over cost that `lw.torch.prepare(..., budget=)` finds: a table, records and a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

from latticework.errors.escaping import html_text, plain_text
from latticework.lazy_dataclass import dataclass
from latticework.report.drawing_axes import ValueAxis, gutter, round_name, round_ratios, rule, tick
from latticework.report.markup import percent
from latticework.report.quantities import duration, percent_text, size
from latticework.report.text_table import columns

TOP, PLOT, AXIS = 20, 170, 24
MARGIN = 0.04  # of the width, at both ends


@dataclass(frozen=True)
class TuningPoint:
    """One form of a module.

    functions  what its polynomials began as;  degrees  of each;  pools  "keep" or "average", "" without pools
    levels, seconds, memory_bytes  predicted of a run of its program;  None: it has no plan
    accuracy   on held-out rows after fine-tuning; None: it was not trained
    fits       whether it is within the budget
    note       why it has no plan, or was not trained
    """

    functions: str
    degrees: tuple[int, ...]
    pools: str
    levels: int | None = None
    seconds: float | None = None
    memory_bytes: int | None = None
    accuracy: float | None = None
    fits: bool = False
    note: str = ""

    @property
    def name(self) -> str:
        """The form in words."""
        alike = len(set(self.degrees)) == 1
        degrees = str(self.degrees[0]) if alike and self.degrees else ", ".join(map(str, self.degrees)) or "none"
        return ", ".join(filter(None, [self.functions, f"degree {degrees}", self.pools and f"pools {self.pools}"]))


@dataclass(frozen=True)
class TuningCurve:
    """All forms that were looked at, the cheapest first, and the one that was taken.

    exact    accuracy of the module as it was given
    budget   in words
    """

    points: tuple[TuningPoint, ...]
    chosen: TuningPoint
    exact: float
    budget: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Plain records, as a frame takes them."""
        names = ("functions", "degrees", "pools", "levels", "seconds", "memory_bytes", "accuracy", "fits", "note")
        return [
            {**{name: getattr(point, name) for name in names}, "chosen": point is self.chosen} for point in self.points
        ]

    def __str__(self) -> str:
        """A table."""
        head = ("", "polynomials", "levels", "time", "memory", "accuracy")
        cells = [_cells(point, point is self.chosen) for point in self.points]
        told = f"Within {self.budget}: {self.chosen.name}; the module as it was given has {percent_text(self.exact)}."
        return "\n".join([plain_text(told), *columns(head, cells, left=(True, True, False, False, False, False))])

    def to_html(self) -> str:
        """The drawing, with the table below it."""
        cells = [_cells(point, point is self.chosen) for point in self.points]
        body = "".join("<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        head = "".join(f"<th>{name}</th>" for name in ("", "polynomials", "levels", "time", "memory", "accuracy"))
        return f"<style>{STYLE}</style><div class='lw-curve'>{self._draw()}<table><tr>{head}</tr>{body}</table></div>"

    def _repr_html_(self) -> str:
        """Draw it for notebooks."""
        return self.to_html()

    def _draw(self) -> str:
        """Accuracy upwards, seconds to the right on a logarithmic axis; the budget's are the filled points."""
        known = [point for point in self.points if point.seconds and point.accuracy is not None]
        least, most = min(p.seconds or 0.0 for p in known), max(p.seconds or 0.0 for p in known)
        least, most = least / 1.2, most * 1.2
        bottom = TOP + PLOT
        axis = ValueAxis(1.0, TOP, bottom)

        def x_of(seconds: float) -> float:
            return MARGIN + (1 - 2 * MARGIN) * log(seconds / least) / log(most / least)

        y = axis.y(max(self.exact, 0.0))
        parts = [*axis.rules(), rule(bottom), f'<line class="limit" x1="0" x2="100%" y1="{y:g}" y2="{y:g}"/>']
        for value in round_ratios(least, most):
            parts.append(tick(percent(x_of(value), 1), bottom, round_name(value, duration)))
        for point in known:
            classes = " ".join(["point", *["fits"] * point.fits, *["chosen"] * (point is self.chosen)])
            said = html_text(", ".join(_cells(point, False)[1:]))
            parts.append(
                f'<circle class="{classes}" cx="{percent(x_of(point.seconds or least), 1)}" '
                f'cy="{axis.y(max(point.accuracy or 0.0, 0.0)):.1f}" r="5"><title>{said}</title></circle>'
            )
        words = html_text(f"Accuracy over predicted time of a run. {self}".splitlines()[0])
        height = bottom + AXIS
        return (
            f'<div class="timeline">{gutter(axis.names(percent_text), height)}<svg width="100%" height="{height}" '
            f'role="img" aria-label="{words}">{"".join(parts)}</svg></div>'
        )


STYLE = (
    ".lw-curve{font:14px sans-serif}.lw-curve .timeline{display:flex;max-width:720px}.lw-curve svg{overflow:visible}"
    ".lw-curve text{font-size:12px;fill:#555}.lw-curve .rule{stroke:#ccc}"
    ".lw-curve .limit{stroke:#888;stroke-dasharray:4}"
    ".lw-curve .point{fill:#fff;stroke:#27c;stroke-width:2}.lw-curve .fits{fill:#27c}"
    ".lw-curve .chosen{fill:#c40;stroke:#c40}"
    ".lw-curve td,.lw-curve th{padding:2px 10px;text-align:left}"
)


def _cells(point: TuningPoint, is_chosen: bool) -> Sequence[str]:
    """A row of the table."""
    mark = "*" if is_chosen else "" if point.fits else "over" if point.seconds is not None else "-"
    accuracy = point.note or "-" if point.accuracy is None else percent_text(round(point.accuracy, 4))
    seconds = "-" if point.seconds is None else duration(point.seconds)
    memory = "-" if point.memory_bytes is None else size(point.memory_bytes)
    return mark, point.name, "-" if point.levels is None else str(point.levels), seconds, memory, accuracy
