"""Stacked bars of predicted time by family of operations, and their legend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from latticework.report.families import FAMILIES, LABELS
from latticework.report.markup import percent
from latticework.report.quantities import duration
from latticework.words.escaping import html_text


def stacked_bar(by_family: Mapping[str, float], whole: float, classes: str = "bar") -> str:
    """One bar whose full length is `whole` seconds."""
    parts = "".join(
        f'<i class="b-{family}" style="width:{percent(by_family[family], whole)}" '
        f'title="{html_text(LABELS[family])}: {duration(by_family[family])}"></i>'
        for family in FAMILIES
        if by_family.get(family, 0.0) > 0
    )
    return f'<span class="{classes}">{parts}</span>'


def legend(families: Iterable[str]) -> str:
    """Colours of the families that occur."""
    present = set(families)
    items = "".join(
        f'<span><i class="dot b-{family}"></i>{html_text(LABELS[family])}</span>'
        for family in FAMILIES
        if family in present
    )
    return f'<div class="key">{items}</div>'
