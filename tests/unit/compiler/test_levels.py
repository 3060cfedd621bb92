"""Levels and scales: depths worked out by hand, laziness counted, meanings kept."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted, managed, small_chain

from latticework.compiler.levels import program_depth
from latticework.compiler.levels.depth import MAX_FREE_FACTOR, is_free_factor
from latticework.errors import LevelError, ScaleError
from latticework.ir import Loc, interpret
from latticework.ir.dialects.rlwe_dialect import CipherType
from latticework.values.packing.packed_constants import IntervalPolynomial

RNG = np.random.default_rng(3)
MATRIX = RNG.normal(size=(SLOTS, SLOTS)) / SLOTS


def values(count):
    return [RNG.uniform(-1, 1, SLOTS) for _ in range(count)]


def agrees(module, trips=None, chain=None):
    """The managed module means what the vec module does, and all it yields or carries lies on the ladder."""
    result = managed(module, chain)
    inputs = values(len(module.inputs) - (trips is not None)) + ([trips] if trips is not None else [])
    for got, want in zip(interpret(result, inputs), interpret(module, inputs), strict=True):
        assert np.max(np.abs(np.asarray(got) - want)) < 1e-6
    scales = (chain or small_chain(program_depth(module))).main.scales
    for op in result.walk():
        if op.name in ("loop.yield", "loop.for", "loop.if"):
            for value in (*op.operands, *op.results):
                if isinstance(value.type, CipherType):
                    assert value.type.degree == 1 and value.type.scale == scales[value.type.level.index]
    return result


def quadratic(v):
    """x0 * x1 + x0 * x0."""
    return v.op("add", v.op("mul", v.x[0], v.x[1]), v.op("mul", v.x[0], v.x[0]))


DEPTHS = {
    "input": (lambda v: v.x[0], 0),
    "sum": (lambda v: v.op("add", v.x[0], v.x[1]), 0),
    "sum with a number": (lambda v: v.op("add", v.x[0], v.splat(0.3)), 0),
    "number minus value": (lambda v: v.op("sub", v.splat(0.3), v.x[0]), 0),
    "sum with a constant": (lambda v: v.op("sub", v.x[0], v.constant(MATRIX[0])), 0),
    "constant minus value": (lambda v: v.op("sub", v.constant(MATRIX[0]), v.x[0]), 0),
    "negation": (lambda v: v.op("neg", v.x[0]), 0),
    "rotation": (lambda v: v.op("rotate", v.x[0], steps=3), 0),
    "conjugate": (lambda v: v.op("conjugate", v.x[0]), 0),
    "small integer": (lambda v: v.op("mul", v.splat(-7), v.x[0]), 0),
    "small integer in secret form": (lambda v: v.op("mul", v.x[0], v.op("trivial", v.splat(3.0))), 0),
    "number in secret form times one": (lambda v: v.op("mul", v.op("trivial", v.splat(0.3)), v.splat(2.0)), 0),
    "one in secret form times a number": (lambda v: v.op("mul", v.op("trivial", v.splat(2.0)), v.splat(0.3)), 1),
    "zero": (lambda v: v.op("mul", v.splat(0), v.x[0]), 0),
    "number": (lambda v: v.op("mul", v.x[0], v.splat(0.3)), 1),
    "constant": (lambda v: v.op("mul", v.constant(MATRIX[0]), v.x[0]), 1),
    "product": (lambda v: v.op("mul", v.x[0], v.x[1]), 1),
    "square": (lambda v: v.op("mul", v.x[0], v.x[0]), 1),
    "products summed": (quadratic, 1),
    "matrix": (lambda v: v.matrix(v.x[0], MATRIX), 1),
    "product with input": (lambda v: v.op("mul", quadratic(v), v.x[0]), 2),
    "sum over levels": (lambda v: v.op("add", v.op("mul", quadratic(v), v.x[0]), v.x[1]), 2),
    "product rotated": (lambda v: v.op("rotate", quadratic(v), steps=-1), 1),
    "matrix of a product": (lambda v: v.matrix(quadratic(v), MATRIX), 2),
    "quadratic polynomial": (lambda v: v.polynomial(v.x[0], [0.1, 0.2, 0.3]), 2),
    "cubic polynomial": (lambda v: v.polynomial(v.x[0], [0.1, 0.2, 0.3, 0.4]), 2),
    "polynomial of degree 7": (lambda v: v.polynomial(v.x[0], [0.1] * 8), 3),
    "polynomial of degree 8": (lambda v: v.polynomial(v.x[0], [0.1] * 9), 4),
    "polynomial of degree 15 of a product": (lambda v: v.polynomial(quadratic(v), [0.01] * 16), 5),
}  # fmt: skip


@pytest.mark.parametrize("name", DEPTHS)
def test_depth_by_hand_and_meaning(name):
    build, depth = DEPTHS[name]
    v = Vectors(2)
    module = v.done(build(v))
    assert program_depth(module) == depth
    agrees(module)
    agrees(module, chain=small_chain(depth + 2))  # levels to spare


def test_all_of_it_at_once():
    v = Vectors(2)
    module = v.done(*(build(v) for build, _ in DEPTHS.values()))
    assert program_depth(module) == 5
    agrees(module)


def test_a_sum_of_products_is_relinearised_and_rescaled_once():
    v = Vectors(4)
    a, b, c, d = v.x
    total = v.op("add", v.op("mul", a, b), v.op("mul", c, d))
    total = v.op("sub", total, v.op("neg", v.op("mul", a, a)))
    found = counted(agrees(v.done(total)))
    assert found["ckks.mul"] == 2 and found["ckks.square"] == 1
    assert found["rlwe.relinearize"] == 1 and found["rlwe.rescale"] == 1


def test_a_product_read_by_one_product_and_one_sum_is_settled_as_needed():
    v = Vectors(2)
    p = v.op("mul", v.x[0], v.x[1])
    module = v.done(v.op("mul", p, v.x[0]))
    found = counted(agrees(module))
    assert found["rlwe.relinearize"] == 2
    assert found["rlwe.rescale"] == 3  # the product, the input brought down to meet it, the result


def test_a_constant_product_and_a_product_meet_without_settling():
    v = Vectors(2)
    total = v.op("add", v.op("mul", v.x[0], v.x[1]), v.op("mul", v.x[0], v.splat(0.25)))
    found = counted(agrees(v.done(total)))
    assert found["rlwe.rescale"] == 1 and found["rlwe.relinearize"] == 1


def test_dropping_levels_states_the_exact_scale():
    chain = small_chain(5)
    v = Vectors(2)
    deep = v.x[0]
    for _ in range(4):
        deep = v.op("mul", deep, deep)
    result = agrees(v.done(v.op("add", v.op("add", deep, v.x[0]), v.x[1])), chain=chain)
    assert counted(result)["rlwe.drop_level"] == 1
    assert [arg.type.level.index for arg in result.inputs] == [5, 1]  # an input that is needed late starts low
    for op in result.walk():
        if op.name == "rlwe.mul_int":  # the factor that brings one canonical scale onto another
            assert abs(op.attrs["factor"] * op.operands[0].type.scale / op.attrs["scale"] - 1) < 2.0**-38


def test_large_numbers_are_split_into_integers_that_the_core_holds():
    chain = small_chain(1, scale_bits=50, headroom_bits=40)
    v = Vectors(1)
    module = v.done(
        v.op("mul", v.x[0], v.splat(1234567.5)),
        v.op("add", v.x[0], v.splat(-9999.5)),
        v.op("add", v.x[0], v.splat(5e3)),
    )
    result = managed(module, chain)
    numbers = [op.attrs.get("factor", op.attrs.get("addend")) for op in result.walk() if op.name.endswith("_int")]
    assert max(map(abs, numbers)) < 1 << 62 < abs(9999.5 * 2**50)
    x = values(1)
    for got, want in zip(interpret(result, x), interpret(module, x), strict=True):
        np.testing.assert_allclose(np.real(got), want, rtol=1e-9)


def test_a_number_too_large_for_its_scale_is_an_error_with_its_line():
    v = Vectors(1)
    v.builder.loc = Loc("program.py", 7, "")
    module = v.done(v.op("add", v.x[0], v.splat(1e30)))
    with pytest.raises(ScaleError, match=r"scale the values down") as caught:
        managed(module, small_chain(0))
    assert str(caught.value).startswith("program.py:7")


@pytest.mark.parametrize("factor", [0, 1, -3, MAX_FREE_FACTOR])
def test_free_factors(factor):
    assert is_free_factor(float(factor))
    assert not is_free_factor(factor + 0.5)
    assert not is_free_factor(complex(factor, 1))
    assert not is_free_factor(2.0 * MAX_FREE_FACTOR)


@pytest.mark.parametrize("degree", range(1, 64))
def test_polynomial_depth_is_optimal(degree):
    # One product doubles the degree at most: d levels reach degree 2^d - 1 with constants multiplied in.
    depth = IntervalPolynomial((0.0,) * degree + (1.0,), (-1.0, 1.0)).depth
    assert 2 ** (depth - 1) - 1 < degree <= 2**depth - 1


# -- loops ------------------------------------------------------------------------------------


def test_a_loop_that_spends_nothing_is_kept():
    v = Vectors(2)
    (y,) = v.loop(lambda i, h: [v.op("add", h, v.x[1])], [v.x[0]], 5)
    module = v.done(y)
    assert program_depth(module) == 0
    assert counted(agrees(module))["loop.for"] == 1


@pytest.mark.parametrize("trips", [0, 1, 6])
def test_a_run_time_loop_that_spends_nothing_is_kept(trips):
    v = Vectors(2, trips=True)
    (y,) = v.loop(lambda i, h: [v.op("rotate", v.op("add", h, v.x[1]), steps=1)], [v.x[0]], v.n)
    module = v.done(y)
    assert counted(agrees(module, trips))["loop.for"] == 1


def test_a_kept_loop_starts_at_the_level_where_its_values_settle():
    v = Vectors(2)
    cubed = v.op("mul", v.op("mul", v.x[1], v.x[1]), v.x[1])
    a, b, c = v.loop(
        lambda i, a, b, c: [v.op("add", b, v.x[0]), v.op("add", c, v.x[0]), v.op("add", c, cubed)],
        [v.x[0], v.x[1], v.x[0]],
        4,
    )
    module = v.done(a, b, c)
    assert program_depth(module) == 2
    result = agrees(module)
    (kept,) = [op for op in result.walk() if op.name == "loop.for"]
    assert [r.type.level.index for r in kept.results] == [0, 0, 0]


def test_a_loop_that_spends_levels_is_unrolled():
    v = Vectors(2)
    (y,) = v.loop(lambda i, h: [v.op("mul", h, v.x[1])], [v.x[0]], 3)
    module = v.done(y)
    assert program_depth(module) == 3
    result = agrees(module)
    assert counted(result)["loop.for"] == 0 and counted(result)["ckks.mul"] == 3


def test_values_that_change_places_spend_only_what_they_multiply():
    v = Vectors(2)
    a, b = v.loop(lambda i, a, b: [v.op("mul", b, v.x[1]), a], [v.x[0], v.x[1]], 4)
    module = v.done(a, b)
    assert program_depth(module) == 2
    agrees(module)


def test_no_iterations_cost_nothing():
    v = Vectors(1)
    (y,) = v.loop(lambda i, h: [v.op("mul", h, h)], [v.x[0]], 0)
    module = v.done(y)
    assert program_depth(module) == 0
    agrees(module)


@pytest.mark.parametrize("trips", range(4))
def test_guarded_copies(trips):
    v = Vectors(2, trips=True)
    a, b = v.loop(lambda i, a, b: [v.op("mul", a, v.x[1]), v.op("add", b, a)], [v.x[0], v.x[1]], v.n, at_most=3)
    module = v.done(v.op("mul", a, b), b)
    assert program_depth(module) == 4
    result = agrees(module, trips)
    assert counted(result)["loop.if"] == 3 and counted(result)["loop.for"] == 0


@pytest.mark.parametrize("kept", [True, False])
def test_nested_loops(kept):
    v = Vectors(2)

    def inner(j, g):
        return [v.op("add" if kept else "mul", g, v.x[1])]

    (y,) = v.loop(lambda i, h: v.loop(inner, [h], 2), [v.x[0]], 2)
    module = v.done(y)
    assert program_depth(module) == (0 if kept else 4)
    assert counted(agrees(module))["loop.for"] == (2 if kept else 0)


@pytest.mark.parametrize("trips", [0, 1, 2])
def test_a_kept_loop_within_guarded_copies(trips):
    v = Vectors(2, trips=True)

    def outer(i, h):
        (total,) = v.loop(lambda j, g: [v.op("add", g, h)], [h], 3)
        return [v.op("mul", total, v.splat(0.3))]

    (y,) = v.loop(outer, [v.x[0]], v.n, at_most=2)
    agrees(v.done(y), trips)


def test_loops_over_public_values():
    v = Vectors(1)
    zero, moved = v.op("trivial", v.splat(0.0)), v.op("trivial", v.constant(MATRIX[1]))
    a, b = v.loop(lambda i, a, b: [v.op("add", a, v.x[0]), v.op("trivial", v.constant(MATRIX[2]))], [zero, moved], 3)
    agrees(v.done(a, b))


@pytest.mark.parametrize(
    "build",
    [
        lambda v, t: v.matrix(t, MATRIX),
        lambda v, t: v.op("rotate", t, steps=2),
        lambda v, t: v.op("neg", t),
        lambda v, t: v.op("add", t, t),
        lambda v, t: v.op("sub", v.splat(1.0), t),
        lambda v, t: v.op("mul", t, t),
        lambda v, t: v.op("mul", t, v.splat(0.3)),
        lambda v, t: v.op("mul", t, v.x[0]),
        lambda v, t: v.polynomial(t, [0, 1, 2]),
        lambda v, t: t,
    ],
)
def test_a_public_vector_in_the_form_of_a_secret_one_can_be_computed_with(build):
    v = Vectors(1)
    agrees(v.done(build(v, v.op("trivial", v.constant(MATRIX[0])))))


def test_a_run_time_loop_that_spends_levels_needs_a_bound():
    v = Vectors(1, trips=True)
    v.builder.loc = Loc("program.py", 12, "")
    (y,) = v.loop(lambda i, h: [v.polynomial(h, [0, 1, 1])], [v.x[0]], v.n)
    module = v.done(y)
    with pytest.raises(LevelError, match=r"at_most") as caught:
        program_depth(module)
    message = str(caught.value)
    assert "program.py:12" in message and "spends 2 levels" in message


# -- random programs ----------------------------------------------------------------------------


def random_module(rng):
    v = Vectors(2)
    pool = list(v.x)

    def pick():
        return pool[rng.integers(len(pool))]

    for _ in range(int(rng.integers(2, 9))):
        kind = rng.integers(9)
        choices = [
            lambda: v.op("add", pick(), pick()),
            lambda: v.op("sub", pick(), pick()),
            lambda: v.op("neg", pick()),
            lambda: v.op("mul", pick(), pick()),
            lambda: v.op("mul", v.splat(float(rng.choice([-2.0, 0.5, 0.3]))), pick()),
            lambda: v.op("sub", v.constant(rng.uniform(-1, 1, SLOTS)), pick()),
            lambda: v.op("rotate", pick(), steps=int(rng.integers(-SLOTS, SLOTS))),
            lambda: v.matrix(pick(), MATRIX),
            lambda: v.loop(lambda i, h: [v.op("sub", h, v.x[1])], [pick()], int(rng.integers(3)))[0],
        ]
        pool.append(choices[kind]())
    return v.done(*pool[-2:])


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_keep_their_meaning(seed):
    rng = np.random.default_rng(seed)
    module = random_module(rng)
    result = managed(module)
    inputs = values(2)
    for got, want in zip(interpret(result, inputs), interpret(module, inputs), strict=True):
        assert np.max(np.abs(np.asarray(got) - want)) < 1e-6 * max(1.0, float(np.max(np.abs(want))))
