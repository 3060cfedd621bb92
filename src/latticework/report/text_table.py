"""Tables in text of at most 100 columns."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from latticework.errors.escaping import plain_text

WIDTH = 100
LEAST = 8  # characters that are left of a column
GAP = 2
KEPT = 12  # characters that others give way before a text whose end is kept does


def clip(text: str, width: int, *, keep_end: bool = False) -> str:
    """Text on one line of at most `width` columns; what is cut off is marked."""
    text = plain_text(text)
    if len(text) <= width:
        return text
    return "…" + text[len(text) - width + 1 :] if keep_end else text[: width - 1] + "…"


def wrap_below(text: str, indent: int = 4) -> list[str]:
    """Lines that stand below a title, indented further than it is."""
    return wrap(plain_text(text), WIDTH - GAP, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2))


def columns(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Sequence[bool] = (),
    keep_end: Sequence[bool] = (),
    width: int = WIDTH - GAP,
) -> list[str]:
    """A table indented by two: its head, and a line for each row.

    left      whether a column aligns left, and gives way where the table would be wider than `width`, the widest first;
              the first one does, if nothing is said
    keep_end  whether it is the beginning of its texts that gives way
    """
    left = left or [i == 0 for i in range(len(head))]
    cells = [[plain_text(text) for text in row] for row in (head, *rows)]
    sizes = [max(len(row[i]) for row in cells) for i in range(len(head))]
    while sum(sizes) + GAP * (len(head) - 1) > width:
        widest = max(
            (i for i in range(len(head)) if left[i]), key=lambda i: sizes[i] - (KEPT if keep_end and keep_end[i] else 0)
        )
        if sizes[widest] <= LEAST:
            break
        sizes[widest] -= 1
    lines = []
    for row in cells:
        parts = (
            clip(t, w, keep_end=bool(keep_end) and keep_end[i]) for i, (t, w) in enumerate(zip(row, sizes, strict=True))
        )
        padded = [p.ljust(w) if is_left else p.rjust(w) for p, w, is_left in zip(parts, sizes, left, strict=True)]
        lines.append(f"{' ' * GAP}{(' ' * GAP).join(padded)}".rstrip())
    return lines
