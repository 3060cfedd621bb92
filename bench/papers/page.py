"""docs/papers.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from bench.papers.evaluation import Line, Paper, Section, Verdict
from bench.papers.results import FOLDER, machine_of

HEAD = """# The five papers, row by row

`python -m bench.papers` writes this page from [stored results](../bench/results/README.md); every table names its file,
[commits and machines](#files) are at the end. Cells are *published / ours*. A row is **won** where none of its
quantities is worse than published and one is better, **equal** where all are within half a per cent, **lost** where
one is worse; **not comparable** where the figures mean different things, **not run** where there is none of ours.
Quantities marked (shown) decide nothing. Seconds decide only about compiling. Ours may be another program for the same
computation.
"""


def write(papers: Sequence[Paper]) -> str:
    """The page."""
    tables = [line for paper in papers for line in _paper(paper)]
    return "\n".join([HEAD, *_counts(papers), *tables, *_files("\n".join(tables))]) + "\n"


def _files(tables: str) -> Iterator[str]:
    """The stored files that tables name, by machine, with their commits."""
    found: dict[str, list[str]] = {}
    for name in sorted(set(re.findall(r"\(\.\./bench/results/([\w.-]+\.json)\)", tables))):
        commit, machine = machine_of(FOLDER / name)
        found.setdefault(machine, []).append(f"{name.removesuffix('.json')} {commit}")
    yield "## Files"
    yield ""
    yield from (f"- {machine}: {', '.join(files)}" for machine, files in sorted(found.items()))


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
