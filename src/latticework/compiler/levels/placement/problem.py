"""Bootstrap placement as a separate problem: operations in order, and the seconds of each at each level.

Levels are counted up from the floor of the chain: `residual` is where the best bootstrap ends, 0 the lowest that can be
used, and from 0 on a value can still be bootstrapped. A value is refreshed at most once, to a target; each of its
readers reads it as it was made or refreshed. Which values are refreshed decides all levels: one pass from the outputs
up says how high everything has to lie at least, and less is never dearer.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache

from latticework.errors import LevelError
from latticework.ir import Loc
from latticework.lazy_dataclass import dataclass

OUTPUT = -1  # the reader that outputs have
EVERY = frozenset[int]()  # bypassing readers of a value that all of them read refreshed


@dataclass(frozen=True, slots=True)
class ValuePrices:
    """A value of any number of vectors.

    available  level at which it is given; None: an operation makes it
    count      ciphertexts
    alone      seconds of refreshing it, by target (that of 0 is not used); None: it may not be refreshed
    kind       values of one kind may be refreshed two at a time;  None: with no other
    shared     seconds of refreshing two of this kind at a time, by target
    """

    available: int | None = None
    alone: Sequence[float] | None = None
    kind: Hashable = None
    shared: Sequence[float] | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class OpPrices:
    """An operation, by the level that its results are to have.

    enters   level that its operands must have at least; above `residual`: it cannot leave results there
    seconds  what it takes then
    """

    operands: tuple[int, ...]
    results: tuple[int, ...]
    enters: Sequence[int]
    seconds: Sequence[float]
    name: str = "an operation"
    loc: Loc | None = None


@dataclass(frozen=True)
class Problem:
    """Operations in an order in which they can run; values by number.

    wanted  level that outputs must have at least
    """

    residual: int
    values: Sequence[ValuePrices]
    ops: Sequence[OpPrices]
    wanted: Mapping[int, int]

    @cached_property
    def readers(self) -> list[list[int]]:
        """The operations that read each value, each once, and `OUTPUT`."""
        result: list[list[int]] = [[] for _ in self.values]
        for number, op in enumerate(self.ops):
            for value in dict.fromkeys(op.operands):
                result[value].append(number)
        for value in self.wanted:
            result[value].append(OUTPUT)
        return result

    @cached_property
    def given(self) -> list[tuple[int, int]]:
        """The values that no operation makes, each with the level at which it is given."""
        return [(v, value.available) for v, value in enumerate(self.values) if value.available is not None]

    @cached_property
    def makers(self) -> list[int | None]:
        """The operation that makes each value."""
        result: list[int | None] = [None] * len(self.values)
        for number, op in enumerate(self.ops):
            for value in op.results:
                result[value] = number
        return result

    @cached_property
    def refreshable(self) -> list[int]:
        """The values that may be refreshed and are read."""
        return [v for v, value in enumerate(self.values) if value.alone is not None and self.readers[v]]


@dataclass(frozen=True, slots=True)
class Refresh:
    """A value is refreshed to a target; readers that bypass it read the value as it was made."""

    target: int
    bypassing: frozenset[int] = EVERY


@dataclass(frozen=True)
class BootstrapPlacement:
    """Bootstraps, and what follows from them.

    pairs    values that are refreshed together
    needs    level that each value has at least, as it is made
    bound    proved: no placement takes less; 0 where nothing is
    """

    refreshes: Mapping[int, Refresh]
    pairs: Sequence[tuple[int, int]]
    needs: Sequence[int]
    seconds: float
    bound: float = field(default=0.0)

    @property
    def gap(self) -> float:
        """Proved: how much less the best may take, as a share of it; 0: this is the best."""
        return max(self.seconds / self.bound - 1.0, 0.0) if self.bound else float("inf")


@dataclass(frozen=True, slots=True)
class LowestLevels:
    """The lowest levels that follow from which values are refreshed.

    needs    level that each value has at least, as it is made;  targets  and refreshed
    seconds  of all operations
    """

    refreshed: Mapping[int, frozenset[int]]
    needs: Sequence[int]
    targets: Mapping[int, int]
    seconds: float


def evaluate(
    problem: Problem,
    refreshed: Mapping[int, frozenset[int]],
    pairs: Sequence[tuple[int, int]] = (),
    *,
    full: bool = False,
) -> BootstrapPlacement | None:
    """Lowest levels, targets and seconds when these values are refreshed, or None where that is not enough.

    refreshed  for each of them the readers that bypass it
    full       all targets are `residual`
    """
    lowest = lowest_levels(problem, refreshed)
    return None if lowest is None else placement_of(problem, lowest, pairs, full=full)


def lowest_levels(problem: Problem, refreshed: Mapping[int, frozenset[int]]) -> LowestLevels | None:
    """One pass from the outputs up, or None where these refreshes are not enough; arguments as of `evaluate`."""
    wants = [0] * len(problem.values)  # of readers that read a value refreshed where it is
    as_made = dict.fromkeys(refreshed, 0)  # of those that bypass the refresh
    bypassed = {value for value, bypassing in refreshed.items() if bypassing}
    for value, level in problem.wanted.items():
        if value in bypassed and OUTPUT in refreshed[value]:
            as_made[value] = level
        else:
            wants[value] = level
    seconds, residual = 0.0, problem.residual
    for number in range(len(problem.ops) - 1, -1, -1):
        op = problem.ops[number]
        need = 0
        for value in op.results:
            own = as_made[value] if value in as_made else wants[value]
            need = max(need, own)
        level = op.enters[need]
        if level > residual:
            return None
        seconds += op.seconds[need]
        for value in op.operands:
            if value in bypassed and number in refreshed[value]:
                as_made[value] = max(as_made[value], level)
            elif wants[value] < level:
                wants[value] = level
    targets = {value: wants[value] for value in refreshed}
    for value, need in as_made.items():
        wants[value] = need
    if any(wants[value] > available for value, available in problem.given):
        return None
    return LowestLevels(refreshed, wants, targets, seconds)


def placement_of(
    problem: Problem, lowest: LowestLevels, pairs: Sequence[tuple[int, int]] = (), *, full: bool = False
) -> BootstrapPlacement:
    """The placement with these levels, some values refreshed two at a time; arguments as of `evaluate`."""
    refreshed_targets = {v: problem.residual if full else target for v, target in lowest.targets.items() if target > 0}
    together = [pair for pair in pairs if all(v in refreshed_targets for v in pair)]
    for pair in together:
        refreshed_targets.update(dict.fromkeys(pair, max(refreshed_targets[v] for v in pair)))
    seconds = lowest.seconds + refresh_seconds(problem, refreshed_targets, together)
    refreshes = {v: _refresh(target, lowest.refreshed[v]) for v, target in refreshed_targets.items()}
    return BootstrapPlacement(refreshes, together, lowest.needs, seconds)


@lru_cache(maxsize=1 << 12)
def _refresh(target: int, bypassing: frozenset[int]) -> Refresh:
    return Refresh(target, bypassing)


def refresh_seconds(problem: Problem, targets: Mapping[int, int], pairs: Sequence[tuple[int, int]]) -> float:
    """Seconds that refreshing these values takes."""
    together = {v for pair in pairs for v in pair}
    seconds = 0.0
    for value, target in targets.items():
        if value not in together:
            alone = problem.values[value].alone
            assert alone is not None
            seconds += alone[target]
    for value, _ in pairs:
        shared = problem.values[value].shared
        assert shared is not None
        seconds += shared[targets[value]]
    return seconds


def check(problem: Problem) -> None:
    """LevelError that names the operation where even refreshing everything is not enough."""
    residual, needs = problem.residual, [0] * len(problem.values)
    possible = set(problem.refreshable)
    for value, level in problem.wanted.items():
        if level > residual:
            raise LevelError(
                f"place bootstraps: an output is wanted {level} levels above the floor, and a bootstrap leaves "
                f"{residual}; take a set with more levels after bootstrapping"
            )
        needs[value] = level
    for op in reversed(problem.ops):
        need = max((needs[v] for v in op.results if v not in possible), default=0)
        if op.enters[need] > residual:
            raise _too_deep(op, need, residual)
        for value in op.operands:
            needs[value] = max(needs[value], op.enters[need])
    for value, prices in enumerate(problem.values):
        if prices.available is not None and value not in possible and needs[value] > prices.available:
            raise LevelError(
                f"place bootstraps: what reads an input needs it {needs[value]} levels above the floor, it is given at "
                f"{prices.available}, and it may not be bootstrapped; give it at a higher level, or with a range"
            )


def _too_deep(op: OpPrices, need: int, residual: int) -> LevelError:
    if op.enters[0] > residual:
        return LevelError(
            f"place bootstraps: {op.name} spends {op.enters[0]} levels at once, and a bootstrap leaves {residual}; ask "
            "for fewer precision_bits, lower its degree, split it, or take a set with more levels after bootstrapping",
            at=op.loc,
        )
    return LevelError(
        f"place bootstraps: the result of {op.name} may not be bootstrapped, and what follows spends {need} levels; "
        f"with its own that is more than the {residual} that a bootstrap leaves; give a range for its slots",
        at=op.loc,
    )


def spending(spent: int, seconds: Sequence[float], residual: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """`enters` and `seconds` of an operation that spends `spent` levels, from its seconds by the level it enters at."""
    enters = tuple(need + spent for need in range(residual + 1))
    return enters, tuple(seconds[level] if level <= residual else float("inf") for level in enters)
