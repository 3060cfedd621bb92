"""Values computed again from refreshed ones: as cheap as any way to copy operations on small graphs, and written so."""

from itertools import chain, combinations, product

import numpy as np
import pytest
from test_place_bootstrap import RESIDUAL, PerLevel, bootstraps, everywhere
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels import count_bootstraps, decide_levels
from latticework.compiler.levels.place_bootstrap import place_bootstraps
from latticework.compiler.levels.placement import (
    OUTPUT,
    OpPrices,
    Problem,
    ValuePrices,
    place,
    place_by_points,
    schedule,
    spending,
)
from latticework.compiler.levels.placement.packed_pairs import Partners
from latticework.compiler.levels.placement.problem import evaluate
from latticework.compiler.levels.placement.recompute import recompute
from latticework.ir import interpret, verify

ALONE, SHARED = (0.0, 7.0, 7.1, 7.2), (0.0, 10.0, 10.1, 10.2)


def value(available=None, *, may=True):
    return ValuePrices(available, ALONE if may else None, "real" if may else None, SHARED if may else None)


def problem_of(operands, spent, wanted, given):
    """Operations on one input and on one another, each with one result: value `i + 1` of operation `i`."""
    ops = [
        OpPrices(reads, (i + 1,), *spending(s, [0.1 * (level + 1) for level in range(RESIDUAL + 1)], RESIDUAL))
        for i, (reads, s) in enumerate(zip(operands, spent, strict=True))
    ]
    return Problem(RESIDUAL, [value(given)] + [value() for _ in ops], ops, wanted)


def random_problem(seed, size=6):
    rng = np.random.default_rng(seed)
    operands = [
        tuple(int(v) for v in dict.fromkeys(rng.integers(max(0, i - 3), i + 1, 2))) for i in range(size)
    ]  # fmt: skip
    spent = [int(s) for s in rng.choice([0, 1, 1], size)]
    unread = set(range(1, size + 1)) - {v for reads in operands for v in reads}
    return problem_of(operands, spent, {v: int(rng.integers(0, RESIDUAL + 1)) for v in unread}, int(rng.integers(0, 2)))


def subsets(items, most):
    items = list(items)
    return chain.from_iterable(combinations(items, n) for n in range(min(most, len(items)) + 1))


def copied(problem, which, readers):
    """The problem with a copy of some operations behind them, which `readers` (of them, or of copies) read."""
    values, ops, origin = list(problem.values), [], []
    copies = {}
    for number, op in enumerate(problem.ops):
        reads = tuple(copies[v] if (v, number) in readers else v for v in op.operands)
        ops.append(OpPrices(reads, op.results, op.enters, op.seconds))
        origin.append(number)
        if number in which:
            reads = tuple(copies.get(v, v) for v in op.operands)
            copies[op.results[0]] = len(values)
            ops.append(OpPrices(reads, (len(values),), op.enters, op.seconds))
            origin.append(number)
            values.append(value(may=False))
    wanted = {copies[v] if (v, OUTPUT) in readers else v: level for v, level in problem.wanted.items()}
    return Problem(problem.residual, values, ops, wanted)


def least(problem):
    """Seconds of the best placement of at most three refreshes and one pair; readers on the way bypass the early one."""
    partners, best = Partners(problem), float("inf")
    for refreshed in subsets(problem.refreshable, 3):
        pairs = [p for p in combinations(refreshed, 2)]
        for pair in [None, *pairs]:
            bypassing = dict.fromkeys(refreshed, frozenset())
            if pair is not None:
                early, late = pair if partners.is_made_from(pair[1], pair[0]) else pair[::-1]
                bypassing[early] = partners.readers_between(early, late)
            chosen = [] if pair is None else [pair]
            made = evaluate(problem, bypassing, chosen)
            if made is None or made.seconds >= best:
                continue
            kept = {v: refresh.bypassing for v, refresh in made.refreshes.items()}
            if schedule(problem, kept, made.pairs) is not None:
                best = made.seconds
    return best


def least_with_copies(problem):
    """The same over all ways to compute up to two operations twice, and to share their readers out."""
    best = float("inf")
    for which in subsets(range(len(problem.ops)), 2):
        uses = [(op + 1, r) for op in which for r in problem.readers[op + 1]]
        for choice in product([False, True], repeat=len(uses)):
            readers = {use for use, moved in zip(uses, choice, strict=True) if moved}
            best = min(best, least(copied(problem, which, readers)))
    return best


@pytest.mark.parametrize("seed", [*range(6), 20])
def test_no_way_to_copy_operations_of_a_small_graph_takes_less(seed):
    problem = random_problem(seed)
    placement = recompute(problem, place(problem)).placement
    assert placement.seconds <= least_with_copies(problem) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 120))
def test_hardly_any_way_to_copy_operations_takes_less(seed):
    problem = random_problem(seed)
    assert recompute(problem, place(problem)).placement.seconds <= 1.02 * least_with_copies(problem)


def test_a_value_between_two_that_share_a_bootstrap_is_computed_again():
    problem = random_problem(20)
    found = recompute(problem, place(problem))
    assert found.placement.seconds < 0.84 * place(problem).seconds
    assert found.ops == [0, 1, 2, 2, 3, 4, 5] and found.values[-1] == 3
    assert schedule(
        found.problem, {v: r.bypassing for v, r in found.placement.refreshes.items()}, found.placement.pairs
    )


def squares_of_what_is_read_late():
    """A square stands between two values that are read late, and is read late itself, one level lower."""
    v = Vectors(1)
    a = v.op("mul", v.x[0], v.x[0])
    square = v.op("mul", a, a)
    return v.done(a, square, v.op("mul", square, square))


def test_a_square_is_made_again_instead_of_a_second_bootstrap():
    module = squares_of_what_is_read_late()
    made = place_bootstraps(module, RESIDUAL, PerLevel(), everywhere(module), wanted=[3, 2, 3])
    verify(made)
    (op,) = bootstraps(made)
    assert len(op.operands) == 2 and count_bootstraps(made) == 1
    again = made.body.terminator.operands[1]
    assert list(again.owner.operands) == [op.results[0]] * 2 or list(again.owner.operands) == [op.results[1]] * 2
    decide_levels(made, residual=RESIDUAL)
    x = [np.random.default_rng(0).uniform(-1, 1, SLOTS)]
    for got, want in zip(interpret(made, x), interpret(module, x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_other_placers_compute_nothing_again():
    module = squares_of_what_is_read_late()
    made = place_bootstraps(module, RESIDUAL, PerLevel(), everywhere(module), wanted=[3, 2, 3], placer=place_by_points)
    assert sum(op.name == "vec.mul" for op in made.walk()) == 3
