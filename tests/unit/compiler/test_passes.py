"""The passes over vec programs keep meanings, and fold-splats saves the levels it promises."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted

from latticework.compiler.levels import program_depth
from latticework.compiler.levels.depth import input_levels
from latticework.compiler.passes import cse, dce, fold_splats, normalize_polynomials, share_inputs, share_outputs
from latticework.ir import interpret, print_module, run_passes, verify
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines loop.yield)
from latticework.values.packing.packed_constants import IntervalPolynomial

RNG = np.random.default_rng(8)
MATRIX = RNG.normal(size=(SLOTS, SLOTS)) / 4


def agrees(module, *passes, tolerance=1e-12):
    """The module after the passes, verified to compute the same; the module itself is left alone."""
    before = print_module(module)
    result = run_passes(module, passes)
    verify(result)
    assert print_module(module) == before
    x = [RNG.uniform(-1, 1, SLOTS) for _ in module.inputs]
    for got, want in zip(interpret(result, x), interpret(module, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    return result


def chain(v, y):
    """y times 0.3, 0.7 and 0.9, one after the other."""
    for factor in (0.3, 0.7, 0.9):
        y = v.op("mul", y, v.splat(factor))
    return y


def maps(v):
    """A x0 - A x1."""
    return v.op("add", v.matrix(v.x[0], MATRIX), v.op("neg", v.matrix(v.x[1], MATRIX)))


def scaled(v, y):
    return v.op("mul", y, v.splat(0.3))


FOLDED = {
    "map": (lambda v: scaled(v, v.matrix(v.x[0], MATRIX)), 1),
    "number first": (lambda v: v.op("mul", v.splat(0.3), v.matrix(v.x[0], MATRIX)), 1),
    "affine map": (lambda v: scaled(v, v.op("sub", v.constant(MATRIX[0]), v.matrix(v.x[0], MATRIX))), 1),
    "sum of maps": (lambda v: scaled(v, maps(v)), 1),
    "weighted": (lambda v: scaled(v, v.op("mul", v.x[0], v.constant(MATRIX[0]))), 1),
    "chain": (lambda v: chain(v, v.matrix(v.x[0], MATRIX)), 1),
    "chain of numbers": (lambda v: chain(v, v.x[0]), 1),
    "a term that cannot": (
        lambda v: scaled(v, v.op("add", v.op("mul", v.x[0], v.x[1]), v.matrix(v.x[0], MATRIX))),
        2,
    ),
    "shifted by a number": (lambda v: scaled(v, v.op("add", v.matrix(v.x[0], MATRIX), v.splat(2.0))), 1),
    "square": (lambda v: scaled(v, v.op("mul", v.x[0], v.x[0])), 2),
}


@pytest.mark.parametrize("name", FOLDED)
def test_folding_keeps_meaning_and_saves_levels(name):
    build, depth = FOLDED[name]
    v = Vectors(2)
    module = v.done(build(v))
    result = agrees(module, fold_splats.PASS, cse.PASS, dce.PASS)
    assert program_depth(result) == depth <= program_depth(module)


def test_a_value_that_others_read_stays_as_it_is():
    v = Vectors(1)
    y = v.matrix(v.x[0], MATRIX)
    result = agrees(v.done(v.op("mul", y, v.splat(0.3)), y), fold_splats.PASS, cse.PASS, dce.PASS)
    assert counted(result)["vec.linear_transform"] == 1 and counted(result)["vec.mul"] == 1


def random_module(rng):
    v = Vectors(2)
    pool = [*v.x, v.matrix(v.x[0], MATRIX), v.matrix(v.x[1], MATRIX)]

    def pick():
        return pool[rng.integers(len(pool))]

    def number():
        return v.splat(float(rng.choice([-2.0, 0.0, 0.5, 0.3])))

    def term():
        return (number, lambda: v.constant(rng.uniform(-1, 1, SLOTS)), pick)[rng.integers(3)]()

    for _ in range(int(rng.integers(3, 10))):
        kind = int(rng.integers(6))
        pool.append(
            v.op("mul", pick(), number()) if kind < 2
            else v.op(("add", "sub")[kind - 2], pick(), term()) if kind < 4
            else v.op("neg", pick()) if kind == 4
            else v.polynomial(pick(), rng.normal(size=3))
        )  # fmt: skip
    return v.done(*pool[-3:])


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed):
    module = random_module(np.random.default_rng(seed))
    result = agrees(module, normalize_polynomials.PASS, fold_splats.PASS, cse.PASS, dce.PASS, tolerance=1e-9)
    assert program_depth(result) <= program_depth(module)
    again = run_passes(result, (normalize_polynomials.PASS,))
    assert print_module(again) == print_module(result)


@pytest.mark.parametrize("basis", ["power", "chebyshev"])
@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-3.0, 3.0), (0.5, 2.0), (-1e-3, 1e-3), (-5.0, -4.0)])
@pytest.mark.parametrize("c", [(0.5,), (0.0, 2.0), (1.0, -1.0, 0.5, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)])
def test_every_polynomial_becomes_one_on_the_unit_interval(basis, interval, c):
    v = Vectors(1)
    low, high = interval
    inside = v.op("add", v.op("mul", v.x[0], v.splat((high - low) / 2)), v.splat((high + low) / 2))
    module = v.done(v.op("polynomial", inside, polynomial=IntervalPolynomial(c, interval, basis)))
    result = agrees(module, normalize_polynomials.PASS, dce.PASS, tolerance=1e-10)
    for op in result.walk():
        if op.name == "vec.polynomial":
            polynomial = op.attrs["polynomial"]
            assert polynomial.interval == (-1.0, 1.0) and polynomial.basis == "chebyshev"
            assert polynomial.degree > 0 and polynomial.coefficients[-1] != 0.0


def test_the_scaling_of_an_argument_moves_into_the_map_before_it():
    v = Vectors(1)
    y = v.op("add", v.matrix(v.x[0], MATRIX), v.constant(MATRIX[0]))
    module = v.done(v.op("polynomial", y, polynomial=IntervalPolynomial((0.1, 0.2, 0.3, 0.4), (-4.0, 6.0))))
    result = agrees(module, normalize_polynomials.PASS, fold_splats.PASS, cse.PASS, dce.PASS, tolerance=1e-10)
    assert program_depth(result) == 3  # the map, and two for the cubic


@pytest.mark.parametrize("seed", range(20))
def test_inputs_start_as_low_as_the_depth_allows(seed):
    module = random_module(np.random.default_rng(seed))
    depth, starts = program_depth(module), input_levels(module)
    assert program_depth(module, starts) == depth
    for i, start in enumerate(starts):
        lower = [s - (i == j) for j, s in enumerate(starts)]
        assert start == -depth or program_depth(module, lower) > depth


@pytest.mark.parametrize("step", [cse.PASS, dce.PASS, fold_splats.PASS, normalize_polynomials.PASS, share_inputs.PASS,
                                  share_outputs.PASS], ids=lambda step: step.name)  # fmt: skip
def test_where_there_is_nothing_to_change_the_module_stays(step):
    v = Vectors(2)
    module = v.done(v.op("mul", v.op("add", *v.x), v.x[0]))
    assert run_passes(module, (step,)) is module
