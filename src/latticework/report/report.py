"""A report: its contents, and the forms it can be read in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from latticework import _core
from latticework.escaping import plain_text
from latticework.report.data import Contents
from latticework.report.html import render_fragment, render_page
from latticework.report.text import render_text


@dataclass(frozen=True)
class Report(Contents):
    """A compiled program, described; `print` it, `save` it as HTML, or let a notebook show it."""

    def text(self) -> str:
        """The report in at most 100 columns."""
        return render_text(self)

    def html(self) -> str:
        """The report as one page that needs no network and no script."""
        return render_page(self)

    def save(self, path: str | Path) -> None:
        """Write the HTML page to a file."""
        _core.write_file_atomic(str(path), self.html().encode(), 0o644)

    def _repr_html_(self) -> str:
        return render_fragment(self)

    def __repr__(self) -> str:
        degree, bits = self.security.ring_degree, self.security.bits
        security = "INSECURE" if self.security.insecure else f"{bits}-bit security"
        return f"Report({plain_text(self.name)}: N={degree}, {len(self.keys)} keys, {security})"

    def __str__(self) -> str:
        return self.text()
