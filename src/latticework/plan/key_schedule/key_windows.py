"""The windows in which a run reads its keys, in order, and which rows always are in the same windows.

A pass over keys goes through its limbs in windows of neighbouring ones: as many limbs as let two windows fit into the
budget, at most 16, and windows of a pass as equal as can be. Rows that are in the same windows are a class: nothing
tells one from another, so all that is asked of them is asked of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.walk import Site
from latticework.plan.key_schedule.key_uses import Called, Either, KeyPart, KeyStep, Loop, Node, Others, Pass
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.pack import IntArray
from latticework.values.sums import add_up

MOST_LIMBS = 16  # of a window
MOST_WINDOWS = 1 << 15  # that are followed one by one: of longer loops a few iterations are followed
FEW_ITERATIONS = 4  # of a longer loop, those between the first and the last are told as one


@dataclass(slots=True, eq=False)
class Window:
    """The rows of keys that are read together; `classes` are theirs, by number."""

    parts: Pass
    classes: tuple[int, ...] = ()

    @property
    def limbs(self) -> int:
        """Number of neighbouring limbs."""
        return len(self.parts[0].limbs)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part.rows for part in self.parts)


@dataclass(slots=True, eq=False)
class Visit:
    """A window when it comes up in a run.

    line     location that it is booked to: of the call, in a called block
    weight   how many visits it stands for: other iterations of a loop that are not followed
    before   seconds of what reads no key, since the window before;  seconds  of the products with this window
    first    whether a pass starts here
    stretch  its number in `plan.key_schedule.keys_over_time`, the same in iterations told as one
    call     number and block of the outermost call that it is in
    """

    window: Window
    site: Site
    line: int
    weight: float
    before: float
    seconds: float
    first: bool
    stretch: int
    call: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class LoopStretches:
    """A loop over program time, by numbers of windows that are told, or of stretches: from `first` to before `end`.

    middle  of the iterations that are told as one, likewise; empty where each is told
    depth   loops that it is in
    """

    trips: int
    first: int
    middle: tuple[int, int]
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Visits:
    """A run.

    sizes     rows of each class
    after     seconds from the last window to the end;  is_exact  whether every iteration of every loop is followed
    loops     those that read keys, in the order in which they end
    """

    visits: tuple[Visit, ...]
    sizes: tuple[int, ...]
    after: float
    is_exact: bool
    loops: tuple[LoopStretches, ...]

    @property
    def rows(self) -> int:
        """Different rows that are read."""
        return sum(self.sizes)


def limbs_at_once(one: Pass, capacity_rows: int) -> int:
    """Limbs of a window of a pass at most."""
    each = rows_of_limb(one)
    return max(1, min(capacity_rows // 2 // each, MOST_LIMBS))


def rows_of_limb(one: Pass) -> int:
    """Rows that a pass reads at one limb: a digit of a key each."""
    return sum(len(part.digits) for part in one)


def cut(one: Pass, capacity_rows: int) -> Iterator[Pass]:
    """Yield the windows of a pass."""
    limbs = one[0].limbs
    assert all(part.limbs == limbs for part in one)
    number = -(-len(limbs) // limbs_at_once(one, capacity_rows))
    ends = accumulate(len(range(first, len(limbs), number)) for first in range(number))
    for start, end in pairwise((0, *ends)):
        yield tuple(KeyPart(part.key, part.spec, part.digits, limbs[start:end]) for part in one)


def visits_of(
    order: Sequence[Node],
    chain: ModulusChain,
    capacity_rows: int,
    seconds: Callable[[Site], float],
    most_windows: int | None = None,
) -> Visits:
    """The windows of a run.

    seconds       what an instruction takes once its keys are there
    most_windows  that are looked at one by one; MOST_WINDOWS if not given
    """
    windows = _Windows(capacity_rows, seconds)
    iterations = _limit_iterations(order, windows, most_windows or MOST_WINDOWS)
    windows.follow(order, iterations, 1.0, None)
    sizes = _classify(windows.known.values(), chain)
    return Visits(tuple(windows.visits), sizes, windows.waiting, windows.is_exact, tuple(windows.loops.values()))


def _limit_iterations(order: Sequence[Node], windows: _Windows, most_windows: int) -> int:
    """Return how many iterations of a loop to follow at most, so that there are not too many windows."""
    most = min(max(_trip_counts(order), default=1), most_windows)
    while most > 1 and windows.count(order, most) > most_windows:
        most = most // 2
    return most


def _trip_counts(order: Sequence[Node]) -> Iterator[int]:
    seen: set[int] = set()
    rest = [order]
    while rest:
        nodes = rest.pop()
        if id(nodes) in seen:
            continue
        seen.add(id(nodes))
        for node in nodes:
            if isinstance(node, Loop):
                yield node.trips
                rest.append(node.body)
            elif isinstance(node, Called):
                rest.append(node.body)
            elif isinstance(node, Either):
                rest += node.branches


class _Windows:
    """Follows a run; windows of the same rows are one."""

    def __init__(self, capacity_rows: int, seconds: Callable[[Site], float]) -> None:
        self.capacity_rows = capacity_rows
        self.seconds = seconds
        self.known: dict[Pass, Window] = {}
        self.visits: list[Visit] = []
        self.waiting = 0.0  # seconds since the last window
        self.is_exact = True
        self.loops: dict[tuple[int, int], LoopStretches] = {}  # by (first stretch, depth)
        self._depth = self._stretch = self._calls = 0
        self._call: tuple[int, int] | None = None
        self._passes: dict[Pass, list[Window]] = {}
        self._cuts: dict[int, list[tuple[Window, float, bool]]] = {}
        self._others: dict[int, float] = {}
        self._rows: dict[int, int] = {}

    def cuts(self, step: KeyStep) -> list[tuple[Window, float, bool]]:
        """(window, seconds, whether a pass starts) of an instruction; time is shared out by limbs."""
        if id(step) not in self._cuts:
            windows = [(window, number == 0) for one in step.passes for number, window in enumerate(self._cut(one))]
            each = self.seconds(step.site) / sum(window.limbs for window, _ in windows)
            self._cuts[id(step)] = [(window, window.limbs * each, first) for window, first in windows]
        return self._cuts[id(step)]

    def _cut(self, one: Pass) -> list[Window]:
        if one not in self._passes:
            self._passes[one] = [self.known.setdefault(parts, Window(parts)) for parts in cut(one, self.capacity_rows)]
        return self._passes[one]

    def count(self, nodes: Sequence[Node], most_iterations: int) -> int:
        """Count the windows that are visited, with `most_iterations` of each loop at most."""
        total = 0
        for node in nodes:
            if isinstance(node, KeyStep):
                total += len(self.cuts(node))
            elif isinstance(node, Loop):
                total += min(node.trips, most_iterations) * self.count(node.body, most_iterations)
            elif isinstance(node, Called):
                total += self.count(node.body, most_iterations)
            elif isinstance(node, Either):
                total += max(self.count(branch, most_iterations) for branch in node.branches)
        return total

    def rows(self, nodes: Sequence[Node]) -> int:
        """Count the rows that are read if none stay, with one iteration a loop: to tell which branch reads more."""
        total = 0
        for node in nodes:
            if isinstance(node, KeyStep):
                total += sum(window.rows for window, _, _ in self.cuts(node))
            elif isinstance(node, Loop | Called):
                total += self.rows(node.body)
            elif isinstance(node, Either):
                total += max(map(self.rows, node.branches))
        return total

    def follow(self, nodes: Sequence[Node], most_iterations: int, weight: float, line: int | None) -> None:
        """Visit windows in order. Of a loop that is too long, the middle third stands for all that is left out."""
        for node in nodes:
            if isinstance(node, KeyStep):
                self._visit(node, weight, line)
            elif isinstance(node, Others):
                self.waiting += self._seconds(node)
            elif isinstance(node, Called):
                self._follow_call(node, most_iterations, weight, line)
            elif isinstance(node, Either):
                self.is_exact = False
                self.follow(max(node.branches, key=self.rows), most_iterations, weight, line)
            elif not self.count(node.body, 1):
                self.waiting += node.trips * self._computing(node.body)
            else:
                self._follow_loop(node, most_iterations, weight, line)

    def _follow_call(self, node: Called, most_iterations: int, weight: float, line: int | None) -> None:
        """Follow a call; its windows are booked to the line of the outermost one."""
        if line is not None:
            self.follow(node.body, most_iterations, weight, line)
            return
        self._calls += 1
        self._call = self._calls, node.block
        self.follow(node.body, most_iterations, weight, node.location)
        self._call = None

    def _follow_loop(self, node: Loop, most_iterations: int, weight: float, line: int | None) -> None:
        """Follow a loop. All iterations visit as many windows, so those told as one have the same stretches."""
        followed = min(node.trips, most_iterations)
        first = followed // 3
        last = max(first + 1, 2 * followed // 3)
        each = 1.0 if followed == node.trips else 1.0 + (node.trips - followed) / (last - first)
        self.is_exact = self.is_exact and followed == node.trips
        ends = 1 if followed > 2 else 0  # iterations at each end that are told apart
        alike = range(ends, followed - ends) if node.trips > FEW_ITERATIONS else range(0)
        begin = self._stretch
        middle = begin, begin
        self._depth += 1
        for iteration in range(followed):
            start = self._stretch = middle[0] if iteration in alike[1:] else self._stretch
            self.follow(node.body, most_iterations, weight * (each if first <= iteration < last else 1.0), line)
            middle = (start, self._stretch) if iteration in alike else middle
        self._depth -= 1
        if self._stretch > begin:
            self.loops[begin, self._depth] = LoopStretches(node.trips, begin, middle, self._stretch, self._depth)

    def _computing(self, nodes: Sequence[Node]) -> float:
        """Seconds of what reads no key."""
        total = 0.0
        for node in nodes:
            if isinstance(node, Others):
                total += self._seconds(node)
            elif isinstance(node, Called):
                total += self._computing(node.body)
            elif isinstance(node, Loop):
                total += node.trips * self._computing(node.body)
            elif isinstance(node, Either):
                total += max(map(self._computing, node.branches))
        return total

    def _seconds(self, node: Others) -> float:
        if id(node) not in self._others:
            self._others[id(node)] = add_up(map(self.seconds, node.sites))
        return self._others[id(node)]

    def _visit(self, step: KeyStep, weight: float, line: int | None) -> None:
        at = step.site.instruction.location if line is None else line
        for window, seconds, first in self.cuts(step):
            moment = self._stretch, self._call
            self.visits.append(Visit(window, step.site, at, weight, self.waiting, seconds, first, *moment))
            self.waiting = 0.0
            self._stretch += 1


def _classify(windows: Iterable[Window], chain: ModulusChain) -> tuple[int, ...]:
    """Number the classes of all rows in windows; returns their sizes."""
    every = list(windows)
    numbers = [_numbers(window.parts, chain) for window in every]
    labels = np.zeros(1 + max((int(n.max()) for n in numbers), default=0), dtype=np.int64)
    sizes = [len(labels)]
    for rows in numbers:  # rows of a class that are in a window are split from those that are not
        old, place, counts = np.unique(labels[rows], return_inverse=True, return_counts=True)
        renamed = old.copy()
        for i, (label, number) in enumerate(zip(old.tolist(), counts.tolist(), strict=True)):
            if number < sizes[label]:
                renamed[i] = len(sizes)
                sizes[label] -= number
                sizes.append(number)
        labels[rows] = renamed[place]
    for window, rows in zip(every, numbers, strict=True):
        window.classes = tuple(np.unique(labels[rows]).tolist())
    used = {label for window in every for label in window.classes}
    return tuple(size if label in used else 0 for label, size in enumerate(sizes))


def _numbers(parts: Pass, chain: ModulusChain) -> IntArray:
    """Return every row as one number."""
    limbs, digits = chain.num_primes, max(len(cut) for cut in (chain.digits, *(g.digits for g in chain.gadgets)))
    each = [
        ((part.key * digits + np.array(part.digits))[:, None] * limbs + np.array(part.limbs)[None, :]).ravel()
        for part in parts
    ]
    return np.concatenate(each)
