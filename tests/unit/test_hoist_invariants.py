"""What is the same in every iteration leaves its loop: meanings stay, nothing spends more levels."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors

from bench.halo.data import inputs_of
from bench.halo.depths import loop_depths, vectors_of
from latticework.ir import INDEX, interpret, run_passes, verify
from latticework.levels import program_depth
from latticework.levels.constants import placing
from latticework.passes import cse, dce, hoist_invariants
from latticework.techniques import Techniques


def random_loops(rng):
    """Two inputs in nested loops, of products, sums and rotations of whatever is there."""
    v = Vectors(2, trips=True)

    def some(values):
        return values[int(rng.integers(len(values)))]

    def grown(values, count):
        values = list(values)
        for _ in range(count):
            kind = rng.choice(["mul", "add", "sub", "rotate", "public"])
            if kind == "rotate":
                made = v.op("rotate", some(values), steps=int(rng.integers(1, SLOTS)))
            elif kind == "public":
                public = v.splat(rng.uniform(0.1, 0.9)) if rng.integers(2) else v.constant(rng.uniform(-1, 1, SLOTS))
                made = v.op("mul", some(values), public)
            else:
                made = v.op(kind, some(values), some(values))
            values.append(v.op("mul", made, v.splat(0.25)))
        return values

    def outer(_i, a, b):
        around = grown([*v.x, a, b], 3)

        def inner(_j, c):
            return [grown([*around, c], 5)[-1]]

        (c,) = v.loop(inner, [some(around)], 2)
        return grown([*around, c], 2)[-2:]

    return v.done(*v.loop(outer, grown(v.x, 1)[-2:], v.n))


def check(before, after, trips, tolerance=1e-12):
    """The same results, and no more levels."""
    verify(after)
    rng = np.random.default_rng(3)
    for n in trips:
        inputs = [n if v.type is INDEX else
                  rng.uniform(-1, 1, SLOTS) for v in before.inputs]  # fmt: skip
        for got, want in zip(interpret(after, inputs), interpret(before, inputs), strict=True):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    assert program_depth(after, once=True) <= program_depth(before, once=True)


def in_loops(module):
    return sum(op.block is not module.body for op in module.walk())


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_keep_their_meaning(seed):
    before = random_loops(np.random.default_rng(seed))
    after = run_passes(before, (hoist_invariants.PASS,))
    check(before, after, (0, 1, 3))
    assert in_loops(after) < in_loops(before)
    assert hoist_invariants.run(after) is after
    placed = run_passes(after, (cse.PASS, placing(in_loops=True), dce.PASS))
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
    after = run_passes(before, (hoist_invariants.PASS, placing(in_loops=True), dce.PASS))
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
