"""Notebooks of tutorials: the text of a page as cells of Markdown, its Python blocks as cells of code."""

from __future__ import annotations

import json
import re

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n?", re.MULTILINE | re.DOTALL)
CONTINUES = re.compile(r"\A# continues [^\n]*\n")  # says in pages what the order of cells says in notebooks
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\.md")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook_text(page: str) -> str:
    """The page as a notebook (nbformat 4), without outputs; links lead to the pages beside it."""
    cells, place = [], 0
    for block in BLOCK.finditer(page):
        cells += [_markdown(page[place : block.start()]), _code(CONTINUES.sub("", block["code"]))]
        place = block.end()
    cells.append(_markdown(page[place:]))
    numbered = [
        {"id": f"cell-{number}", **cell} for number, cell in enumerate(each for each in cells if each["source"])
    ]
    content = {"cells": numbered, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _markdown(text: str) -> dict[str, object]:
    return {"cell_type": "markdown", "metadata": {}, "source": LINK.sub(r"](\1.html", text.strip())}


def _code(text: str) -> dict[str, object]:
    return {
        "cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text.rstrip("\n"),
    }  # fmt: skip
