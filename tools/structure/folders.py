"""Folders at the root of the package, and imports that run upward between them and inside of them.

Roots are the folders and modules directly below the package. tools/structure/roots.txt has them in order, the lowest
first; `__init__` is the package itself, whose names `from latticework import x` takes. An import runs upward between
roots if it runs from one to another that stands later in that order. Inside a root no order is written down: of its
folders, the one itself included, as few pairs (importing, imported) count as have to be left out until no circle is
left. An `__init__.py` that defines nothing is looked through: imports from it are imports of where the name is
defined, and its own do not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from structure.figures import Figure
from structure.sources import PACKAGE, Source, Sources

ORDER = "tools/structure/roots.txt"
MOST_IN_CIRCLE = 14  # folders: all orders of a circle's are tried, by subsets

Folder = tuple[str, ...]
Pair = tuple[Folder, Folder]


@dataclass(frozen=True)
class Arrows:
    """Which folder imports which, and in which lines."""

    lines: dict[Pair, list[str]]

    def named(self, pairs: list[Pair]) -> list[str]:
        """One line for each pair: an import, and how many there are."""
        return [
            f"{self.lines[a, b][0]}: {'/'.join(a)} imports {'/'.join(b)}, which lies above it "
            f"({len(self.lines[a, b])} imports); move what it needs down"
            for a, b in sorted(pairs)
        ]


def root_of(source: Source) -> str:
    """The folder or module directly below the package in which a file lies."""
    return source.folder[0] if source.folder else source.module.partition(".")[2] or "__init__"


def read_order(root: Path) -> list[str]:
    """The roots of the package in their order, the lowest first."""
    path = root / ORDER
    return [line for line in path.read_text().splitlines() if line and line[0] != "#"] if path.exists() else []


def misplaced(sources: Sources, root: Path) -> Iterator[str]:
    """Roots without a place in the order, and places without a root."""
    order, roots = read_order(root), {root_of(source) for source in sources}
    for name in sorted(roots - set(order)):
        yield f"src/{PACKAGE}/{name}:1: has no place in the order of roots; give it one in {ORDER}"
    yield from (f"{ORDER}: {name} is not there; take it off" for name in order if name not in roots)


def figures(sources: Sources, root: Path) -> list[Figure]:
    """Folders at the root; pairs of roots, and of folders of one root, between which an import runs upward."""
    order = read_order(root)
    within, between = _arrows(sources)
    up = [(a, b) for a, b in between.lines if {a[0], b[0]} <= set(order) and order.index(a[0]) < order.index(b[0])]
    roots = {a[0] for a, _ in within.lines}
    circles = [pair for name in sorted(roots) for pair in _least_upward(name, within)]
    folders = {source.folder[0] for source in sources if source.folder}
    return [
        Figure("folders at the root", len(folders), 10, 1),
        Figure("upward imports between roots", len(up), 0, 1, between.named(up)),
        Figure("upward imports within roots", len(circles), 8, 1, within.named(circles)),
    ]


def _arrows(sources: Sources) -> tuple[Arrows, Arrows]:
    """Those between folders of one root, and those between roots."""
    within, between = Arrows({}), Arrows({})
    for source in sources:
        for found in sources.imports(source) if not source.is_facade else ():
            home = sources.home(found.module, found.name)
            place = f"{source.path}:{found.line}"
            if root_of(source) != root_of(home):
                between.lines.setdefault(((root_of(source),), (root_of(home),)), []).append(place)
            elif source.folder != home.folder:
                within.lines.setdefault((source.folder, home.folder), []).append(place)
    return within, between


def _least_upward(root: str, arrows: Arrows) -> list[Pair]:
    """The fewest pairs in a root without which no circle is left; of such choices, the one of the fewest imports."""
    pairs = [pair for pair in arrows.lines if pair[0][0] == root]
    result = []
    for circle in _circles(pairs):
        if len(circle) > MOST_IN_CIRCLE:
            raise SystemExit(f"{len(circle)} folders import each other in circles: {circle}; untie them")
        inside = [pair for pair in pairs if set(pair) <= set(circle)]
        best: dict[frozenset[Folder], tuple[int, int, list[Pair]]] = {frozenset(): (0, 0, [])}
        for _ in circle:  # the lowest first: what a folder imports of those that come later runs upward
            larger: dict[frozenset[Folder], tuple[int, int, list[Pair]]] = {}
            for below, (number, imports, chosen) in best.items():
                for folder in set(circle) - below:
                    up = [(a, b) for a, b in inside if a == folder and b not in below]
                    cost = (number + len(up), imports + sum(len(arrows.lines[p]) for p in up), sorted(chosen + up))
                    key = below | {folder}
                    larger[key] = min(cost, larger.get(key, cost))
            best = larger
        result += best[frozenset(circle)][2]
    return result


def _circles(pairs: list[Pair]) -> list[list[Folder]]:
    """Groups of folders that all reach each other."""
    folders = sorted({folder for pair in pairs for folder in pair})
    reached = {folder: {b for a, b in pairs if a == folder} for folder in folders}
    for middle in folders:
        for folder in folders:
            if middle in reached[folder]:
                reached[folder] |= reached[middle]
    groups = {tuple(f for f in folders if f in reached[folder] and folder in reached[f]) for folder in folders}
    return [list(group) for group in sorted(groups) if len(group) > 1]
