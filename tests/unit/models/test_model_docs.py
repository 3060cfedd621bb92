"""docs/what-can-i-run.md says what the tables of the doors do."""

import re
import runpy
from pathlib import Path

from latticework.models.onnx.operators.table import CONVERTERS

ROOT = Path(__file__).resolve().parents[3]


def test_tables_of_the_page_are_current() -> None:
    page = (ROOT / "docs" / "what-can-i-run.md").read_text()
    written = runpy.run_path(str(ROOT / "tools" / "write_model_docs.py"))["written"]
    assert written(page) == page, "run tools/write_model_docs.py"
    assert "`VotingClassifier`" in page
    operators = {converter.operator for converter in CONVERTERS}
    assert len(operators) > 130
    assert all(f"`{operator}`" in page or re.search(rf"onnx\.{operator}\b", page) for operator in operators)
