"""What accepted inputs can reach: values and their noise lie in what is stated, for any trip count."""

import math

import numpy as np
import pytest
from vec_cases import small_chain

import latticework as lw
from latticework.compiler import precision
from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.levels import decide_levels, program_depth, write_levels
from latticework.compiler.levels.abstract_value import are_apart, exactly, is_within, unite
from latticework.compiler.levels.polynomial_extremes import Extremes, extremes
from latticework.compiler.levels.value_bounds import ChainNoise, bound_values
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.polynomial_noise import polynomial_noise
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.frontend.calibration.calibration_data import samples_of
from latticework.ir import interpret
from latticework.plan.parameters.step_noise import secret_shares, tail_deviations
from latticework.values.packing.packed_constants import IntervalPolynomial

RNG = np.random.default_rng(3)
WEIGHTS = RNG.normal(size=(6, 6))
LOW, HIGH = -2.0, 3.0
SMALL = {"ring_degree": 2048, "insecure": True}


def affine(x: lw.Secret[6]):
    return WEIGHTS @ x, WEIGHTS @ x - 0.5 * x[::-1], np.sum(x) - x


def products(x: lw.Secret[6]):
    return x * x, x * (WEIGHTS @ x), -x


def squashed(x: lw.Secret[6]):
    return lw.tanh(WEIGHTS @ x, range=(-40, 40)), lw.polynomial(0.3 * x, [1.0, -2.0, 0.5, 1.0])


def repeated(x: lw.Secret[6]):
    return lw.for_loop(3, lambda i, v: 0.5 * (v + x) * 1.5, x)


def reached(function, limits=(), most=None):
    """What is found for elements between LOW and HIGH; the module, and how its input lies in slots.

    most  run-time integers, where they are not those of calibration
    """
    program = lw.program(function)
    module = to_tensors(program, (), None)
    data = {"x": RNG.uniform(LOW, HIGH, (20, 6)), **dict(limits)}
    traced = to_polynomials(module, samples_of(program, module, data), CompileOptions())
    vectors = ArrayVectors(traced.module, CompileOptions()).choose()
    chain = small_chain(program_depth(vectors.module))
    managed = write_levels(decide_levels(vectors.module), chain)
    pack = vectors.placed.inputs[0].type.layout.pack_map((6,))
    ends = pack.pack(np.full(6, LOW)), pack.pack(np.full(6, HIGH))
    found = bound_values(
        managed, [ends, *dict(most or limits).values()], ChainNoise(chain, 6.0, polynomial_noise(chain)), elements={}
    )
    return found, managed, pack


@pytest.mark.parametrize("function", [affine, products, squashed, repeated])
def test_values_lie_in_their_ranges_and_reach_near_their_ends(function):
    found, module, pack = reached(function)
    corners = [np.where(RNG.random(6) < 0.5, LOW, HIGH) for _ in range(200)]
    for x in [*corners, *RNG.uniform(LOW, HIGH, (50, 6))]:
        for y, held in zip(interpret(module, [pack.pack(x)]), found.outputs, strict=True):
            assert np.all(y >= held.low - 1e-9) and np.all(y <= held.high + 1e-9)
    assert found.size >= max(np.max(held.size) for held in found.outputs)
    if function is affine:  # a linear map reaches the ends at a corner
        largest = np.max(np.sum(WEIGHTS * np.where(WEIGHTS > 0, HIGH, LOW), axis=1))
        assert abs(np.max(found.outputs[0].high) - largest) < 1e-9


def shrinking(x: lw.Secret[6], n: lw.Index):
    return lw.for_loop(n, lambda i, a: 0.02 * a + 0.5, x, at_most=4)


def replaced(x: lw.Secret[6], n: lw.Index):
    return lw.for_loop(n, lambda i, a: np.ones(6), 5.0 * x, at_most=4)


