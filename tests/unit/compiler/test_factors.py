"""Public factors cost no level where anything takes them in, and loops that spend levels are copies; meanings stay."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, managed

from latticework import compile as compiled
from latticework import for_loop, program
from latticework.compiler.levels import program_depth
from latticework.compiler.vector_levels import to_copies, to_loops
from latticework.frontend import Index, Secret
from latticework.ir import interpret
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines the ops)

RNG = np.random.default_rng(5)
MATRIX = RNG.normal(size=(SLOTS, SLOTS)) / 4


def agrees(module, *trips, tolerance=1e-9):
    """The flat module, which means what the module does and spends no more levels; with levels too."""
    flat = to_copies(module)
    assert program_depth(flat) <= program_depth(module)
    for trip in trips or [None]:
        x = [RNG.uniform(-1, 1, SLOTS) for _ in module.inputs]
        if trip is not None:
            x[-1] = trip
        wanted = interpret(module, x)
        for result, within in ((flat, tolerance), (managed(flat), 1e-4)):
            for got, want in zip(interpret(result, x), wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=within, atol=within * max(1.0, np.max(np.abs(want))))
    return flat


def times(v, number, y):
    return v.op("mul", v.splat(number), y)


def product(v, *values):
    first, *others = values
    for value in others:
        first = v.op("mul", first, value)
    return first


def series(v, coefficients):
    """Horner's rule from the second input, written with a factor in front of each product."""
    y = v.x[1]
    for c in coefficients:
        y = v.op("add", product(v, times(v, c, y), v.x[0]), v.splat(0.1))
    return y


WRITTEN = {
    "of a product": (lambda v: times(v, 0.3, product(v, v.x[0], v.x[1])), 1),
    "in a product": (lambda v: product(v, times(v, 0.3, v.x[0]), times(v, -0.7, v.x[1])), 1),
    "of factors of a product": (lambda v: times(v, 0.3, times(v, 0.7, product(v, v.x[0], v.x[1]))), 1),
    "of both terms": (
        lambda v: v.op("sub", times(v, 0.3, product(v, v.x[0], v.x[0])), times(v, 0.3, product(v, v.x[0], v.x[1]))),
        1,
    ),
    "of terms that differ": (
        lambda v: v.op("add", times(v, 0.3, product(v, v.x[0], v.x[0])), times(v, 0.5, v.x[1])),
        1,
    ),
    "of one of two squares": (
        lambda v: v.op("add", times(v, 0.3, product(v, v.x[0], v.x[0])), product(v, v.x[1], v.x[1])),
        2,
    ),
    "of one value twice": (lambda v: v.op("add", times(v, 0.3, v.x[0]), times(v, 0.4, v.x[0])), 0),
    "mean of squares": (lambda v: v.op("add", times(v, 0.01, product(v, v.x[0], v.x[0])), v.splat(-0.2)), 1),
    "through moves": (lambda v: v.op("rotate", v.op("neg", times(v, 0.3, v.x[0])), steps=2), 0),
    "into a polynomial": (
        lambda v: v.op("add", times(v, 0.3, v.polynomial(v.x[0], [0.1, 0.2, 0.3, 0.4])), v.x[1]),
        2,
    ),
    "before a polynomial": (lambda v: v.polynomial(times(v, 0.3, v.matrix(v.x[0], MATRIX)), [0.1, 0.2, 0.3]), 3),
    "before a map": (lambda v: v.matrix(times(v, 0.3, product(v, v.x[0], v.x[1])), MATRIX), 2),
    "before a constant": (lambda v: product(v, times(v, 0.3, v.x[0]), v.constant(MATRIX[0])), 1),
    "Horner": (lambda v: series(v, [0.5] * 6), 6),
    "Horner with other factors": (lambda v: series(v, [0.5, -0.2, 3.7, 1.3, -2.5]), 5),
    "logistic map": (lambda v: logistic(v, 3.7, 6), 6),
    "falling logistic map": (lambda v: logistic(v, 0.2, 5), 7),
    "tiny": (lambda v: times(v, 1e-9, product(v, v.x[0], v.x[1])), 2),
    "zero": (lambda v: v.op("add", times(v, 0.0, product(v, v.x[0], v.x[1])), v.x[0]), 1),
}


