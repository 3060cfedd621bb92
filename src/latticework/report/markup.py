"""Pieces of HTML that drawings are built of. All text that comes from a program goes through `html_text`."""

from __future__ import annotations

from latticework.errors.escaping import html_text


def code(text: str) -> str:
    """Program text."""
    return f"<code>{html_text(text)}</code>"


def percent(part: float, whole: float) -> str:
    """A length in percent, for styles and SVG attributes."""
    return f"{100 * part / whole if whole > 0 else 0:.3f}%"
