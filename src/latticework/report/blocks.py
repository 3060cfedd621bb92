"""Blocks of a report: sections of tables, key figures, sentences and drawings, each said once for all forms.

Text, page and JSON walk the same blocks (`as_text.py`, `page.py`, `as_json.py`). All texts are plain here; whoever
renders them escapes them. What a block adds to the JSON form is its `data`, by key: "levels.moduli" is in "levels".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar beside numbers: parts by colour, and what the whole length stands for."""

    parts: Mapping[str, float]
    whole: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell.

    look    how a page sets it: "" as words, "code", "place" (file:line), "layout", "formula" (in one line),
            "power" (2^40 as a power), "chips" (a list of small parts, which ", " separates)
    asides  (label, text, look) of what stands below it
    bar     drawn in the place of the text;  colour  of a dot before it
    """

    text: str = ""
    look: str = ""
    asides: tuple[tuple[str, str, str], ...] = ()
    bar: Bar | None = None
    colour: str = ""

    def __bool__(self) -> bool:
        return bool(self.text or self.asides or self.bar is not None)


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column."""

    label: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class ReportBlock:
    """A part of a section. data: what it adds to the JSON form, by key."""

    data: Mapping[str, Any] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class Table(ReportBlock):
    """A table. Columns without any content are left out.

    inner  numbers of rows that break down the row before them
    most   rows that a page shows at once; the others, told of by `rest`, are folded away
    cut    rows that a text shows, of tables with very many; then it counts those that follow
    """

    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    foot: tuple[Cell | str, ...] = ()
    inner: frozenset[int] = frozenset()
    most: int | None = None
    rest: str = ""
    cut: int | None = None

    @property
    def shown(self) -> list[int]:
        """Numbers of the columns that have content."""
        return [i for i in range(len(self.heads)) if not self.rows or any(row[i] for row in self.rows)]


@dataclass(frozen=True, slots=True)
class FactList(ReportBlock):
    """Key figures: (name, value, remark)."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Words(ReportBlock):
    """Sentences. look: "" for a paragraph, "soft" for one that explains, "list", "code" for lines of code."""

    sentences: tuple[str, ...]
    look: str = ""


@dataclass(frozen=True, slots=True)
class Heading(ReportBlock):
    """A title inside a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Drawing(ReportBlock):
    """A picture, and what a text says in its place.

    html   of the page, made of numbers and escaped text alone
    lines  of the text; None: it is told by the words and tables beside it
    """

    html: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fold(ReportBlock):
    """Blocks that a page shows when asked for."""

    summary: str
    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True)
class SideBySide(ReportBlock):
    """Blocks that stand side by side where there is room."""

    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True)
class Absent(ReportBlock):
    """A part that this program does not have: null in JSON, and nowhere else."""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report. beside: it stands side by side with its neighbours of that kind."""

    title: str
    blocks: tuple[ReportBlock, ...]
    note: str = ""
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report.

    heading, under  its title on a page, and what follows it;  title  of the window
    first           the title of the text
    alarm           what has to be read first
    figures         the most important numbers
    """

    heading: str
    under: str
    title: str
    first: str
    alarm: str
    figures: FactList
    sections: tuple[Section, ...]


def as_cell(cell: Cell | str) -> Cell:
    """A cell, whose text may stand alone."""
    return cell if isinstance(cell, Cell) else Cell(cell)


def absent(key: str) -> tuple[Section, ...]:
    """The section that stands for one that the program does not have."""
    return (Section("", (Absent(data={key: None}),)),)


def code(text: str) -> Cell:
    """A line of the program, or an expression in it."""
    return Cell(text or "(no source)", "code")


def place(where: str) -> Cell | str:
    """The cell of a place in the program, file and line."""
    return Cell(where, "place") if where else ""