def nested(x: lw.Secret[6], n: lw.Index):
    return lw.for_loop(n, lambda i, a: lw.for_loop(i, lambda j, b: b + x, -a), x, at_most=5)


def growing(x: lw.Secret[6], n: lw.Index):
    return lw.for_loop(n, lambda i, a: a + x, x)


@pytest.mark.parametrize("function", [shrinking, replaced, nested, growing])
def test_every_trip_count_is_held(function):
    limit = 4
    found, module, pack = reached(function, {"n": limit})
    (held,) = found.outputs
    for n in range(limit + 1):
        for x in (np.full(6, LOW), np.full(6, HIGH), RNG.choice([LOW, HIGH], 6)):
            (y,) = interpret(module, [pack.pack(x), n])
            assert np.all(y >= held.low - 1e-9) and np.all(y <= held.high + 1e-9)


def test_a_long_loop_that_settles_is_followed_and_one_that_grows_is_not():
    def swapped(x: lw.Secret[6], n: lw.Index):
        return lw.for_loop(n, lambda i, a, b: (-b, a), (x, 2.0 * x))

    found, _, _ = reached(swapped, {"n": 4}, {"n": 10**9})
    assert np.max(found.outputs[0].size) == pytest.approx(2 * HIGH, rel=1e-4) and math.isfinite(found.size)
    unknown, _, _ = reached(growing, {"n": 4}, {"n": 10**9})
    assert unknown.outputs == [None] and unknown.size == math.inf


@pytest.mark.parametrize("degree", [1, 2, 7, 27, 63])
@pytest.mark.parametrize("largest", [1.0, 1.3])
def test_extremes_bound_values_and_slopes(degree, largest):
    rng = np.random.default_rng(degree)
    polynomial = IntervalPolynomial(tuple(rng.normal(size=degree + 1)), (-1.0, 1.0))
    values, slopes = extremes(polynomial, largest)
    low = rng.uniform(-largest, largest, 40)
    high = np.minimum(low + rng.exponential(0.1, 40), largest)
    for bounds, at in ((values, polynomial), (slopes, lambda t: _slope(polynomial, t))):
        lowest, highest = bounds.on(low, high)
        for a, b, below, above in zip(low, high, lowest, highest, strict=True):
            seen = at(np.linspace(a, b, 500))
            assert below <= seen.min() and seen.max() <= above
            assert above - seen.max() <= 0.02 * np.max(np.abs(at(np.linspace(-largest, largest, 999)))) + 1e-9


def _slope(polynomial, t):
    return np.polynomial.Chebyshev(polynomial.coefficients).deriv()(t)


def test_many_intervals_are_held_by_one():
    points = np.linspace(-1, 1, 2049)
    low = np.broadcast_to(np.array([-0.5, 0.25]), (1 << 20, 2))
    lowest, highest = Extremes(points, points**2, 2).on(low, low + 0.1)
    assert lowest.shape == low.shape and np.all(lowest <= 0.0) and np.all(highest >= 0.25)


def test_sources_tell_what_adds_up_as_deviations():
    x, y = frozenset([(1, 0)]), frozenset([(1, 3), (2, 0)])
    assert are_apart([x, y]) and not are_apart([x, x]) and not are_apart([x, None]) and are_apart([None])
    assert unite([x, y]) == {(1, 0), (1, 3), (2, 0)} and unite([x, None]) is None
    assert unite([frozenset((n, 0) for n in range(600))]) is None
    a = exactly(np.zeros((1, 4)), np.ones((1, 4)))
    assert is_within(a, a) and not is_within(exactly(-np.ones((1, 4)), np.ones((1, 4))), a)


