"""Runs of linear operations become few linear maps; meanings stay, and no more levels are spent."""

import numpy as np
import pytest
from vec_cases import SLOTS, Vectors, counted

from latticework import avg_pool2d, program
from latticework import compile as compiled
from latticework.compiler.layout_choice import CodeCost, Seconds
from latticework.compiler.levels import program_depth
from latticework.compiler.options.techniques import Techniques
from latticework.compiler.passes import cse, dce, merge_maps
from latticework.compiler.passes.linear_forms import base_form, total
from latticework.frontend import Secret
from latticework.ir import interpret, run_passes, verify
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines the ops)
from latticework.plan.cost import CostModel

RNG = np.random.default_rng(8)
COSTS = Seconds(CostModel.load(), 8192, 6)
BAND = np.eye(SLOTS) + np.eye(SLOTS, k=1) / 3 - np.eye(SLOTS, k=-2) / 7


def merged(module, level_seconds=0.005, tolerance=1e-9):
    """The merged module, verified to compute the same."""
    sources = dict(module.sources)
    result = run_passes(module, (merge_maps.PASS, cse.PASS, dce.PASS), CodeCost(COSTS, level_seconds))
    verify(result)
    assert module.sources == sources
    shapes = [(v.type.count, v.type.slots) if v.type.count > 1 else v.type.slots for v in module.inputs]
    x = [RNG.uniform(-1, 1, shape) for shape in shapes]
    for got, want in zip(interpret(result, x), interpret(module, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(want)))))
    assert program_depth(result) <= program_depth(module)
    return result


def masked(v, y):
    return v.op("mul", y, v.constant((RNG.uniform(size=SLOTS) < 0.5).astype(float)))


def normalised(v, y):
    shifted = v.op("sub", y, v.constant(RNG.normal(size=SLOTS)))
    return v.matrix(v.op("mul", shifted, v.constant(RNG.normal(size=SLOTS))), BAND)


