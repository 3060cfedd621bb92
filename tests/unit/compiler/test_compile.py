"""lw.compile: precision, parameters and errors, on small insecure rings; programs of unusual shapes and sizes."""

import re

import numpy as np
import pytest

import latticework as lw
from latticework.errors import LevelError, PrecisionError, ShapeError, TraceError, UserError
from latticework.ir import interpret
from latticework.plan.files.serialise import read_plan, write_plan
from latticework.plan.parameters import modulus_limit_bits

W = np.random.default_rng(0).normal(size=(3, 4))


def sample(model, rng):
    return [
        rng.uniform(i.low + 0.1 * (i.high - i.low), i.high - 0.1 * (i.high - i.low), i.shape)
        if hasattr(i, "pack")
        else i.limit
        for i in model.plan.client.inputs
    ]


def agrees(function, *, precision_bits=12, ring_degree=2048, **options):
    """Compiled, the program keeps its precision without and with modelled noise; returns the model."""
    program = lw.program(function)
    model = lw.compile(program, precision_bits=precision_bits, ring_degree=ring_degree, insecure=True, **options)
    rng = np.random.default_rng(1)
    for _ in range(2):
        inputs = sample(model, rng)
        expected = program(*inputs)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        for noise in (None, rng):
            results = model.simulate(*inputs, noise=noise)
            for got, want, output in zip(results, expected, model.plan.client.outputs, strict=True):
                assert got.shape == np.shape(want) == output.shape
                allowed = 2.0**-precision_bits * max(output.magnitude, float(np.max(np.abs(want))))
                assert np.max(np.abs(got - want)) <= allowed
                assert output.usual_error <= 2.0**-precision_bits * output.magnitude
    return model


def identity(x: lw.Secret[3]):
    return x


def scalar(x: lw.Secret[()]):
    return x * x - 0.5 * x


def one(x: lw.Secret[1]):
    return 2.5 * x + 1


def one_by_one(x: lw.Secret[1, 1]):
    return x @ x + x


def three_axes(x: lw.Secret[2, 3, 5]):
    return x.sum(axis=1) * x[:, 0, :]


def four_axes(x: lw.Secret[2, 3]):
    return x[None, :, :, None].transpose(3, 2, 1, 0)


def scalar_times_vector(x: lw.Secret[3], y: lw.Secret[()]):
    return x * y, y


def unused(x: lw.Secret[3], y: lw.Secret[5]):
    return x + x


def twice(x: lw.Secret[3]):
    y = x * x
    return y, y, x, x


def constant(x: lw.Secret[3]):
    return 0.0 * x + 1


def padding_only(x: lw.Secret[3]):
    return x * np.array([1.0, 1.0, 1.0]) + np.zeros(3)


def masked(x: lw.Secret[5]):
    return np.array([1.0, 0, 0, 0, 0]) * x


def zero_matrix(x: lw.Secret[4]):
    return np.zeros((3, 4)) @ x + 1


def gram(x: lw.Secret[5, 3]):
    return x @ x.T


def backwards(x: lw.Secret[7]):
    return x[::-2], x[3], x[1:2]


def small_factor(x: lw.Secret[3]):
    return 1e-6 * x


def polynomial_of_a_map(x: lw.Secret[4]):
    return lw.polynomial(W @ x, [1, 2, 0, 4])


def kept_loop(x: lw.Secret[3]):
    return lw.for_loop(3, lambda i, h: h + x, x)


def no_trips(x: lw.Secret[3]):
    return lw.for_loop(0, lambda i, h: h * x, x)


def unrolled(x: lw.Secret[3]):
    return lw.for_loop(2, lambda i, a, b: (b * x, a), (x, x * x))


def guarded(x: lw.Secret[3], n: lw.Index):
    return lw.for_loop(n, lambda i, a, b: (a * x + 1, b + a), (x * x, 0.5 * x), at_most=2)


def two_counts(x: lw.Secret[3], n: lw.Index, k: lw.Index):
    return lw.for_loop(n, lambda i, h: lw.for_loop(k, lambda j, g: g + 0.5 * h, h, at_most=2), x, at_most=2)


