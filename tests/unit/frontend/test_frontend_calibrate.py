"""Calibration and approximation: ranges are those of NumPy, results close to the exact program."""

from dataclasses import replace

import numpy as np
import pytest

from latticework import frontend as lw
from latticework.compiler.accuracy import approximate_functions
from latticework.compiler.assemble import accepted_ranges
from latticework.errors import RangeError, ShapeError
from latticework.frontend.calibration.calibration_data import (
    LEAST_SAMPLES,
    REPEATED_VALUES,
    affordable_samples,
    samples_of,
)
from latticework.frontend.calibration.direct import direct_ranges
from latticework.frontend.functions.array_functions import reciprocal
from latticework.ir.interpret import interpret
from latticework.ir.parser import parse_module
from latticework.ir.printer import print_module
from latticework.ir.verify import verify

RNG = np.random.default_rng(21)
PEAK = np.where(np.arange(64) == 37, 3000.0, 1.0)
WEIGHT = RNG.normal(size=(4, 3))
DATA = [{"x": row} for row in RNG.normal(size=(300, 1, 4))]


@lw.program
def network(x: lw.Secret[1, 4]):
    hidden = lw.relu(x @ WEIGHT, degree=15)
    return lw.sigmoid(hidden @ WEIGHT.T)


def ops_named(module, name):
    return [op for op in module.walk() if op.name == name]


def test_magnitudes_are_recorded():
    module = lw.trace(network)
    calibrated = lw.calibrate(module, DATA)
    inputs = np.concatenate([sample["x"] for sample in DATA])
    hidden = inputs @ WEIGHT
    assert calibrated.inputs[0].origin.name == "x"
    assert calibrated.inputs[0].origin.max_abs == np.abs(inputs).max()
    product = ops_named(calibrated, "tensor.matmul")[0].result
    assert product.origin.max_abs == pytest.approx(np.abs(hidden).max(), rel=1e-12)
    assert product.origin.loc.text == "hidden = lw.relu(x @ WEIGHT, degree=15)"
    lo, hi = hidden.min(), hidden.max()
    relu = ops_named(calibrated, "tensor.apply")[0]
    assert relu.attrs["interval"] == pytest.approx((lo - 0.1 * (hi - lo), hi + 0.1 * (hi - lo)), rel=1e-12)
    assert module.inputs[0].origin.max_abs is None  # the module given is left as it was
    assert ops_named(module, "tensor.apply")[0].attrs["interval"] is None


def test_approximated_program_is_close():
    calibrated = lw.calibrate(lw.trace(network), DATA)
    found = approximate_functions(calibrated, DATA, 7)
    module, records = found.module, found.fitted
    verify(module)
    assert not ops_named(module, "tensor.apply") and len(ops_named(module, "tensor.polynomial")) == 2
    assert [(r.function, r.has_given_degree) for r in records] == [("relu", True), ("sigmoid", False)]
    assert records[0].degree == 15 and found.is_lossy
    assert records[0].loc.text == "hidden = lw.relu(x @ WEIGHT, degree=15)"
    assert 0 < records[0].max_error < 0.3 and 0 < records[1].max_error < 0.75 * 2**-7
    errors = [np.abs(interpret(module, s)[0] - network(s["x"])).max() for s in DATA[:50]]
    assert max(errors) < 0.1
    relu = ops_named(module, "tensor.polynomial")[0]
    assert relu.result.origin.max_abs is not None


def test_range_given_by_the_user():
    @lw.program
    def tight(x: lw.Secret[1, 4]):
        return lw.tanh(x, range=(-9, 9), degree=21)

    calibrated = lw.calibrate(lw.trace(tight), DATA)
    (record,) = approximate_functions(calibrated, DATA, 8).fitted
    assert record.interval == (-9.0, 9.0) and record.degree == 21 and record.has_given_degree
    assert 0.0 <= record.leaving < 1e-6
    assert approximate_functions(lw.trace(tight), DATA, 8).fitted == [replace(record, leaving=None)]


def test_data_outside_the_given_range():
    @lw.program
    def narrow(x: lw.Secret[1, 4]):
        return lw.relu(2 * x, range=(-1, 1))

    reached = 2 * max(sample["x"].max() for sample in DATA)
    with pytest.raises(RangeError, match=rf"to {reached:.4g} here, outside the given range=\(-1, 1\); widen") as caught:
        lw.calibrate(lw.trace(narrow), DATA)
    assert caught.value.at.text == "return lw.relu(2 * x, range=(-1, 1))"


