"""Words of the pages that somebody reads: tables that commands write are looked up, and counted apart."""

import re
from pathlib import Path

from structure.figures import Figure

TABLES = "docs/papers.md"  # rows of results that a command writes
WRITTEN = re.compile(r"<!-- (?!end)[^>]* -->.*?<!-- end -->", re.DOTALL)  # blocks of pages that tools write
TARGETS = {"ARCHITECTURE.md": 3000, "CHANGELOG.md": 3000, "docs": 33000, "docs/tutorials": 6000, TABLES: 5000}
ROUNDED_TO = 100  # so that a sentence more or less is no new state


def figures(root: Path) -> list[Figure]:
    """Words of a page, or of all pages of a folder."""
    return [Figure(f"words of {name}", _words(root, name), target, ROUNDED_TO) for name, target in TARGETS.items()]


def _words(root: Path, name: str) -> int:
    path = root / name
    pages = set(path.glob("*.md")) - {root / TABLES} if path.is_dir() else {path} if path.exists() else set()
    return sum(len(WRITTEN.sub("", page.read_text()).split()) for page in pages)
