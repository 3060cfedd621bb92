"""Problems without operations behind which nobody would bootstrap have the answers of the whole ones."""

import pytest
from loop_cases import MEAN, RESIDUAL, Published, check_plan, exponents_of
from vec_cases import SLOTS, Vectors

from latticework.compiler.levels.loops.candidates import worthwhile
from latticework.compiler.levels.place_bootstrap import place_bootstraps
from latticework.compiler.levels.placement import place
from latticework.compiler.levels.placement.condense import condense, place_condensed
from latticework.compiler.levels.placement.vec_problem import VecProblem


def sums(length, values=1):
    """Powers of sums over slots by rotations, longer than a bootstrap is enough for."""
    v = Vectors(values)
    found = list(v.x)
    for number in range(length):
        one, other = found[number % values], found[(number + 1) % values]
        total = v.op("mul", one, other)
        for bit in range(4):
            total = v.op("add", total, v.op("rotate", total, steps=1 << bit))
        found[number % values] = v.op("mul", total, v.splat(1 / SLOTS))
    return v.done(*found)


def problem_of(module, residual):
    few = worthwhile(module)
    exponents = {value: k for value, k in exponents_of(module).items() if value in few}
    return VecProblem(module.body, residual, Published(), exponents).problem()


def test_rotations_and_sums_of_one_value_are_not_worth_a_bootstrap():
    v = Vectors(2)
    product = v.op("mul", v.x[0], v.x[1])
    turned = v.op("rotate", product, steps=1)
    own, both = v.op("add", product, turned), v.op("sub", turned, v.x[0])
    mapped = v.matrix(own, MEAN)
    module = v.done(both, v.op("neg", mapped))
    assert worthwhile(module) == {v.x[0], v.x[1], product, both, mapped}


def test_parts_of_an_array_are_worth_one():
    """A vector taken out, or a sum, is fewer vectors than what it is made of."""
    v = Vectors(1, counts=[4])
    part, total = v.op("take", v.x[0], vectors=(2,)), v.op("sum", v.x[0], groups=1)
    assert {part, total} <= worthwhile(v.done(part, total))


@pytest.mark.parametrize(("length", "values"), [(9, 1), (7, 2), (8, 3)])
def test_the_smaller_problem_has_the_same_answer(length, values):
    problem = problem_of(sums(length, values), 4)
    small, kept = condense(problem)
    assert len(small.ops) == len(kept) == 2 * length < len(problem.ops)
    whole, found = place(problem), place_condensed(problem)
    assert found.seconds <= whole.seconds * 1.01
    assert found.bound <= found.seconds


@pytest.mark.parametrize("values", [1, 2, 3])
def test_programs_run_with_what_is_found(values):
    module = sums(9, values)
    made = place_bootstraps(module, RESIDUAL // 4, Published(), exponents_of(module), placer=place_condensed)
    assert check_plan(module, made, RESIDUAL // 4)[0] > 0
