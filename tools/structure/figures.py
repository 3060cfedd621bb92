"""Figures with a target: one that is beyond it may only come closer."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """A count beside its target. With `step` it is kept by a number, rounded up; without, a list of names keeps it."""

    name: str
    now: float
    target: float
    step: int = 0
    places: Sequence[str] = ()  # what it is made of

    @property
    def rounded(self) -> int:
        """What is kept of it."""
        return math.ceil(self.now / self.step) * self.step


def read_figures(path: Path) -> dict[str, int]:
    """The figures of the last accepted state; none where there is no file."""
    kept: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    return kept


def too_large(figures: Sequence[Figure], path: Path) -> Iterator[str]:
    """What is beyond its target and beyond the figure of the last state."""
    kept = read_figures(path)
    for figure in figures:
        if figure.step and figure.now > max(figure.target, kept.get(figure.name, 0)):
            yield from figure.places
            yield (
                f"{figure.name}: {figure.now:g}, over the target {figure.target:g} and over the last state, "
                f"{kept.get(figure.name, 0)}; bring it down"
            )


def update_figures(figures: Sequence[Figure], path: Path) -> None:
    """Lower the figures that are kept; none is raised, a new one is taken as it is."""
    kept = read_figures(path)
    lower = {f.name: min(f.rounded, kept.get(f.name, f.rounded)) for f in figures if f.step}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(lower, indent=2) + "\n")


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """Lines that say figure, now and target."""
    width = max(len(figure.name) for figure in figures)
    yield f"{'':{width}} {'now':>7} {'target':>7}"
    for figure in figures:
        yield f"{figure.name:{width}} {figure.now:7g} {figure.target:7g}"
