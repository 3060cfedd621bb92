"""The few pieces of HTML a report is built of. All text that comes from a program goes through `html_text`."""

from __future__ import annotations

from collections.abc import Container, Sequence

from latticework.escaping import html_text


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
) -> str:
    """A table; cells are HTML already, the head is plain text. `numbers` are the columns aligned right."""

    def cells(tag: str, row: Sequence[str]) -> str:
        marks = [' class="n"' if i in numbers else "" for i in range(len(row))]
        return "<tr>" + "".join(f"<{tag}{m}>{c}</{tag}>" for m, c in zip(marks, row, strict=True)) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    end = f"<tfoot>{cells('td', foot)}</tfoot>" if foot else ""
    top = cells("th", [html_text(h) for h in head])
    classes = "scroll narrow" if narrow else "scroll"
    return f'<div class="{classes}"><table><thead>{top}</thead><tbody>{body}</tbody>{end}</table></div>'


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
