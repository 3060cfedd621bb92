"""A report on accuracy, and the forms it can be read in."""

from __future__ import annotations

from latticework.errors.shown import count_noun, describe
from latticework.lazy_dataclass import dataclass
from latticework.report.accuracy_data import AccuracyContents
from latticework.report.accuracy_document import accuracy_document
from latticework.report.blocks import Document
from latticework.report.quantities import percent_text
from latticework.report.report import Forms


@dataclass(frozen=True)
class AccuracyReport(AccuracyContents, Forms):
    """A report on the accuracy of a compiled program on data.

    `print` it, `save` it as .html, .txt or .json, or let a notebook show it.
    """

    def document(self) -> Document:
        """Its sections, as they are read."""
        return accuracy_document(self)

    def __repr__(self) -> str:
        agreeing = [f"{c.name} agrees in {percent_text(c.agreement)}" for c in self.columns if c.agreement is not None]
        return describe("AccuracyReport", f"program {self.name}", count_noun(self.rows, self.unit), *agreeing)
