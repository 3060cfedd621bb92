"""A report on accuracy, and the forms it can be read in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from latticework import _core
from latticework.report.accuracy_data import AccuracyContents
from latticework.report.accuracy_html import render_accuracy_fragment, render_accuracy_page
from latticework.report.accuracy_json import render_accuracy_json
from latticework.report.accuracy_text import percent_text, render_accuracy_text
from latticework.report.report import report_ending
from latticework.words.shown import count_noun, describe


@dataclass(frozen=True)
class AccuracyReport(AccuracyContents):
    """How accurate a compiled program is on data.

    `print` it, `save` it as .html, .txt or .json, or let a notebook show it.
    """

    def text(self) -> str:
        """The report in at most 100 columns."""
        return render_accuracy_text(self)

    def html(self) -> str:
        """The report as one page with pictures that needs no network and no script."""
        return render_accuracy_page(self)

    def json(self) -> str:
        """The numbers for programs, as one JSON object."""
        return render_accuracy_json(self)

    def save(self, path: str | Path) -> None:
        """Write the report to a file: its ending says in which form, .html, .txt or .json.

        raises  FormatError for any other ending
        """
        forms = {".html": self.html, ".txt": self.text, ".json": self.json}
        _core.write_file_atomic(str(path), forms[report_ending(path, self.name)]().encode(), 0o644)

    def _repr_html_(self) -> str:
        return render_accuracy_fragment(self)

    def __repr__(self) -> str:
        agreeing = [f"{c.name} agrees in {percent_text(c.agreement)}" for c in self.columns if c.agreement is not None]
        return describe("AccuracyReport", f"program {self.name}", count_noun(self.rows, self.unit), *agreeing)

    def __str__(self) -> str:
        return self.text()
