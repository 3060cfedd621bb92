"""A report: its contents, and the forms it can be read in."""

from __future__ import annotations

from pathlib import Path

from latticework.errors import FormatError
from latticework.errors.shown import count_noun, describe, of_program
from latticework.lazy_dataclass import dataclass
from latticework.report.as_json import render_json
from latticework.report.as_text import render_text
from latticework.report.blocks import Document
from latticework.report.data import Contents
from latticework.report.document import plan_document
from latticework.report.page import render_fragment, render_page
from latticework.values.extension import _core


class Forms:
    """The forms of a report; its sections are walked for each form, and none leaves one out."""

    name: str

    def document(self) -> Document:
        """The sections."""
        raise NotImplementedError

    def text(self) -> str:
        """The report in at most 100 columns."""
        return render_text(self.document())

    def html(self) -> str:
        """The report as one page, with drawings, that needs no network and no script."""
        return render_page(self.document())

    def json(self) -> str:
        """The report's numbers for programs, as one JSON object, in seconds and bytes."""
        return render_json(self.document())

    def save(self, path: str | Path) -> None:
        """Write the report to a file: its ending says in which form, .html, .txt or .json.

        raises  FormatError for any other ending
        """
        forms = {".html": self.html, ".txt": self.text, ".json": self.json}
        _core.write_file_atomic(str(path), forms[report_ending(path, self.name)]().encode(), 0o644)

    def _repr_html_(self) -> str:
        return render_fragment(self.document())

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Report(Contents, Forms):
    """A compiled program, described; `print` it, `save` it as .html, .txt or .json, or let a notebook show it."""

    def document(self) -> Document:
        """Its sections, as they are read."""
        return plan_document(self)

    def __repr__(self) -> str:
        security = "INSECURE" if self.security.insecure else f"{self.security.bits}-bit security"
        named = of_program("bfv" if self.plain_modulus else "ckks", self.security.ring_degree, self.name)
        return describe("Report", *named, count_noun(len(self.keys), "key"), security)


def report_ending(path: str | Path, name: str) -> str:
    """The file ending that tells the form of the report of program `name`: ".html", ".txt" or ".json".

    raises  FormatError for any other ending
    """
    ending = Path(path).suffix.lower()
    if ending not in (".html", ".txt", ".json"):
        raise FormatError(
            f"report of {name}: {path} ends in {ending or 'nothing'!r}, which says no form that a report can "
            "have; name it .html (a page), .txt (as print shows it) or .json (for programs)"
        )
    return ending
