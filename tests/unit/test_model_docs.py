"""docs/models.md says what the tables of the doors do."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_tables_are_those_of_the_code() -> None:
    written = runpy.run_path(str(ROOT / "tools" / "write_model_docs.py"))["written"]
    page = (ROOT / "docs" / "models.md").read_text()
    assert "`VotingClassifier`" in page and written(page) == page, "run tools/write_model_docs.py"
