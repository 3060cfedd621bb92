"""Stacked bars, and the legend of those of predicted time by family of operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from latticework.errors.escaping import html_text
from latticework.report.families import FAMILIES, LABELS
from latticework.report.markup import percent
from latticework.report.quantities import duration


def stacked_bar(parts: Mapping[str, float], whole: float, classes: str = "bar") -> str:
    """One bar whose full length is `whole`; parts by colour, which are seconds where they are of families."""
    inside = "".join(
        f'<i class="b-{name}" style="width:{percent(part, whole)}"{_title(name, part)}></i>'
        for name, part in parts.items()
    )
    return f'<span class="{classes}">{inside}</span>'


def _title(name: str, part: float) -> str:
    return f' title="{html_text(LABELS[name])}: {duration(part)}"' if name in LABELS and name in FAMILIES else ""


def legend(families: Iterable[str]) -> str:
    """Colours of the families that occur."""
    present = set(families)
    items = "".join(
        f'<span><i class="dot b-{family}"></i>{html_text(LABELS[family])}</span>'
        for family in FAMILIES
        if family in present
    )
    return f'<div class="key">{items}</div>'
