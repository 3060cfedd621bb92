"""Tables in text of at most 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.words.escaping import plain_text

WIDTH = 100


def clip(text: str, width: int) -> str:
    """Text on one line of at most `width` columns; what is cut off is marked."""
    text = plain_text(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, width: int = WIDTH - 2) -> list[str]:
    """A table indented by two; the first `left` columns align left, the others right. Empty ones are left out.

    The first column gives way where the table would be wider than `width`.
    """
    shown = [i for i in range(len(head)) if i == 0 or not rows or any(row[i] for row in rows)]
    left = sum(i < left for i in shown)
    head = [head[i] for i in shown]
    cells = [list(head), *([plain_text(row[i]) for i in shown] for row in rows)]
    sizes = [max(len(row[i]) for row in cells) for i in range(len(head))]
    sizes[0] = max(8, min(sizes[0], width - sum(sizes[1:]) - 2 * (len(head) - 1)))
    lines = []
    for row in cells:
        row[0] = clip(row[0], sizes[0])
        padded = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, sizes, strict=True))]
        lines.append("  " + "  ".join(padded))
    return lines
