"""The frame of every report as HTML: one page without network or script, light or dark as the reader has it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

from latticework.words.escaping import html_text


def page(title: str, fragment: str) -> str:
    """A whole page; its title is plain text."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{html_text(title)}</title>"
        "<style>body{margin:0;background:#fff}@media (prefers-color-scheme:dark){body{background:#15181e}}</style>"
        f"</head><body>{fragment}</body></html>\n"
    )


def fragment(parts: Iterable[str]) -> str:
    """The same for a notebook cell, of sections that are HTML."""
    return f'<style>{_style()}</style><article class="lw-report">{"".join(parts)}</article>'


@lru_cache(maxsize=1)
def _style() -> str:
    return files(__package__).joinpath("style.css").read_text(encoding="utf-8")