def test_no_range_and_no_data():
    with pytest.raises(RangeError, match=r"relu: the range.*calibrate=data.*lw.relu\(x, range=") as caught:
        approximate_functions(lw.trace(network), DATA, 8)
    assert caught.value.at.text == "hidden = lw.relu(x @ WEIGHT, degree=15)"


def test_values_in_loops_are_seen_in_every_iteration():
    @lw.program
    def growing(x: lw.Secret[2], n: lw.Index):
        return lw.for_loop(n, lambda i, h: lw.tanh(h + 3.0), x)

    samples = [{"x": np.array([0.0, -1.0]), "n": 4}, {"x": np.array([2.0, 0.5]), "n": 0}]
    module = lw.calibrate(lw.trace(growing), samples)
    (apply,) = ops_named(module, "tensor.apply")
    lo, hi = 2.0, 3.0 + np.tanh(3.0 + np.tanh(3.0 + np.tanh(3.0)))
    assert apply.attrs["interval"] == pytest.approx((lo - 0.1 * (hi - lo), hi + 0.1 * (hi - lo)))
    assert module.inputs[0].origin.max_abs == 2.0
    made = approximate_functions(module, samples, 16).module
    verify(made)
    np.testing.assert_allclose(interpret(made, samples[0])[0], growing(samples[0]["x"], 4), atol=2**-16)


def test_loops_never_entered_leave_the_range_open():
    @lw.program
    def skipped(x: lw.Secret[2], n: lw.Index):
        return lw.for_loop(n, lambda i, h: lw.tanh(h), x)

    module = lw.calibrate(lw.trace(skipped), [{"x": np.ones(2), "n": 0}])
    with pytest.raises(RangeError, match="range of its argument is not known"):
        approximate_functions(module, [{"x": np.ones(2), "n": 0}], 8)


def test_polynomials_of_the_user_get_their_interval():
    @lw.program
    def cubic(x: lw.Secret[2]):
        return lw.polynomial(x, [0, 1, 0, -1])

    module = lw.calibrate(lw.trace(cubic), [{"x": np.array([-3.0, 7.0])}], margin=0.0)
    polynomial = ops_named(module, "tensor.polynomial")[0].attrs["polynomial"]
    assert polynomial.interval == (-3.0, 7.0) and polynomial.coefficients == (0.0, 1.0, 0.0, -1.0)


def test_constant_data_still_give_an_interval():
    @lw.program
    def flat(x: lw.Secret[2]):
        return lw.sigmoid(x)

    for value in (0.0, -5.0):
        data = [{"x": np.full(2, value)}]
        (record,) = approximate_functions(lw.calibrate(lw.trace(flat), data), data, 8).fitted
        assert record.interval[0] < value < record.interval[1]


def test_sampling_is_even_and_capped():
    @lw.program
    def same(x: lw.Secret[1]):
        return lw.tanh(x)

    samples = [{"x": np.array([float(i)])} for i in range(1001)]
    module = lw.calibrate(lw.trace(same), samples, max_samples=11, margin=0.0)
    apply = ops_named(module, "tensor.apply")[0]
    assert apply.attrs["interval"] == (0.0, 1000.0)
    assert set(apply.attrs["samples"]) >= {0.0, 500.0, 1000.0}


def test_bad_samples_are_named():
    module = lw.trace(network)
    with pytest.raises(RangeError, match="no samples"):
        lw.calibrate(module, [])
    with pytest.raises(ShapeError, match=r"sample 1: input x.*\(4,\)"):
        lw.calibrate(module, [DATA[0], {"x": np.zeros(4)}])
    with pytest.raises(RangeError, match="input x is NaN or infinite in sample 2"):
        lw.calibrate(module, [*DATA[:2], {"x": np.full((1, 4), np.nan)}])


def test_overflow_is_located():
    @lw.program
    def explosive(x: lw.Secret[1]):
        return lw.exp(x * 1000.0)

    with pytest.raises(RangeError, match="exp: its value is infinite or NaN in sample 0 .*from 1000 to") as caught:
        lw.calibrate(lw.trace(explosive), [{"x": np.ones(1)}])
    assert caught.value.at.text == "return lw.exp(x * 1000.0)"


def test_input_ranges():
    module = lw.trace(network)
    everything = np.concatenate([sample["x"] for sample in DATA])
    assert lw.input_ranges(module, DATA) == {"x": (everything.min(), everything.max())}


def test_calibrated_modules_print_and_parse():
    module = lw.calibrate(lw.trace(network), DATA)
    for stage in (module, approximate_functions(module, DATA, 7).module):
        text = print_module(stage)
        assert print_module(parse_module(text, sources=stage.sources)) == text