def logistic(v, rate, trips):
    y = v.x[0]
    for _ in range(trips):
        y = times(v, rate, v.op("mul", y, v.op("sub", v.splat(1.0), y)))
    return y


@pytest.mark.parametrize("name", WRITTEN)
def test_factors_are_free_where_anything_takes_them_in(name):
    build, depth = WRITTEN[name]
    v = Vectors(2)
    assert program_depth(agrees(v.done(build(v)))) == depth


def random_values(v, rng, values, count):
    """So many random operations, each of values before it."""
    for _ in range(count):
        a, b = (values[int(i)] for i in rng.integers(len(values), size=2))
        number = float(rng.choice([0.3, -0.7, 2.0, 5.5, 1e-3, 0.5, 0.25, -1.0]))
        kind = rng.integers(9)
        made = (
            times(v, number, a) if kind < 3
            else v.op("add", a, b) if kind == 3
            else v.op("sub", a, b) if kind == 4
            else v.op("mul", a, b) if kind == 5
            else v.op("sub", v.splat(number), a) if kind == 6
            else v.op("add", a, v.op("rotate", a, steps=int(rng.integers(SLOTS)))) if kind == 7
            else v.matrix(a, MATRIX) if rng.random() < 0.5 else v.op("mul", v.constant(MATRIX[3]), a)
        )  # fmt: skip
        values.append(made)
    return values


@pytest.mark.parametrize("seed", range(40))
def test_random_code_keeps_its_meaning_and_spends_no_more_levels(seed):
    rng = np.random.default_rng(seed)
    v = Vectors(3)
    values = random_values(v, rng, [*v.x], 14)
    agrees(v.done(values[-1], values[-2]))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("known", [True, False])
def test_random_loops_keep_their_meaning_and_spend_no_more_levels(seed, known):
    rng = np.random.default_rng(seed)
    v = Vectors(2, trips=not known)

    def body(_i, *carried):
        values = random_values(v, rng, [*carried, v.x[1]], 4)
        if seed % 3 == 0 and known:
            values = [*values, *v.loop(lambda _j, y: [times(v, 0.5, v.op("mul", y, values[-1]))], [values[-2]], 2)]
        return values[-2:]

    start = v.op("trivial", v.splat(0.5))
    results = v.loop(body, [v.x[0], start], 3 if known else v.n, None if known else 3)
    agrees(v.done(*results), *([] if known else [0, 2, 3]), tolerance=1e-8)


@pytest.mark.parametrize("seed", range(24))
def test_loops_to_be_kept_take_factors_in_and_keep_their_meaning(seed):
    rng = np.random.default_rng(seed)
    v = Vectors(2, trips=True)

    def body(_i, *carried):
        values = random_values(v, rng, [*carried, v.x[1]], 4)
        inner = v.loop(lambda _j, y: [times(v, 0.5, v.op("mul", y, values[-1]))], [values[-2]], 2) if seed % 2 else []
        return [*values, *inner][-2:]

    outside = times(v, 0.5, v.x[1])
    start = v.op("trivial", v.splat(0.5))
    first, second = v.loop(body, [v.op("mul", outside, v.x[0]), start], v.n)
    module = v.done(times(v, 0.25, v.op("add", first, second)))
    kept = to_loops(module)
    assert [op.name for op in kept.walk()].count("loop.for") == 1 + seed % 2, "none is copied, and none needs a limit"
    assert program_depth(kept, once=True) <= program_depth(module, once=True)
    for trips in (0, 1, 2, 3):
        x = [RNG.uniform(-1, 1, SLOTS), RNG.uniform(-1, 1, SLOTS), trips]
        for got, want in zip(interpret(kept, x), interpret(module, x), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * max(1.0, np.max(np.abs(want))))


def test_factors_in_a_loop_to_be_kept_take_no_level():
    v = Vectors(2, trips=True)
    (y,) = v.loop(lambda _i, a: [v.op("add", times(v, 0.3, v.op("mul", a, v.x[1])), v.splat(0.1))], [v.x[0]], v.n)
    module = v.done(y)
    assert program_depth(module, once=True) == 1 + 2
    assert program_depth(to_loops(module), once=True) == 1 + 1, "0.3 x is made before the loop"


