"""A report as one HTML page without network or script, light or dark as the reader has it (`templates/page.html`)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from latticework.errors.escaping import html_text
from latticework.report.bars import stacked_bar
from latticework.report.blocks import (
    Absent,
    Bar,
    Document,
    Drawing,
    FactList,
    Fold,
    Heading,
    ReportBlock,
    SideBySide,
    Table,
    Words,
    as_cell,
)

KINDS = (Table, FactList, Words, Heading, Drawing, Fold, SideBySide, Absent)  # that `templates/report.html` has


def render_page(document: Document) -> str:
    """The whole page."""
    return str(_template("page.html").render(document=document))


def render_fragment(document: Document) -> str:
    """The same for a notebook cell."""
    return str(_template("report.html").render(document=document))


@lru_cache(maxsize=2)
def _template(name: str) -> Any:
    """A template of Jinja, which is loaded when a page is made; all text is escaped that is not said to be HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("latticework.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape,
    )
    environment.tests["long"] = lambda table: table.most is not None and len(table.rows) > table.most
    environment.filters |= {
        "kind": _kind,
        "cell": as_cell,
        "stacked": _stacked_bar,
        "breakable": _breakable,
    }
    return environment.get_template(name)


def _kind(block: ReportBlock) -> str:
    """The block's kind, by which the template dispatches."""
    if type(block) not in KINDS:
        raise TypeError(f"{type(block).__name__} is a block that pages do not know")
    return type(block).__name__


def _stacked_bar(bar: Bar) -> str:
    return stacked_bar(bar.parts, bar.whole)


def _breakable(text: str) -> list[str]:
    """A layout in the parts between which lines may be broken."""
    return re.split(r"(?<=[\];)])", text)


class _Escaped(str):
    """Text that is HTML by now."""

    def __html__(self) -> str:
        return self


def _escape(value: Any) -> Any:
    """Text made safe by the one function that does so; what a macro made is HTML."""
    return _Escaped(html_text(value)) if isinstance(value, str) and not hasattr(value, "__html__") else value
