"""The few pieces of HTML a report is built of. All text that comes from a program goes through `html_text`."""

from __future__ import annotations

from collections.abc import Container, Sequence

from latticework.words.escaping import html_text


def section(title: str, body: str, note: str = "") -> str:
    """A titled section; title and note are plain text."""
    small = f" <small>{html_text(note)}</small>" if note else ""
    return f"<section><h2>{html_text(title)}{small}</h2>{body}</section>"


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Container[int] = (),
    foot: Sequence[str] = (),
    narrow: bool = False,
    stacked: bool = False,
    inner: Container[int] = (),
) -> str:
    """A table; cells are HTML already, the head is plain text. Columns without any content are left out.

    numbers  columns aligned right
    stacked  for tables too wide for a narrow page: there a row becomes a list of its cells, each with its head
    inner    numbers of rows that break down the row before them
    """
    shown = [i for i in range(len(head)) if not rows or any(row[i] for row in (*rows, foot) if row)]

    def cell(tag: str, number: int, content: str) -> str:
        classes = ["n"] if number in numbers else []
        if stacked and ("<br>" in content or "<i" in content):
            classes.append("block")
        mark = f' class="{" ".join(classes)}"' if classes else ""
        if stacked and tag == "td":
            mark += f' data-head="{html_text(head[number])}"' if content else " data-none"
        return f"<{tag}{mark}>{content}</{tag}>"

    def cells(tag: str, row: Sequence[str], classes: str = "") -> str:
        assert len(row) == len(head), f"{len(row)} cells below {len(head)} heads"
        return f"<tr{classes}>" + "".join(cell(tag, i, row[i]) for i in shown) + "</tr>"

    body = "".join(cells("td", row, ' class="inner"' if i in inner else "") for i, row in enumerate(rows))
    end = f"<tfoot>{cells('td', foot)}</tfoot>" if foot else ""
    top = cells("th", [html_text(h) for h in head])
    classes = "scroll" + (" narrow" if narrow else "") + (" stacked" if stacked else "")
    return f'<div class="{classes}"><table><thead>{top}</thead><tbody>{body}</tbody>{end}</table></div>'


def fold(summary: str, body: str) -> str:
    """What is shown when asked for; the summary is plain text."""
    return f"<details><summary>{html_text(summary)}</summary>{body}</details>"


def facts(items: Sequence[tuple[str, str, str]]) -> str:
    """Key figures: (name, value, remark), all plain text."""
    cells = "".join(
        f"<div><dt>{html_text(name)}</dt><dd>{html_text(value)}</dd><dd>{html_text(remark)}</dd></div>"
        for name, value, remark in items
    )
    return f'<dl class="facts">{cells}</dl>'


def code(text: str) -> str:
    """Program text."""
    return f"<code>{html_text(text)}</code>"


def whole(text: str) -> str:
    """A short formula that is not broken into lines."""
    return f'<span class="code whole">{html_text(text)}</span>'


def layout(text: str) -> str:
    """A layout, which may be broken into lines between its dimensions."""
    broken = html_text(text).replace("]", "]<wbr>").replace(";", ";<wbr>").replace(")", ")<wbr>")
    return f'<span class="code">{broken}</span>'


def percent(part: float, whole: float) -> str:
    """A length in percent, for styles and SVG attributes."""
    return f"{100 * part / whole if whole > 0 else 0:.3f}%"