LOOPS = {
    "factor in front": (lambda i, a, x: 0.5 * a * x + 0.1, 12),
    "factor behind": (lambda i, a, x: (a * x) * 0.5 - 0.1, 12),
    "relaxed": (lambda i, a, x: 0.3 * a + 0.7 * (a * x), 12),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_spend_a_level_for_each_product(name):
    body, depth = LOOPS[name]

    @program
    def loops(x: Secret[4]):
        return for_loop(12, lambda i, a: body(i, a, x), x)

    x = RNG.uniform(-1, 1, 4)
    model = compiled(loops, precision_bits=10)
    assert model.plan.chain.main.top == depth
    assert np.max(np.abs(model.simulate(x) - loops(x))) < 2.0**-10


def test_run_time_loops_spend_a_level_for_each_product_and_one_before():
    @program
    def loops(x: Secret[4], n: Index):
        return for_loop(n, lambda i, a: 0.5 * a * x + 0.1, x, at_most=4)

    x = RNG.uniform(-1, 1, 4)
    model = compiled(loops, precision_bits=10, calibrate={"x": x[None], "n": 4})
    assert model.plan.chain.main.top == 5
    for trips in (0, 3, 4):
        assert np.max(np.abs(model.simulate(x, trips) - loops(x, trips))) < 2.0**-10


def test_public_carried_values_stay_public():
    @program
    def decaying(x: Secret[4]):
        return for_loop(5, lambda i, a, c: (c * a * x + c, c * 0.5), (x, np.full(4, 1.0)))[0]

    x = RNG.uniform(-1, 1, 4)
    model = compiled(decaying, precision_bits=10)
    assert model.plan.chain.main.top == 5
    assert np.max(np.abs(model.simulate(x) - decaying(x))) < 2.0**-10


@pytest.mark.parametrize("factor", [3e-7, -0.013, 7.7, 4e4])
def test_what_an_output_is_multiplied_by_keeps_its_relative_precision(factor):
    @program
    def scaled(x: Secret[8], y: Secret[8]):
        return factor * (x * y + 0.3)

    x, y = RNG.uniform(-1, 1, (2, 8))
    model = compiled(scaled, precision_bits=12, ring_degree=2048, insecure=True)
    client = model.client(threads=1)
    keys = client.keygen()
    result = client.decrypt(model.server(keys.public(), threads=1)(client.encrypt(x, y))).reveal()
    for got in (result, model.simulate(x, y)):
        assert np.max(np.abs(got - scaled(x, y))) < abs(factor) * 1.3 * 2.0**-12


def test_values_that_hold_a_multiple_of_a_tensor_are_shown_as_the_tensor(tmp_path):
    @program
    def shrunk(x: Secret[8]):
        y = x * x * 300.0 + 1.0
        return for_loop(2, lambda i, a: 0.5 * a * x, y) * 0.001

    model = compiled(shrunk, precision_bits=12, ring_degree=2048, insecure=True)
    report = model.debug(RNG.uniform(-1, 1, 8))
    assert not any(row.is_off for row in report.rows)
    assert max(row.magnitude for row in report.rows) > 50
    assert len(model.plan.factors) > 0
    model.save(tmp_path / "plan")
    assert type(model).load(tmp_path / "plan").plan.factors == model.plan.factors


def test_factors_of_very_different_sizes_keep_the_precision_asked_for():
    @program
    def mixed(x: Secret[8], y: Secret[8]):
        return 1e6 * x * x * y - 3e5 * y, 2e-5 * x * y + 1e-7 * x, (1e-4 * x + 1e4 * y) * (1e-3 * y * x)

    x, y = RNG.uniform(-1, 1, (2, 8))
    model = compiled(mixed, precision_bits=12)
    for got, want in zip(model.simulate(x, y), mixed(x, y), strict=True):
        assert np.max(np.abs(got - want)) < 2.0**-12 * max(np.max(np.abs(want)), 1e-7)
    assert model.plan.chain.main.top <= 3
