"""A report as text, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from latticework.errors.escaping import plain_text
from latticework.report.blocks import (
    Absent,
    Bar,
    Cell,
    Document,
    Drawing,
    FactList,
    Fold,
    Heading,
    ReportBlock,
    Section,
    SideBySide,
    Table,
    Words,
    as_cell,
)
from latticework.report.quantities import count
from latticework.report.text_table import WIDTH, clip, columns

BAR_WIDTH = 12
INNER = "  of it "
BELOW = " " * 6  # what stands below a row
LABEL = 46  # characters of a label there


def render_text(document: Document) -> str:
    """The whole report; ends with a newline."""
    lines = [clip(document.first, WIDTH), "=" * min(WIDTH, len(plain_text(document.first)))]
    if document.alarm:
        lines += ["", "!" * WIDTH, *wrap(plain_text(document.alarm), WIDTH), "!" * WIDTH]
    lines += ["", *_facts(document.figures)]
    for section in document.sections:
        if told := _section(section):
            lines += ["", *told]
    return _join_lines(lines)


def section_text(*sections: Section) -> str:
    """Some sections alone; ends with a newline."""
    return _join_lines([line for section in sections for line in ("", *_section(section))][1:])


def _join_lines(lines: Sequence[str]) -> str:
    return "\n".join(clip(line.rstrip(), WIDTH) for line in lines) + "\n"


def _section(section: Section) -> list[str]:
    """Its title and what it holds; nothing where it holds nothing."""
    body = _blocks(section.blocks)
    note = f" ({section.note})" if section.note else ""
    return [*wrap(plain_text(section.title + note), WIDTH), *body] if body else []


def _blocks(blocks: Sequence[ReportBlock]) -> list[str]:
    """Lines of a section, with a blank line between tables and other parts."""
    lines, heading = list[str](), list[str]()
    for block in _flat(blocks):
        if isinstance(block, Heading):
            heading = [f"  {plain_text(block.text)}:"]
        elif part := _lines(block):
            lines += [*([""] if lines else []), *heading, *part]
            heading = []
    return lines


def _flat(blocks: Sequence[ReportBlock]) -> Iterator[ReportBlock]:
    """Blocks, one below the other; a heading goes with what follows it."""
    for block in blocks:
        if isinstance(block, Fold | SideBySide):
            yield from _flat(block.blocks)
        else:
            yield block


def _lines(block: ReportBlock) -> list[str]:
    match block:
        case Table():
            return _table(block)
        case FactList():
            return _facts(block)
        case Words(sentences=sentences, look=look):
            indent = "      " if look == "code" else "    " if look == "list" else "  "
            bullet = "  - " if look == "list" else "  "
            return [line for said in sentences for line in _wrap(said, bullet, indent)]
        case Drawing(lines=lines):
            return [f"  {line}" for line in lines]
        case Absent():
            return []
    raise TypeError(f"{type(block).__name__} is a block that texts do not know")


def _wrap(text: str, first: str, others: str) -> list[str]:
    return wrap(plain_text(text), WIDTH, initial_indent=first, subsequent_indent=others)


def _facts(facts: FactList) -> list[str]:
    width = max((len(name) for name, _, _ in facts.items), default=0)
    lines: list[str] = []
    for name, value, remark in facts.items:
        said = plain_text(f"{value} ({remark})" if value and remark else value + remark)
        lines += wrap(said, WIDTH, initial_indent=f"  {name.ljust(width)}  ", subsequent_indent=" " * (width + 4))
    return lines


def _table(table: Table) -> list[str]:
    """Rows, and below each what stands beside its cells."""
    if not table.rows:
        return []
    stands = [[as_cell(row[i]) for row in table.rows] for i in range(len(table.heads))]
    shown = [i for i, cells in enumerate(stands) if any(cell.text or cell.bar is not None for cell in cells)]
    heads = [table.heads[i] for i in shown]
    cells = [[as_cell(row[i]) for i in shown] for row in (*table.rows, *([table.foot] if table.foot else []))]
    texts = [[_text(cell) for cell in row] for row in cells]
    for number in table.inner:
        texts[number][0] = INNER + texts[number][0]
    is_place = [any(row[i].look == "place" for row in cells) for i in range(len(shown))]
    is_left = [not h.is_number and all(r[i].bar is None for r in cells) for i, h in enumerate(heads)]
    lines = columns([head.label for head in heads], texts, left=is_left, keep_end=is_place)
    found = [lines[0]]
    kept = len(table.rows) if table.cut is None else table.cut
    for line, row in zip(lines[1 : kept + 1], table.rows, strict=False):
        found += [line, *_asides([as_cell(cell) for cell in row])]
    if kept < len(table.rows):
        found.append(f"  and {count(len(table.rows) - kept)} more")
    return found + lines[1 + len(table.rows) :]


def _asides(row: Sequence[Cell]) -> Iterator[str]:
    """Lines below a row; labels stand above each other, and long ones in the sentence."""
    asides = [(plain_text(label), plain_text(text)) for cell in row for label, text, _ in cell.asides]
    width = max((len(label) for label, _ in asides if len(label) <= LABEL), default=0)
    for label, text in asides:
        first = f"{BELOW}{label.ljust(width)}  " if 0 < len(label) <= LABEL else BELOW
        said = text if len(label) <= LABEL else f"{label} {text}"
        yield from wrap(said, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)


def _text(cell: Cell) -> str:
    return _bar(cell.bar) if cell.bar is not None else plain_text(cell.text)


def _bar(bar: Bar) -> str:
    filled = round(BAR_WIDTH * sum(bar.parts.values()) / bar.whole) if bar.whole > 0 else 0
    return ("█" * filled).ljust(BAR_WIDTH, "·")