@pytest.mark.parametrize("gap", [1, 2, 8, 64])
def test_tails_are_those_of_noise_times_a_secret(gap):
    """At two deviations, where a million draws tell."""
    rng = np.random.default_rng(gap)
    draws = rng.normal(size=1 << 20) * np.sqrt(secret_shares(2 * gap << 20, 1 << 20, rng))
    beyond = np.mean(np.abs(draws) > tail_deviations(gap, 2.0))
    assert beyond == pytest.approx(math.erfc(2 / math.sqrt(2)), rel=0.03)
    assert tail_deviations(1) == pytest.approx(-math.log(math.erfc(6 / math.sqrt(2))) / math.sqrt(2), rel=1e-3)
    assert tail_deviations(1 << 13) == pytest.approx(6.0, rel=1e-2)


def test_functions_that_may_leave_their_range_are_named():
    def network(x: lw.Secret[6]):
        return lw.sigmoid(x @ np.array([1.0, 0.9, 1.1, 1.0, 0.8, 1.2]))  # clients hold sums in their range, not weights

    model = lw.compile(lw.program(network), calibrate=RNG.uniform(-1, 1, (100, 6)), **SMALL)
    (fitted,) = model.plan.approximations
    assert fitted.may_leave and "can together take the argument" in model.report().text().replace("\n    ", " ")
    safe = lw.compile(lw.program(_elementwise), calibrate=RNG.uniform(-1, 1, (100, 6)), **SMALL)
    assert not safe.plan.approximations[0].may_leave and safe.plan.client.outputs[0].reach is not None


def _elementwise(x: lw.Secret[6]):
    return lw.sigmoid(0.9 * x)


def test_a_constant_is_rounded_alike_in_every_turn():
    """So its rounding grows as the number of turns does, not as the root of it."""
    constant = np.random.default_rng(0).uniform(-1, 1, 8)

    @lw.program
    def added(x: lw.Secret[8], n: lw.Index):
        return lw.for_loop(n, lambda i, a: a + constant, x, at_most=200)

    model = lw.compile(added, calibrate={"x": np.ones((2, 8)), "n": 200}, **SMALL)
    client = model.client(threads=1)
    value = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(np.ones(8), 200)))
    assert value.is_proved
    assert np.max(np.abs(value.reveal() - added(np.ones(8), 200))) <= value.error_bound


def mapped_rows(x: lw.Secret[16, 16]):
    return x @ _MAPPED


def mapped_columns(x: lw.Secret[16, 16]):
    return _MAPPED @ x


def alike_diagonals(x: lw.Secret[16, 16]):
    return x @ np.tile(_MAPPED[0], (16, 1))


_MAPPED = RNG.normal(size=(16, 16)) / 16


@pytest.mark.parametrize("packing", [True, False])
@pytest.mark.parametrize("size", [0.01, 1000.0])
@pytest.mark.parametrize("function", [mapped_rows, mapped_columns, alike_diagonals])
def test_noise_of_linear_maps_is_not_more_than_modelled(function, size, packing, monkeypatch):
    """Roundings of small values, and those of the constants where values are large; packed as complex or not."""
    found = []
    finished = precision.PrecisionSearch.add_error_bounds
    monkeypatch.setattr(
        precision.PrecisionSearch, "add_error_bounds", lambda *args: found.append(args[3]) or finished(*args)
    )
    rng = np.random.default_rng(0)
    techniques = lw.Techniques(complex_packing=packing)
    data = rng.uniform(-size, size, (3, 16, 16))
    model = lw.compile(lw.program(function), calibrate=data, techniques=techniques, **SMALL)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    (held,), (output,) = found[-1].outputs, model.plan.client.outputs
    variance = np.broadcast_to(held.variance, held.low.shape)
    variance = output.pack.unpack(variance if output.pack.count > 1 else variance[0])
    ratios = []
    for _ in range(4):
        x = rng.choice([-size, size], (16, 16)) if function is not alike_diagonals else np.full((16, 16), size)
        off = client.decrypt(server(client.encrypt(x))).reveal() - model.plaintext(x)
        ratios.append(np.mean(off**2 / variance))
    assert np.mean(ratios) <= 1.6  # keys are drawn: few of them tell a mean square to a third
