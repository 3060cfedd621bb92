"""Notebooks of tutorials hold the page, in order, and code that runs as the page's does."""

import json
import sys

from test_docs import DOCS, ROOT, blocks_of

sys.path.insert(0, str(ROOT / "tools" / "docs"))
from notebook import CONTINUES, notebook_text

PAGE = DOCS / "tutorials" / "scikit-learn.md"


def test_a_notebook_has_every_block_and_every_word_of_its_page():
    page = PAGE.read_text()
    content = json.loads(notebook_text(page))
    code = [cell["source"] for cell in content["cells"] if cell["cell_type"] == "code"]
    assert code == [CONTINUES.sub("", block.code).rstrip("\n") for block in blocks_of(PAGE, page)]
    words = " ".join(cell["source"] for cell in content["cells"]).split()
    of_page = [word for word in page.replace("```python", "").replace("```", "").split()]
    assert len(words) == len(of_page) - sum(
        len(CONTINUES.match(b.code)[0].split()) for b in blocks_of(PAGE, page) if b.before
    )
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])


def test_links_lead_to_pages_of_the_site():
    (cell,) = json.loads(notebook_text("see [it](../models.md#trees) and [that](https://a.example/b.md)"))["cells"]
    assert cell["source"] == "see [it](../models.html#trees) and [that](https://a.example/b.md)"
