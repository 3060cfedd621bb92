"""Lists of numbers as few regular blocks: runs of equal steps, and equal runs at equal distances."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.lazy_dataclass import dataclass

Ints = tuple[int, ...]


@dataclass(frozen=True)
class RegularBlock:
    """Element t of run u is at offset + u * offset_by_run + t, and is number start + u * by_run + t * by_step.

    Numbers may have several components (start, by_run and by_step are vectors).
    """

    offset: int
    start: Ints
    by_step: Ints
    length: int
    runs: int = 1
    offset_by_run: int = 0
    by_run: Ints = ()


def blocks_of(lists: tuple[Ints, ...]) -> list[RegularBlock]:
    """The blocks, found greedily, of numbers whose components are given as equally long lists."""
    numbers = list(zip(*lists, strict=True))
    runs: list[RegularBlock] = []
    place = 0
    while place < len(numbers):
        length, step = _progression(numbers[place:])
        runs.append(RegularBlock(place, numbers[place], step, length))
        place += length
    return _join(runs, (0,) * len(lists))


def _progression(vectors: Sequence[Ints]) -> tuple[int, Ints]:
    """Count the vectors from the first on that have equal differences; return the difference, too."""
    if len(vectors) == 1:
        return 1, (0,) * len(vectors[0])
    step = _minus(vectors[1], vectors[0])
    length = 2
    while length < len(vectors) and _minus(vectors[length], vectors[length - 1]) == step:
        length += 1
    return length, step


def _join(runs: list[RegularBlock], still: Ints) -> list[RegularBlock]:
    """Runs of one length and step whose starts have equal differences, as one block each."""
    blocks: list[RegularBlock] = []
    first = 0
    while first < len(runs):
        head = runs[first]
        alike = first
        while alike < len(runs) and (runs[alike].length, runs[alike].by_step) == (head.length, head.by_step):
            alike += 1
        count, by_run = _progression([run.start for run in runs[first:alike]])
        blocks.append(
            RegularBlock(head.offset, head.start, head.by_step, head.length, count, head.length, by_run or still)
        )
        first += count
    return blocks


def _minus(a: Ints, b: Ints) -> Ints:
    return tuple(x - y for x, y in zip(a, b, strict=True))
