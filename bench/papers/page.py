"""docs/papers.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from bench.papers.evaluation import Line, Paper, Section, Verdict

HEAD = """# The five papers, row by row

`python -m bench.papers` writes this page from [stored results](../bench/results/README.md); every table names its file,
with commit and machine. Cells are *published / ours*. A row is **won** where none of its quantities is worse than
published and one is better, **lost** where one is worse, **not comparable** where the figures mean different things.
Quantities marked (shown) decide nothing. Seconds decide only about compiling. Ours may be another program for the same
computation, with fewer operations: that is what compilers are compared by, and notes say where it is so.
"""


def write(papers: Sequence[Paper]) -> str:
    """The page."""
    return "\n".join([HEAD, *_counts(papers), *(line for paper in papers for line in _paper(paper))]) + "\n"


def _counts(papers: Sequence[Paper]) -> Iterator[str]:
    yield "| paper | " + " | ".join(verdict.value for verdict in Verdict) + " |"
    yield "|" + "---|" * (len(Verdict) + 1)
    for paper in papers:
        counts = paper.counts()
        yield f"| [{paper.name}](#{paper.name.lower()}) | " + " | ".join(str(counts[v]) for v in Verdict) + " |"
    yield ""


def _paper(paper: Paper) -> Iterator[str]:
    yield f"## {paper.name}"
    yield ""
    yield f"{paper.about}."
    yield ""
    for section in paper.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    """A table, with the reasons of its rows as notes below: most rows share one."""
    notes = dict(zip(dict.fromkeys(line.why for line in section.lines if line.why), ascii_lowercase, strict=False))
    yield f"### {section.title}"
    yield ""
    yield f"{section.source}." + (f" {section.note}" if section.note else "")
    yield ""
    yield "| | " + "".join(f"{quantity} | " for quantity in section.quantities) + "|"
    yield "|" + "---|" * (len(section.quantities) + 2)
    yield from (_line(line, len(section.quantities), notes.get(line.why, "")) for line in section.lines)
    yield ""
    if notes:
        yield "; ".join(f"({letter}) {why}" for why, letter in notes.items()) + "."
        yield ""


def _line(line: Line, width: int, note: str) -> str:
    padded = (*line.cells, *[None] * (width - len(line.cells)))
    cells = "".join(" |" if cell is None else f" {cell} |" for cell in padded)
    verdict = line.verdict.value if line.verdict in (Verdict.WON, Verdict.EQUAL) else f"**{line.verdict.value}**"
    return f"| {line.name} |{cells} {verdict}{f' ({note})' if note else ''} |"
