"""Products in loops in another order, and sums of products as one: meanings stay, iterations spend fewer levels."""

import numpy as np
import pytest
from nest_cases import check, random_loops
from vec_cases import SLOTS, Vectors, counted

from bench.halo.data import inputs_of
from bench.halo.depths import loop_depths, vectors_of
from latticework.compiler.options.techniques import Techniques
from latticework.compiler.passes import cse, dce, factor_sums, hoist_invariants, reassociate
from latticework.ir import interpret, run_passes


def spent(module):
    return [(d.nesting, d.spent) for d in loop_depths(module)]


def products_in_loops(module):
    return sum(op.name == "vec.mul" and op.block is not module.body for op in module.walk())


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_keep_their_meaning_and_spend_no_more(seed):
    before = run_passes(random_loops(np.random.default_rng(100 + seed)), (hoist_invariants.PASS, cse.PASS, dce.PASS))
    after = run_passes(before, (factor_sums.PASS, reassociate.PASS, dce.PASS))
    check(before, after, (0, 1, 3), tolerance=1e-9)
    deepest = [max(levels for _, levels in spent(module)) for module in (before, after)]
    assert deepest[1] <= deepest[0]
    if spent(after) == spent(before):
        assert products_in_loops(after) <= products_in_loops(before)


@pytest.mark.parametrize("seed", range(6))
def test_random_sums_of_products_are_factored(seed):
    rng = np.random.default_rng(seed)
    v = Vectors(4)
    total = v.op("mul", v.x[0], v.x[int(rng.integers(4))])
    for _ in range(5):
        term = v.op("mul", v.x[int(rng.integers(2))], v.x[int(rng.integers(4))])
        total = v.op(str(rng.choice(["add", "sub"])), total, term)
    before = v.done(total)
    after = run_passes(before, (factor_sums.PASS, dce.PASS))
    x = list(rng.uniform(-1, 1, (4, SLOTS)))
    np.testing.assert_allclose(interpret(after, x)[0], interpret(before, x)[0], rtol=1e-12, atol=1e-12)
    assert counted(after)["vec.mul"] <= counted(before)["vec.mul"]


def test_long_chains_of_products_are_balanced():
    v = Vectors(1, trips=True)

    def body(_i, a):
        made = a
        for steps in range(1, 8):
            made = v.op("mul", made, v.op("rotate", a, steps=steps))
        return [made]

    before = v.done(*v.loop(body, v.x, v.n))
    after = run_passes(before, (reassociate.PASS,))
    assert (spent(before), spent(after)) == ([(0, 7)], [(0, 3)])
    assert products_in_loops(after) == products_in_loops(before)
    check(before, after, (0, 1, 2))


def test_an_iteration_of_svm_training_spends_fewer_levels():
    inputs = inputs_of("svm", 16)
    found, without = (
        next(loop_depths(vectors_of("svm", inputs, techniques=t))).spent
        for t in (Techniques(), Techniques(reassociated=False))
    )
    assert found <= 19 < without