def public_start(x: lw.Secret[3]):
    return lw.for_loop(2, lambda i, a: a + 1, np.zeros(3)) + x


def public_turned(x: lw.Secret[3, 4]):
    return lw.for_loop(2, lambda i, a: np.ones((4, 3)), x.T)


def layouts_in_a_loop(x: lw.Secret[3, 4]):
    return lw.for_loop(2, lambda i, a: a.reshape(3, 4).T, x.T)


PROGRAMS = [
    identity, scalar, one, one_by_one, three_axes, four_axes, scalar_times_vector, unused, twice, constant,
    padding_only, masked, zero_matrix, gram, backwards, small_factor, polynomial_of_a_map, kept_loop, no_trips,
    unrolled, guarded, two_counts, public_start, public_turned, layouts_in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_keep_the_precision_asked_for(function):
    agrees(function)


@pytest.mark.parametrize("bits", [1, 5, 20, 30, 38])
def test_any_precision(bits):
    def quartic(x: lw.Secret[3]):
        return (W[:, :3] @ x) ** 2 * x * x

    model = agrees(quartic, precision_bits=bits)
    assert model.plan.client.precision_bits == bits


def large(x: lw.Secret[3]):
    return 1e6 * x, x + 1e6


def cancelling(x: lw.Secret[3]):
    return (300 * x) * (300 * x) - (300 * x) * (299 * x)


def zero(x: lw.Secret[3]):
    return x - x, 0.0 * x


@pytest.mark.parametrize("function", [large, cancelling])
def test_large_values(function):
    agrees(function)


def test_outputs_that_are_zero_are_results_within_their_bounds():
    model = lw.compile(lw.program(zero), ring_degree=2048, insecure=True)
    for value, output in zip(
        model.simulate(sample(model, np.random.default_rng(1))[0]), model.plan.client.outputs, strict=True
    ):
        assert np.max(np.abs(value)) <= output.error_bound < 1e-3


def test_more_precision_takes_a_larger_scale_and_no_more_levels():
    models = [agrees(gram, precision_bits=bits) for bits in (2, 16, 30)]
    scales = [m.plan.chain.main.scales[-1] for m in models]
    assert scales == sorted(scales) and scales[0] < scales[-1]
    assert len({m.plan.chain.main.top for m in models}) == 1


def test_the_same_program_gives_the_same_bytes():
    def compiled():
        model = lw.compile(lw.program(gram), precision_bits=10, ring_degree=2048, insecure=True)
        return write_plan(model.plan)

    data = compiled()
    assert compiled() == data == write_plan(read_plan(data))


def test_the_ring_is_the_smallest_secure_one():
    model = lw.compile(lw.program(gram), precision_bits=10)
    chain = model.plan.chain
    assert not chain.insecure and chain.log2_qp <= modulus_limit_bits(chain.ring_degree, 128)
    assert all(bits <= model.plan.client.manifest.limit_bits for bits in model.plan.client.manifest.log2_qp)
    stronger = lw.compile(lw.program(gram), precision_bits=10, security_bits=256)
    assert stronger.plan.chain.ring_degree > chain.ring_degree and stronger.plan.chain.security_bits == 256


def test_saved_and_loaded_models_agree(tmp_path):
    model = agrees(guarded)
    model.save(tmp_path / "plan")
    again = lw.load(tmp_path / "plan")
    inputs = sample(model, np.random.default_rng(2))
    for a, b in zip(model.simulate(*inputs), again.simulate(*inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_calibration_decides_ranges_and_magnitudes():
    data = np.random.default_rng(3).uniform(2, 10, (50, 3))
    model = lw.compile(lw.program(twice), calibrate=data, ring_degree=1024, insecure=True)
    (spec,) = model.plan.client.inputs
    assert spec.low < data.min() and spec.high > data.max() and spec.high - spec.low < 1.3 * np.ptp(data)
    assert 0.5 * np.max(data) ** 2 < model.plan.client.outputs[0].magnitude <= np.max(data) ** 2


def test_the_plan_is_the_program_with_its_functions_approximated():
    def network(x: lw.Secret[4]):
        return lw.relu(0.125 * (W @ x), degree=15).mean()

    data = np.random.default_rng(9).uniform(-1, 1, (20, 4))
    with pytest.warns(lw.ApproximationWarning, match="relu of degree 15 is off by up to"):
        model = lw.compile(lw.program(network), calibrate=data, precision_bits=14, ring_degree=2048, insecure=True)
    placed = model._reference.module
    assert model.plan.chain.main.top == 6  # one for the map, with the scalings; four for degree 15; one for the mean
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, 4)
    (want,) = interpret(placed, {"x": x})
    (got,) = model.simulate(x, noise=rng)
    assert abs(got - want) <= model.plan.client.outputs[0].error_bound


ERRORS = {
    "precision 0": (dict(precision_bits=0), PrecisionError, "1 to 40"),
    "precision 41": (dict(precision_bits=41), PrecisionError, "1 to 40"),
    "ring degree": (dict(ring_degree=1000, insecure=True), UserError, "power of two"),
    "ring degree too small": (dict(ring_degree=512, insecure=True), UserError, "1024"),
    "security": (dict(security_bits=100), UserError, "128, 192, 256"),
    "insecure ring": (dict(ring_degree=1024, security_bits=192), UserError, "192-bit"),
    "ring that cannot hold it": (dict(ring_degree=1024), LevelError, "ring_degree=1024"),
    "data of another shape": (dict(calibrate=np.zeros((3, 5, 2))), ShapeError, "calibrate"),
    "unknown data": (dict(calibrate={"y": np.zeros((5, 3))}), TraceError, "unknown"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_options(name):
    options, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        lw.compile(lw.program(gram), **options)


def test_a_program_wider_than_its_ring_takes_several_ciphertexts():
    def wide(x: lw.Secret[2000]):
        return x + 1

    model = lw.compile(lw.program(wide), ring_degree=1024, insecure=True)
    assert [i.pack.count for i in model.plan.client.secret_inputs] == [4]
    client = model.client()
    x = np.random.default_rng(0).uniform(-1, 1, 2000)
    y = client.decrypt(model.server(client.keygen().public())(client.encrypt(x))).reveal()
    np.testing.assert_allclose(y, x + 1, atol=1e-3)


def test_a_precision_that_no_scale_gives():
    def tiny(x: lw.Secret[3]):
        return (1e-6 * x) * (1e-6 * x)

    with pytest.raises(PrecisionError, match=r"would need a scale of 2\^\d+; .*: (ask for|where) ") as caught:
        lw.compile(lw.program(tiny), precision_bits=12, ring_degree=1024, insecure=True)
    less = re.search(r": ask for precision_bits=(\d+), or where values", caught.value.message)
    if less:
        lw.compile(lw.program(tiny), precision_bits=int(less.group(1)), ring_degree=1024, insecure=True)

    def product(x: lw.Secret[3], y: lw.Secret[3]):
        return x * y * x * y

    small = np.random.default_rng(0).uniform(0.5e-6, 1e-6, (2, 20, 3))
    with pytest.raises(
        PrecisionError, match=r"is possible: where values in between are small.* multiplied by a public"
    ):
        lw.compile(lw.program(product), calibrate=tuple(small))
    lw.compile(lw.program(product), calibrate=tuple(1e6 * small))


def test_a_loop_that_spends_levels_at_run_time_names_its_line():
    def endless(x: lw.Secret[3], n: lw.Index):
        return lw.for_loop(n, lambda i, h: h * x, x)

    with pytest.raises(LevelError, match="at_most=K") as caught:
        lw.compile(lw.program(endless), ring_degree=1024, insecure=True)
    assert "test_compile.py" in str(caught.value)


def test_two_prime_levels_end_to_end():
    model = agrees(three_axes, precision_bits=40)
    assert {len(g) for g in model.plan.chain.main.groups[1:]} == {2}
