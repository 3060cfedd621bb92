"""Newton's steps to an inverse as products of powers: meanings stay, levels are halved."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted

from latticework.compiler.levels import program_depth
from latticework.compiler.passes import dce, inverse_products
from latticework.ir import interpret, run_passes


def steps(v, a, start, number, *, swapped=False, negated=False):
    found, made = start, []
    for _ in range(number):
        product = v.op("mul", *((found, a) if swapped else (a, found)))
        rest = v.op("add", v.op("neg", product), v.splat(2)) if negated else v.op("sub", v.splat(2), product)
        found = v.op("mul", *((rest, found) if swapped else (found, rest)))
        made.append(found)
    return made


def checked(before, *inputs):
    after = run_passes(before, (inverse_products.PASS, dce.PASS))
    for got, wanted in zip(interpret(after, list(inputs)), interpret(before, list(inputs)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
    return after


@pytest.mark.parametrize("number", range(2, 7))
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("negated", [False, True])
def test_chains_from_a_value_take_a_level_a_step(number, swapped, negated):
    v = Vectors(2)
    before = v.done(steps(v, v.x[0], v.x[1], number, swapped=swapped, negated=negated)[-1])
    a = np.random.default_rng(number).uniform(0.5, 1.5, SLOTS)
    after = checked(before, a, np.full(SLOTS, 0.9))
    assert (program_depth(before), program_depth(after)) == (2 * number, number + 1)
    assert counted(after)["vec.mul"] == 2 * number


def test_from_a_number_they_find_the_inverse():
    v = Vectors(1)
    before = v.done(steps(v, v.x[0], v.splat(0.5), 6)[-1])
    a = np.random.default_rng(0).uniform(0.5, 2, SLOTS)
    np.testing.assert_allclose(interpret(checked(before, a), [a])[0], 1 / a, rtol=1e-7)


def test_steps_between_are_read_as_well():
    v = Vectors(1)
    made = steps(v, v.x[0], v.splat(0.25), 4)
    checked(v.done(*made), np.random.default_rng(1).uniform(0.5, 2, SLOTS))


def test_other_values_other_numbers_and_single_steps_stay():
    v = Vectors(2)
    one = steps(v, v.x[0], v.splat(0.5), 1)[-1]
    other = steps(v, v.x[1], one, 1)[-1]  # to the inverse of another value
    three = v.op("mul", other, v.op("sub", v.splat(3), v.op("mul", v.x[1], other)))
    before = v.done(one, other, three)
    assert run_passes(before, (inverse_products.PASS,)) is before


def test_a_step_in_a_loop_after_one_before_it_stays():
    v = Vectors(1, trips=True)
    a = v.x[0]
    first = steps(v, a, v.splat(0.5), 1)[-1]
    before = v.done(*v.loop(lambda _i, _y: [steps(v, a, first, 1)[-1]], [a], v.n))
    assert run_passes(before, (inverse_products.PASS,)) is before
