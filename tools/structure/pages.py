"""Words of the pages that somebody reads: tables that commands write are looked up, and counted apart."""

import re
from pathlib import Path

from structure.figures import Figure

TABLES = "docs/papers.md"  # rows of results that a command writes
WRITTEN = re.compile(r"<!-- (?!end)[^>]* -->.*?<!-- end -->", re.DOTALL)  # blocks of pages that tools write
TARGETS = {"ARCHITECTURE.md": 3000, "CHANGELOG.md": 3000, "docs": 32000, "docs/tutorials": 6000, TABLES: 5000}
MOST_WORDS = 2500  # of one page of docs: what somebody reads in a quarter of an hour
ROUNDED_TO = 100  # so that a sentence more or less is no new state


def figures(root: Path) -> list[Figure]:
    """Words of a page, or of all pages of a folder, and of the longest page of docs."""
    words = [Figure(f"words of {name}", _words(root, name), target, ROUNDED_TO) for name, target in TARGETS.items()]
    by_page = {f"docs/{page.name}": _words_in(page) for page in _pages_in(root, "docs")}
    too_long = [f"{name}: {count} words, over {MOST_WORDS}" for name, count in by_page.items() if count > MOST_WORDS]
    longest = max(by_page.values(), default=0)
    return [*words, Figure("words of the longest page of docs", longest, MOST_WORDS, ROUNDED_TO, too_long)]


def _words(root: Path, name: str) -> int:
    path = root / name
    pages = _pages_in(root, name) if path.is_dir() else [path] if path.exists() else []
    return sum(_words_in(page) for page in pages)


def _pages_in(root: Path, folder: str) -> list[Path]:
    """Pages that somebody reads, by name."""
    return sorted(set((root / folder).glob("*.md")) - {root / TABLES})


def _words_in(page: Path) -> int:
    return len(WRITTEN.sub("", page.read_text()).split())