def test_loops_of_many_turns_are_run_on_few_samples():
    """Compile times would grow with the turns times the samples."""

    @lw.program
    def iterate(x: lw.Secret[3], n: lw.Index):
        return lw.for_loop(n, lambda i, a: a + x, x)

    module = lw.trace(iterate)
    x = np.ones(3)
    assert affordable_samples(module, {"x": x, "n": 1}, 4096) == 4096
    few = affordable_samples(module, {"x": x, "n": 10_000}, 4096)
    assert few == max(LEAST_SAMPLES, REPEATED_VALUES // (3 * 9_999))  # the turn's number, what is carried, the sum


def test_a_number_that_is_none_is_found_in_every_sample():
    """Also in one of those that are not run."""
    data = np.ones((5000, 1, 4))
    data[4321, 0, 2] = np.nan
    with pytest.raises(RangeError, match=r"data for x: 1 of 20000 elements .* first at index \(4321, 0, 2\)"):
        samples_of(network, lw.trace(network), data)


def first_of(x, n):
    return lw.for_loop(n, lambda i, a: 0.5 * a + 0.5 * reciprocal(a), x)


def left_by(x, n):
    return reciprocal(lw.for_loop(n, lambda i, a: 0.5 * a + 0.6, x))


def inside(x, n):
    return lw.for_loop(n, lambda i, a: 0.5 * a + 0.5 * reciprocal(x), x + 1.0)


def nested(x, n):
    return lw.for_loop(n, lambda i, a: lw.for_loop(2, lambda j, b: 0.5 * b + 0.5 * (reciprocal(b)), a), x)


def rows(x, n):
    return lw.for_loop(n, lambda i, a: a + reciprocal(x[i]), np.zeros(3))


@pytest.mark.parametrize("text", [first_of, left_by, inside, nested, rows])
def test_inputs_keep_to_the_range_of_functions_that_loops_give_them_to(text):
    """What clients accept beyond calibration would go into the first turn, or past a loop of no turns."""

    @lw.program
    def given(x: lw.Secret[4, 3], n: lw.Index):
        return text(x, n)

    samples = [{"x": np.linspace(0.25, 2.0, 12).reshape(4, 3), "n": n} for n in (0, 4)]
    module = lw.calibrate(lw.trace(given), samples)
    (function,) = (op for op in module.walk() if op.name == "tensor.apply")
    low, high = function.attrs["interval"]
    assert direct_ranges(module) == {"x": (low, high)}
    accepted = accepted_ranges(module, samples, {})["x"]
    assert low < accepted[0] < 0.25 and 2.0 < accepted[1] < high


def test_inputs_need_not_keep_to_the_range_of_functions_of_other_values():
    @lw.program
    def given(x: lw.Secret[3]):
        return reciprocal(lw.for_loop(2, lambda i, a: 0.5 * a + 0.6, x))

    samples = [{"x": np.array([-1.0, 0.0, 1.0])}]
    assert direct_ranges(lw.calibrate(lw.trace(given), samples)) == {}


@lw.program
def peaked(x: lw.Secret[4], n: lw.Index):
    """What the loop carries is largest after 38 turns, and small again after the next."""
    rates = lw.public(PEAK)
    s = lw.for_loop(n, lambda i, s: 0.1 * s * x * rates[i] + x * rates[i], x)
    return s * s


@lw.program
def nested(x: lw.Secret[4], n: lw.Index):
    """The inner loop has its peak in each turn of the outer one."""
    rates = lw.public(PEAK)
    return lw.for_loop(3, lambda _, t: lw.for_loop(n, lambda i, s: 0.5 * s + x * rates[i], t), x)


@pytest.mark.parametrize("program", [peaked, nested])
def test_loops_are_also_stopped_where_what_they_carry_is_at_its_ends(program):
    data = np.random.default_rng(0).uniform(-1, 1, (20, 4))
    samples = samples_of(program, lw.trace(program), {"x": data, "n": 64})
    counts = {sample["n"] for sample in samples}
    assert {0, 1, 16, 32, 48, 63, 64, 38} <= counts and len(counts) <= 8 + 2 * 4
    assert sum(sample["n"] == 64 for sample in samples) == 20


def test_loops_without_turns_have_no_ends():
    samples = samples_of(peaked, lw.trace(peaked), {"x": np.ones((2, 4)), "n": 0})
    assert [sample["n"] for sample in samples] == [0, 0]
