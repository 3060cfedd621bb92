"""What kind each page of the site is, in which order they are read, and what the site adds to their text.

Pages are of four kinds: tutorials to learn by, guides for one task each, explanations to read, and reference to look
things up in. The sidebar and the list at the end of the first page have a section for each, and a line under the title
of a page says which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# Section -> what its pages are for, and the pages of docs/ in it, in order. Pages that none names are guides.
TUTORIALS = "Tutorials"
GUIDES = "How-to guides"
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    TUTORIALS: (
        "Tutorial: ten minutes, from nothing to a result",
        (
            "tutorials/scikit-learn",
            "tutorials/pytorch",
            "tutorials/integers",
            "tutorials/training",
            "tutorials/client-and-server",
            "tutorials/precision",
            "tutorials/keys-and-memory",
            "tutorials/gpus",
            "tutorials/search",
            "tutorials/from-openfhe-lattigo-seal",
            "tutorials/from-concrete-ml-tenseal",
        ),
    ),
    GUIDES: (
        "How-to guide: for a task at hand",
        (
            "scikit-learn",
            "pytorch",
            "onnx",
            "models",
            "programs",
            "circuits",
            "loops",
            "throughput",
            "owner",
            "client-server",
            "operating",
            "upgrading",
            "gpu",
            "ckks",
            "bfv",
            "export",
            "heir",
            "benchmarks",
        ),
    ),
    "Explanations": (
        "Explanation: how it works, and why",
        ("precision", "costs", "memory", "keys", "bootstrapping", "ir", "papers", "patents"),
    ),
    "Reference": ("Reference: to look things up", ("what-can-i-run", "command-line", "expert-names", "glossary")),
}
TITLE = re.compile(r"\A(# [^\n]+\n)")
FILE_NAME = re.compile(r"\[(?:[\w.-]+/)*([\w-]+)\.md\](?=\()")  # as the text of a link, which names a file on GitHub


def list_sections(names: Iterable[str]) -> dict[str, list[str]]:
    """Section -> its pages, below the root; `names` are all pages of docs/, without folders of it."""
    known = {name for _, pages in SECTIONS.values() for name in pages}
    sections = {title: [f"docs/{name}" for name in pages] for title, (_, pages) in SECTIONS.items()}
    sections[GUIDES] += [f"docs/{name}" for name in sorted(set(names) - known)]
    return sections


def list_pages(parts: Mapping[str, list[str]]) -> str:
    """The end of the first page: what each kind of page is for, and its pages; other parts in the sidebar alone."""
    lists = []
    for title, names in parts.items():
        purpose = SECTIONS[title][0].partition(": ")[2] if title in SECTIONS else ""
        told = f"**{title}**: {purpose}\n\n" if purpose else ""
        options = f":maxdepth: 1\n:caption: {title}" + "\n:hidden:" * (not purpose)
        lists.append(f"{told}```{{toctree}}\n{options}\n\n" + "\n".join(names) + "\n```\n")
    return "\n## All pages\n\n" + "\n".join(lists)


def page_source(text: str, kind: str = "") -> str:
    """The text of a page for the site: the kind under the title, and links named without the ending of files."""
    label = f'\n<p class="kind">{kind}</p>\n' if kind else ""
    return TITLE.sub(rf"\1{label}", FILE_NAME.sub(r"[\1]", text))
