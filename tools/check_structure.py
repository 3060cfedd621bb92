"""Count what makes the tree hard to find one's way in, and let no count grow.

    python tools/check_structure.py [--root DIR] [--list] [--update]

Each rule has a list of those that break it (tools/structure/exceptions, one entry a line): whatever is not listed
fails at its file and line, and so does an entry that occurs no more. Figures without names are kept in
tools/structure/figures.json; one fails when it is over its target and over the last state. `--update` takes entries
off and lowers figures, and adds nothing; an entry follows a function into another file, or into another class of its
file. `--list` shows all that is counted.

What is counted, and how, stands at the top of each file in tools/structure.
"""

import argparse
import statistics
import sys
from pathlib import Path

from structure import docstrings, folders, mentions, names, pages, width
from structure.figures import Figure, table, too_large, update_figures
from structure.offenders import Rule, update_exceptions, violations
from structure.public import Public
from structure.sources import Sources

EXCEPTIONS = "tools/structure/exceptions"
FIGURES = "tools/structure/figures.json"


def measure(root: Path, sources: Sources) -> tuple[list[Rule], list[Figure]]:
    """All rules with what breaks them, and all figures."""
    public = Public(sources)
    words = mentions.words_of_files(root, sources)
    kernels, instructions = mentions.kernels(root, words), mentions.instructions(root, words)
    rules = [
        shared := names.shared_files(sources),
        bare := names.participles(sources, public),
        dangling := docstrings.dangling(sources),
        wide := width.wide_functions(sources, public),
        mentions.widely_named("kernels", "kernel", kernels, mentions.KERNEL_TARGET),
        mentions.widely_named("instructions", "plan instruction", instructions, mentions.OPCODE_TARGET),
    ]
    share = 100 * len(dangling.offenders) / max(docstrings.number_of(sources), 1)
    return rules, [
        *folders.figures(sources, root),
        Figure("file names of several files", len(shared.offenders), 25),
        Figure("functions named by a participle", len(bare.offenders), 0),
        Figure("docstrings that dangle, %", round(share, 1), 2),
        Figure("functions of over 8 parameters", len(wide.offenders), 15),
        Figure("functions of over 10 parameters", sum(o.amount > 10 for o in wide.offenders), 0),
        Figure("lines of compile()", width.lines_of_compile(sources, public), 40, 1),
        *spread("kernel", kernels, mentions.KERNEL_TARGET),
        *spread("instruction", instructions, mentions.OPCODE_TARGET),
        *pages.figures(root),
    ]


def spread(kind: str, files: dict[str, list[str]], target: int) -> list[Figure]:
    """How many files name one, at most and in the median."""
    numbers = [len(paths) for paths in files.values()] or [0]
    return [
        Figure(f"files that name one {kind}, at most", max(numbers), target),
        Figure(f"files that name one {kind}, median", statistics.median(numbers), target),
    ]


def main() -> int:
    """Count, print and judge; 1 if a count has grown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--list", action="store_true", help="show all that is counted")
    parser.add_argument("--update", action="store_true", help="take off the lists what occurs no more, lower figures")
    arguments = parser.parse_args()
    root = arguments.root.resolve()

    sources = Sources(root)
    rules, figures = measure(root, sources)
    if arguments.update:
        update_exceptions(rules, root / EXCEPTIONS)
        update_figures(figures, root / FIGURES)
    if arguments.list:
        print(*(f"{o.place}: {o.message}" for rule in rules for o in rule.offenders), sep="\n")
        print(*(place for figure in figures for place in figure.places), sep="\n")
    print(*table(figures), sep="\n")
    failures = [
        *folders.misplaced(sources, root),
        *violations(rules, root / EXCEPTIONS),
        *too_large(figures, root / FIGURES),
    ]
    print(*failures, f"structure: {len(failures)} violations", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
