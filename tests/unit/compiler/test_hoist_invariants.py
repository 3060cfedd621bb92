"""What is the same in every iteration leaves its loop: meanings stay, nothing spends more levels."""

import numpy as np
import pytest
from nest_cases import check, random_loops
from vec_cases import Vectors

from bench.halo.data import inputs_of
from bench.halo.depths import loop_depths, vectors_of
from latticework.compiler.levels.public_factors import factor_pass
from latticework.compiler.options.techniques import Techniques
from latticework.compiler.passes import cse, dce, hoist_invariants
from latticework.ir import run_passes


def in_loops(module):
    return sum(op.block is not module.body for op in module.walk())


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_keep_their_meaning(seed):
    before = random_loops(np.random.default_rng(seed))
    after = run_passes(before, (hoist_invariants.PASS,))
    check(before, after, (0, 1, 3))
    assert in_loops(after) < in_loops(before)
    assert hoist_invariants.run(after) is after
    placed = run_passes(after, (cse.PASS, factor_pass(in_loops=True), dce.PASS))
    check(before, placed, (0, 1, 3), tolerance=1e-9)


def test_a_factor_of_a_mean_of_products_is_made_part_of_the_input_before_the_loop():
    v = Vectors(2, trips=True)
    x, y = v.x

    def body(_i, w):
        total = v.op("mul", v.op("sub", v.op("mul", x, w), y), x)
        for steps in (8, 4, 2, 1):
            total = v.op("add", total, v.op("rotate", total, steps=steps))
        return [v.op("sub", w, v.op("mul", total, v.splat(0.01)))]

    before = v.done(*v.loop(body, [y], v.n))
    after = run_passes(before, (hoist_invariants.PASS, factor_pass(in_loops=True), dce.PASS))
    check(before, after, (0, 2), tolerance=1e-9)
    assert [d.spent for d in loop_depths(before)] == [3]
    assert [d.spent for d in loop_depths(after)] == [2]


def test_linear_regression_spends_a_level_less_in_an_iteration():
    inputs = inputs_of("linear", 64)
    spent = [
        next(loop_depths(vectors_of("linear", inputs, techniques=Techniques(hoisted_invariants=used)))).spent
        for used in (True, False)
    ]
    assert spent == [2, 3]
