"""Values that are computed again from refreshed ones, instead of being refreshed too.

Two values share a bootstrap though one is made from the other, if what lies between reads the early one as it was made.
What lies between and is read later as well would have to be refreshed by itself, or the early value before the late
one. Computed again from the early value behind the bootstrap, it takes what its operations take, and no bootstrap.
Source: own; rematerialisation as of registers. Cost: O(ops) for each two refreshed values of which one goes into the
other, of which few are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from latticework.compiler.levels.placement.execution_order import schedule
from latticework.compiler.levels.placement.packed_pairs import Partners
from latticework.compiler.levels.placement.problem import EVERY, OUTPUT, BootstrapPlacement, OpPrices, Problem, evaluate
from latticework.lazy_dataclass import dataclass

MOST_LOOKS, MOST_OPS = 64, 1_000  # at two refreshed values, and operations in all of them; the nearest come first
TOLERANCE = 1e-9  # seconds


@dataclass(frozen=True)
class Recomputed:
    """A problem with copies of operations, and a placement of it.

    ops     which operation of the problem that was given each operation is
    values  which value of it each value is; those of copies come last
    """

    problem: Problem
    placement: BootstrapPlacement
    ops: Sequence[int]
    values: Sequence[int]


def without_copies(problem: Problem, placement: BootstrapPlacement) -> Recomputed:
    """The same with no copy."""
    return Recomputed(problem, placement, range(len(problem.ops)), range(len(problem.values)))


def recompute(problem: Problem, placement: BootstrapPlacement) -> Recomputed:
    """The placement, or a cheaper one of a problem with copies."""
    best = without_copies(problem, placement)
    looks = min(MOST_LOOKS, MOST_OPS // (1 + len(problem.ops)))
    while looks > 0:
        candidates, partners = [], Partners(best.problem)
        for early, late in _nested_pairs(best, partners):
            looks -= 1
            joined = _refresh_together(best, partners, early, late)
            if joined is not None and joined.placement.seconds < best.placement.seconds - TOLERANCE:
                candidates.append(joined)
            if looks == 0:
                break
        if not candidates:
            break
        best = min(candidates, key=lambda each: each.placement.seconds)
    return best


def _nested_pairs(recomputed: Recomputed, partners: Partners) -> Iterator[tuple[int, int]]:
    """Values of a kind of which one goes into the other and one at least is refreshed; both first, then nearest."""
    values, refreshed = recomputed.problem.values, recomputed.placement.refreshes
    able = [v for v in recomputed.problem.refreshable if values[v].shared is not None]
    both = [
        (early, late) for early in able for late in able
        if (early in refreshed or late in refreshed)
        and values[early].kind == values[late].kind and partners.is_made_from(late, early)
    ]  # fmt: skip

    def distance(pair: tuple[int, int]) -> tuple[bool, int]:
        early, late = pair
        between = partners.below[late] & ~partners.below[early]
        return not (early in refreshed and late in refreshed), between.bit_count()

    yield from sorted(both, key=distance)


def _refresh_together(recomputed: Recomputed, partners: Partners, early: int, late: int) -> Recomputed | None:
    """Both refreshed together, and what lies between computed again where others read it; None if that is no order."""
    problem = recomputed.problem
    between = {
        number for number, op in enumerate(problem.ops)
        if any(partners.is_made_from(v, early) and (v == late or partners.is_made_from(late, v)) for v in op.results)
    }  # fmt: skip
    copied: set[int] = set()
    for number in sorted(between, reverse=True):
        results = problem.ops[number].results
        readers = {r for v in results for r in problem.readers[v] if v != late}
        if readers - between or readers & copied:
            copied.add(number)
    if not copied or problem.makers[late] in copied:
        return None
    with_copies = _with_copies(recomputed, between, copied)
    new = _numbers(recomputed.problem, copied)
    refreshed = {
        v: frozenset(new[r] for r in refresh.bypassing) for v, refresh in recomputed.placement.refreshes.items()
    }
    refreshed[early] = frozenset(new[r] for r in problem.readers[early] if r in between)
    pairs = [pair for pair in recomputed.placement.pairs if early not in pair and late not in pair] + [(early, late)]
    refreshed.setdefault(late, EVERY)
    placement = _evaluate_scheduled(with_copies.problem, refreshed, pairs)
    for value in sorted(recomputed.placement.refreshes.keys() - {early, late}):
        fewer = {v: bypassing for v, bypassing in refreshed.items() if v != value}
        other = _evaluate_scheduled(with_copies.problem, fewer, [pair for pair in pairs if value not in pair])
        if other is not None and (placement is None or other.seconds < placement.seconds):
            placement, refreshed = other, fewer
            pairs = [pair for pair in pairs if value not in pair]
    return None if placement is None else replace(with_copies, placement=placement)


def _evaluate_scheduled(
    problem: Problem, refreshed: Mapping[int, frozenset[int]], pairs: Sequence[tuple[int, int]]
) -> BootstrapPlacement | None:
    """A placement that has enough levels, and an order."""
    placement = evaluate(problem, refreshed, pairs)
    if placement is None:
        return None
    bypassing = {v: refresh.bypassing for v, refresh in placement.refreshes.items()}
    return None if schedule(problem, bypassing, placement.pairs) is None else placement


def _numbers(problem: Problem, copied: set[int]) -> dict[int, int]:
    """New numbers of readers once a copy stands behind each of some operations."""
    before = accumulate((number in copied for number in range(len(problem.ops))), initial=0)
    return {OUTPUT: OUTPUT} | {
        number: number + shift for number, shift in zip(range(len(problem.ops)), before, strict=False)
    }


def _with_copies(recomputed: Recomputed, between: set[int], copied: set[int]) -> Recomputed:
    """A copy behind each of some operations, read by all that lies not between two values, and by other copies."""
    problem = recomputed.problem
    values, origins = list(problem.values), list(recomputed.values)
    copies: dict[int, int] = {}
    ops: list[OpPrices] = []
    numbers: list[int] = []

    def reading(op: OpPrices) -> OpPrices:
        return replace(op, operands=tuple(copies.get(v, v) for v in op.operands))

    for number, op in enumerate(problem.ops):
        ops.append(op if number in between else reading(op))
        numbers.append(recomputed.ops[number])
        if number in copied:
            again = reading(op)
            for value in op.results:
                copies[value] = len(values)
                values.append(replace(problem.values[value], alone=None, shared=None, kind=None))
                origins.append(recomputed.values[value])
            ops.append(replace(again, results=tuple(copies[v] for v in op.results)))
            numbers.append(recomputed.ops[number])
    wanted = {copies.get(v, v): level for v, level in problem.wanted.items()}
    return Recomputed(Problem(problem.residual, values, ops, wanted), recomputed.placement, numbers, origins)
