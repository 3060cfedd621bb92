"""Write docs/papers.md: `python -m bench.papers [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.papers import coyote, halo, keymemrt, rotom, xehe
from bench.papers.evaluation import check
from bench.papers.page import write

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"


def main() -> int:
    """Write the page, or with --check say whether it is as written; 1 for a row without a reason or another page."""
    papers = [module.paper() for module in (coyote, rotom, halo, keymemrt, xehe)]
    wrong = check(papers)
    text = write(papers)
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() != text:
            wrong.append(f"{PAGE.name} is not what stored results say: run python -m bench.papers")
    elif not wrong:
        PAGE.write_text(text)
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