WRITTEN = {
    "mask of a map": (lambda v: masked(v, v.matrix(v.x[0], BAND)), {"linear_transform": 1, "mul": 0}),
    "map of a mask": (lambda v: v.matrix(masked(v, v.x[0]), BAND), {"linear_transform": 1, "mul": 0}),
    "normalised": (lambda v: normalised(v, v.x[0]), {"linear_transform": 1, "mul": 0}),
    "map of a turned map": (
        lambda v: v.matrix(v.op("rotate", v.matrix(v.x[0], BAND), steps=3), BAND),
        {"linear_transform": 1, "rotate": 0},
    ),
    "blend of two": (
        lambda v: v.op("add", masked(v, masked(v, v.x[0])), masked(v, masked(v, v.x[1]))),
        {"mul": 0, "linear_transform": 1},
    ),
    "what cancels": (
        lambda v: v.op("sub", v.matrix(v.matrix(v.x[0], BAND), BAND), v.matrix(v.x[0], BAND @ BAND)),
        {"linear_transform": 1},
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_linear_operations_in_a_row_are_one(name):
    build, counts = WRITTEN[name]
    v = Vectors(2)
    found = counted(merged(v.done(build(v))))
    assert {kind: found[f"vec.{kind}"] for kind in counts} == counts


def test_sums_by_rotations_are_not_written_out():
    v = Vectors(1, slots=1024)
    y = v.op("mul", v.x[0], v.constant(RNG.normal(size=1024)))
    for steps in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
        y = v.op("add", y, v.op("rotate", y, steps=steps))
    found = merged(v.done(y))
    assert counted(found)["vec.rotate"] >= 5
    assert program_depth(found) == 1


def test_dense_maps_in_a_row_are_one_if_levels_are_dear():
    v = Vectors(1)
    y = v.x[0]
    for _ in range(3):
        y = v.matrix(y, RNG.normal(size=(SLOTS, SLOTS)))
    module = v.done(y)
    assert program_depth(merged(module, level_seconds=10.0)) == 1


def random_linear(v, rng, values, count):
    for _ in range(count):
        a, b = (values[int(i)] for i in rng.integers(max(len(values) - 6, 0), len(values), size=2))
        vectors = a.type.count
        kind = int(rng.integers(10))
        known = (
            v.splat(float(rng.choice([0.3, 2.0, -1.0]))) if rng.random() < 0.3 else v.constant(RNG.normal(size=SLOTS))
        )
        made = (
            v.op("add" if kind else "sub", a, b) if kind < 2
            else v.op("sub", known, a) if kind == 2
            else v.op("mul", a, known) if kind < 5
            else v.op("rotate", a, steps=int(rng.integers(SLOTS))) if kind == 5
            else v.matrix(a, BAND) if kind == 6
            else v.op("concat", a, b) if kind == 7 and vectors + b.type.count < 4
            else v.op("take", a, vectors=(int(rng.integers(vectors)),)) if kind == 8
            else v.op("sum", v.op("neg", a), groups=1)
        )  # fmt: skip
        if made.type.count == 1 or made.type.count == values[0].type.count:
            values.append(made)
    return values


@pytest.mark.parametrize("seed", range(40))
def test_random_linear_code_keeps_its_meaning_and_spends_no_more_levels(seed):
    rng = np.random.default_rng(seed)
    v = Vectors(2, counts=[1 + seed % 3, 1])
    values = random_linear(v, rng, [*v.x], 10)
    values.append(v.op("mul", values[-1], values[-1]))
    values = random_linear(v, rng, values, 6)
    merged(v.done(values[-1], values[-2]), level_seconds=float(rng.choice([0.0, 0.003, 1.0])))


def test_forms_add_up_to_nothing():
    x = base_form(0, 8).rotate(3)
    assert total([x, x.times(0.25), x.times(-1.25)]).codes.size == 0


def transformed(re, im):
    """A Fourier transform in stages of even and odd parts, twiddle factors and joining."""
    n = re.shape[0]
    bits = n.bit_length() - 1
    re, im = (part.reshape((2,) * bits).transpose(tuple(range(bits))[::-1]).reshape(n) for part in (re, im))
    m = 1
    while m < n:
        parts = [part.reshape(n // (2 * m), 2, m) for part in (re, im)]
        (er, orr), (ei, oi) = [(part[:, 0], part[:, 1]) for part in parts]
        w = np.exp(-1j * np.pi * np.arange(m) / m)
        tr, ti = orr * w.real - oi * w.imag, orr * w.imag + oi * w.real
        re = np.stack([er + tr, er - tr], axis=1).reshape(n)
        im = np.stack([ei + ti, ei - ti], axis=1).reshape(n)
        m *= 2
    return re, im


@pytest.mark.parametrize(("n", "most"), [(8, 1), pytest.param(64, 3, marks=pytest.mark.slow)])
def test_stages_of_a_fourier_transform_are_few_maps(n, most):
    @program
    def fourier(re: Secret[n], im: Secret[n]):
        return transformed(re, im)

    model = compiled(fourier, precision_bits=10, ring_degree=max(2048, 4 * n), insecure=True)
    assert model.plan.chain.main.top <= most
    x = RNG.uniform(-1, 1, (2, n))
    client = model.client(threads=1)
    keys = client.keygen()
    got = [y.reveal() for y in client.decrypt(model.server(keys.public(), threads=1)(client.encrypt(*x)))]
    want = np.fft.fft(x[0] + 1j * x[1])
    assert np.max(np.abs(got[0] + 1j * got[1] - want)) < 2.0**-9 * np.max(np.abs(want))


def test_merging_can_be_left_out():
    @program
    def scaled(x: Secret[8], w):
        return ((x - 0.3) * np.arange(1.0, 9.0)) @ w

    w, x = RNG.normal(size=(8, 3)), RNG.uniform(-1, 1, 8)
    levels = []
    for techniques in (Techniques(), Techniques(merged_maps=False)):
        model = compiled(scaled, weights=(w,), precision_bits=10, techniques=techniques)
        assert np.max(np.abs(model.simulate(x) - scaled(x, w))) < 2.0**-6
        levels.append(model.plan.chain.main.top)
    assert levels == [1, 2]


@pytest.mark.parametrize("seed", range(8))
def test_maps_in_bodies_of_loops_to_be_kept_are_merged_and_spend_fewer_levels(seed):
    """Regions begin anew in a body, at what it carries and what it reads from outside."""
    rng = np.random.default_rng(seed)
    v = Vectors(2, trips=True)

    def body(_i, a):
        made = masked(v, v.matrix(a, BAND))
        if seed % 2:
            made = v.op("add", made, masked(v, v.op("mul", v.x[1], made)))
        (inner,) = v.loop(lambda _j, b: [v.matrix(masked(v, b), BAND)], [made], int(rng.integers(1, 3)))
        return [v.op("sub", inner, v.matrix(v.matrix(v.x[1], BAND), BAND))]

    (y,) = v.loop(body, [v.x[0]], v.n)
    module = v.done(masked(v, masked(v, y)))
    result = run_passes(module, (merge_maps.PASS_ONCE, cse.PASS, dce.PASS), CodeCost(COSTS, 0.005))
    verify(result)
    assert program_depth(result, once=True) < program_depth(module, once=True)
    assert counted(result)["vec.mul"] < counted(module)["vec.mul"]
    for trips in (0, 1, 3):
        x = [rng.uniform(-1, 1, SLOTS), rng.uniform(-1, 1, SLOTS), trips]
        for got, want in zip(interpret(result, x), interpret(module, x), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-9 * max(1.0, float(np.max(np.abs(want)))))


def test_what_a_loop_of_several_values_starts_from_is_left():
    v = Vectors()
    start = masked(v, v.matrix(v.x[0], BAND))
    found = v.loop(lambda _i, a, b: [b, a], [start, masked(v, start)], 2)
    module = v.done(*found)
    assert counted(merged(module))["vec.mul"] == 0


@pytest.mark.parametrize("once", [False, True])
def test_what_is_public_until_it_is_used_is_merged_too(once):
    """A trivial encryption has no level, as it is made at any."""
    v = Vectors(1)
    start = v.op("trivial", v.splat(0.5))
    turned = v.op("rotate", v.op("mul", start, v.constant(np.arange(SLOTS) / SLOTS)), steps=1)
    module = v.done(v.op("add", v.op("mul", turned, v.splat(0.5)), v.x[0]))
    made = merge_maps.run(module, CodeCost(COSTS, 0.005), once=once)
    x = np.linspace(-1, 1, SLOTS)
    for got, want in zip(interpret(made, [x]), interpret(module, [x]), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)


def diagonals_of(module):
    """The values of all diagonals of its maps."""
    maps = [op.attrs["map"] for op in module.walk() if op.name == "vec.linear_transform"]
    return [diagonal.values for linear_map in maps for diagonal in linear_map.diagonals]


def sums_of_turned(masks):
    """The sum of a vector turned by 1, 2, ... slots, each times a mask."""
    v = Vectors(1)
    turned = [v.op("rotate", v.x[0], steps=i) for i in range(1, len(masks) + 1)]
    products = [v.op("mul", y, v.constant(mask)) for y, mask in zip(turned, masks, strict=True)]
    total = products[0]
    for product in products[1:]:
        total = v.op("add", total, product)
    return v.done(total)


def test_equal_diagonals_are_one_row_of_a_source():
    rows = RNG.normal(size=(2, SLOTS))
    result = merged(sums_of_turned([rows[i % 2] for i in range(6)]), level_seconds=1.0)
    values = diagonals_of(result)
    (source,) = {name for value in values for name in value.sources}
    assert len(values) == 6 and len(set(values)) == 2
    assert result.sources[source].shape == (2, SLOTS)


def test_diagonals_that_are_one_number_in_a_stretch_have_no_source():
    """As masks are; so have those that are one number everywhere, beside others that need one."""
    stretches = [(0, 3), (2, SLOTS), (5, 6), (1, 9), (0, SLOTS)]
    masks = [np.where((np.arange(SLOTS) >= a) & (np.arange(SLOTS) < b), 0.25 * (a + 1), 0) for a, b in stretches]
    result = merged(sums_of_turned([*masks, RNG.normal(size=SLOTS)]), level_seconds=1.0)
    values = diagonals_of(result)
    assert len(values) == 6 and [len(value.sources) for value in values] == [0, 0, 0, 0, 0, 1]
    for value, mask in zip(values, masks, strict=False):
        np.testing.assert_array_equal(value.evaluate(result.sources), mask)


@pytest.mark.parametrize(("factors", "kept"), [(RNG.normal(size=SLOTS // 2), [SLOTS // 2]), (np.full(2, 0.75), [])])
def test_what_is_added_repeats_in_its_source(factors, kept):
    ring = np.eye(SLOTS) + np.roll(np.eye(SLOTS), 1, axis=1)
    weights = np.resize(factors, SLOTS)
    v = Vectors(1)
    shifted = v.op("add", v.matrix(v.x[0], BAND), v.constant(weights))
    result = merged(v.done(v.matrix(shifted, ring)), level_seconds=1.0)
    (added,) = [op.attrs["value"] for op in result.walk() if op.name == "vec.constant"]
    np.testing.assert_allclose(added.evaluate(result.sources), ring @ weights, rtol=1e-14)
    assert [result.sources[name].size for name in added.sources] == kept


def pooled(x: Secret[8, 8, 8], w):
    return np.reshape(avg_pool2d(x * x, 2), (128,)) @ w


def test_a_dense_layer_takes_in_the_pool_before_it():
    """Its 128 diagonals are few, though a bound of its loop nest says thousands."""
    rng = np.random.default_rng(8)
    x, w = rng.uniform(-1, 1, (2, 8, 8, 8)), rng.normal(size=(128, 64)) / 10
    model = compiled(program(pooled), weights=(w,), calibrate=x, ring_degree=4096, insecure=True)
    assert model.plan.chain.main.top == 2
    np.testing.assert_allclose(model.simulate(x[0])[0], pooled(x[0], w), atol=1e-2)
