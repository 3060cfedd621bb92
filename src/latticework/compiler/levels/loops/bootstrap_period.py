"""The bootstrap period of a loop: iterations between two bootstraps, and those before, between and after groups.

A loop becomes `first` iterations that use the levels its values have at the start, groups of `size` iterations with the
bootstraps of a group among them, and `last` iterations that are followed by what reads the results. One group's values
lie at `head` when it starts and at least there when it ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.compiler.levels.depth import Env, spent_by
from latticework.compiler.levels.loops.iteration_levels import iteration_levels, stays_above
from latticework.compiler.levels.loops.straight_run import PlacedRun
from latticework.compiler.levels.loops.writing import yielded_by
from latticework.ir import Block, Op, Value
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.reason import LoopStrategy

MOST_POINTS = 60  # operations that spend levels, of a straight line that is looked at
MOST_COPIED = 120  # of all copies of a loop that is left without one
DEEP = 4  # iterations of a group, where bootstraps at the head are not enough for two


@dataclass(frozen=True)
class IterationGroup:
    """Iterations with bootstraps among them.

    head     level of each carried value when the first starts
    placed   they in a straight line, with their bootstraps
    outside  what the inputs of its module are: values of the loop's body, what it reads from outside, and
    indices  those that stand for the numbers of iterations, if the body reads them
    """

    size: int
    head: tuple[int, ...]
    placed: PlacedRun
    outside: tuple[Value, ...]
    indices: tuple[Value, ...]

    @property
    def seconds(self) -> float:
        """Seconds of all iterations of the group."""
        return self.placed.seconds

    @property
    def bootstraps(self) -> int:
        """Number of bootstraps in all iterations of the group."""
        return self.placed.bootstraps

    @property
    def rate(self) -> float:
        """Seconds of an iteration."""
        return self.seconds / self.size


@dataclass(frozen=True)
class TripSplit:
    """Iterations before groups, the groups, and after them."""

    first: int
    groups: int
    last: int


def steady_heads(loop: Op, starts: Sequence[int | None], residual: int, outside: Env) -> list[int | None]:
    """The level at which each carried value settles by itself, the floor if it is below.

    None: it spends levels in every iteration.
    """
    carried = [level or 0 for level in starts]
    for _ in range(2 * len(carried) + 1):
        before = carried
        carried = _levels_after(loop, carried, residual, outside)
    pairs = zip(before, carried, strict=True)
    return [None if now < then else max(now, -residual) for then, now in pairs]


def _levels_after(loop: Op, carried: Sequence[int], residual: int, outside: Env) -> list[int]:
    levels = iteration_levels(loop, carried, residual, outside)
    ends = (levels.of[v] for v in yielded_by(loop))
    return [before if end is None else min(before, end) for before, end in zip(carried, ends, strict=True)]


def first_iterations(
    loop: Op, starts: Sequence[int | None], residual: int, outside: Env, most: int, *, guarded: bool
) -> int:
    """Count the iterations that the levels at the start are enough for.

    starts   None: public
    guarded  iterations may be left out, so what they leave is no higher than what they start from
    """
    carried = list(starts)
    for number in range(most):
        levels = iteration_levels(loop, carried, residual, outside)
        if not stays_above(levels, residual):
            return number
        ends = [levels.of[v] for v in yielded_by(loop)]
        carried = [min(a or 0, b or 0) for a, b in zip(carried, ends, strict=True)] if guarded else ends
    return most


def sizes(largest: int, num_points: int) -> list[int]:
    """Sizes of groups in the order in which they are looked at, as long as the next is better.

    largest     that bootstraps at the head would allow
    num_points  of an iteration: operations that spend levels
    """
    if largest >= 2:
        return list(range(max(min(largest, MOST_POINTS // num_points), 1), 0, -1))
    return [size for size in range(1, DEEP + 1) if size * num_points <= MOST_POINTS] or [1]


def split(trip_count: int, size: int, most_first: int, last: int) -> TripSplit:
    """A known number of iterations: as many of the first as are free, as few groups as can be."""
    last = min(last, trip_count)
    first = (trip_count - last) % size
    while first + size <= min(most_first, trip_count - last):
        first += size
    return TripSplit(first, (trip_count - last - first) // size, last)


def note_period(block: Block, iterations: int, alternatives: Sequence[LoopStrategy] = ()) -> None:
    """Bootstraps say how many iterations of their loop lie between two runs of them; of groups of groups the product.

    Until `state_reasons` they are noted in the attribute `every`, and in `ways` what else was weighed for the loop.
    """
    for op in block.ops:
        if op.name == "vec.bootstrap":
            noted = {"ways": tuple(alternatives)} if alternatives else {}
            op.attrs = {**noted, **op.attrs, "every": iterations * op.attrs.get("every", 1)}


def needed_after(loop: Op, residual: int, wanted: Sequence[int]) -> int:
    """Levels above the floor that a loop's results need for what follows them in a straight line.

    wanted  level of what the loop's block yields
    """
    block = loop.block
    assert block is not None
    needs: dict[Value, int] = {}
    for value, level in zip(block.terminator.operands, wanted, strict=True):
        needs[value] = max(needs.get(value, 0), level + residual)
    for op in reversed(block.ops[block.ops.index(loop) + 1 : -1]):
        if op.regions or not any(v.is_secret for v in op.results):
            continue
        need = max(needs.get(v, 0) for v in op.results) + spent_by(op)
        for value in op.operands:
            needs[value] = max(needs.get(value, 0), need)
    return min(max((needs.get(v, 0) for v in loop.results), default=0), residual)
