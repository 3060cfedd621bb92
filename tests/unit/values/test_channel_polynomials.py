"""Functions whose channels have polynomials of their own."""

import sys

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.trace_arrays import to_tensors
from latticework.frontend import calibrate
from latticework.functions.approximation.channel_curve import ChannelCurve
from latticework.functions.approximation.channel_samples import channel_samples, telling_axis
from latticework.functions.approximation.curve import Curve
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.tensor.ops.apply import APPLY
from latticework.values.packing.pack import GAP, PackDim, PackMap
from latticework.values.packing.packed_constants import ChannelPolynomial

SIZES = np.array([0.1, 0.3, 1.0, 4.0, 0.5, 1.5])
RNG = np.random.default_rng(7)
WEIGHTS, BIAS = RNG.normal(size=(8, 6)) * SIZES, RNG.normal(size=6) * SIZES
DATA = RNG.normal(size=(400, 8))
FILTERS = RNG.normal(size=(4, 1, 3, 3)) * np.array([0.05, 0.4, 1.0, 3.0])[:, None, None, None]
IMAGES = RNG.normal(size=(128, 1, 6, 6))


@lw.program
def layer(x: lw.Secret[8]):
    """Columns of different sizes."""
    return lw.relu(x @ WEIGHTS + BIAS, degree=7)


@lw.program
def pictures(x: lw.Secret[1, 6, 6]):
    """Channels of different sizes."""
    return lw.gelu(lw.conv2d(x, FILTERS), degree=7)


@lw.program
def with_range(x: lw.Secret[8]):
    """The user has said where arguments lie."""
    return lw.relu(x @ WEIGHTS + BIAS, degree=7, range=(-40.0, 40.0))


@lw.program
def on_input(x: lw.Secret[8]):
    """The range of the function is that which clients hold the input to."""
    return lw.relu(np.reshape(x, (2, 4)), degree=7)


@lw.program
def stacked(x: lw.Secret[64, 2]):
    """Rows by the first axis."""
    return lw.relu(2.0 * x + 1.0, degree=7)


def channels_of(program, data):
    """Of its one function, as calibrated."""
    module = calibrate(to_tensors(program, {}, None), [{"x": row} for row in data])
    return next(op for op in module.walk() if op.spec is APPLY.spec).attrs["channels"]


@pytest.fixture(scope="module")
def compiled():
    """The layer."""
    with pytest.warns(lw.ApproximationWarning):
        return lw.compile(layer, calibrate=DATA, precision_bits=10)


def test_axis_is_that_along_which_ranges_differ():
    low, high = np.full((3, 4, 5), -1.0), np.full((3, 4, 5), 1.0)
    assert telling_axis(low, high, 100, None) is None
    low[:, 1:], high[:, 1:] = -0.1, 0.1
    assert telling_axis(low, high, 100, None) == -2
    assert telling_axis(low, high, 63, None) is None  # too few samples
    assert telling_axis(low, high, 100, 1) is None  # rows are no channels


def test_samples_go_to_their_channels():
    low = np.array([[0.0, 10.0], [1.0, 11.0]])
    seen = channel_samples(-1, low, low + 5.0, np.array([2.0, 12.0, 3.0]), np.array([0, 1, 2]))
    assert seen.ranges == [(0.0, 6.0), (10.0, 16.0)]
    assert all(10.0 <= x <= 16.0 for x in seen.samples[1])


def test_what_calibration_tells():
    assert channels_of(layer, DATA).axis == -1
    assert channels_of(pictures, IMAGES).axis == -3
    assert channels_of(layer, DATA[:63]) is None
    assert channels_of(with_range, DATA) is None
    assert channels_of(on_input, DATA * np.linspace(0.1, 4.0, 8)) is None
    assert channels_of(stacked, RNG.normal(size=(80, 64, 2)) * np.linspace(0.1, 4.0, 64)[:, None]) is None


def test_each_is_close_on_its_own_range_and_says_how_close():
    relu = FUNCTIONS["relu"]
    low, high = -SIZES, 2.0 * SIZES
    seen = channel_samples(-1, low, high, np.concatenate([low, high]), np.tile(np.arange(6), 2))
    curve = ChannelCurve(Curve(relu.finite, (-5.0, 9.0), smooth=False, breakpoints=(0.0,)), seen)
    for degree in (3, 7, 15):
        made = curve.polynomial(degree)
        starts, ends = made.ends()
        assert np.all(starts <= low - 0.1 * SIZES) and np.all(ends >= high + 0.1 * SIZES)
        x = np.linspace(starts, ends, 4001)
        off = np.abs(made(x) - relu.reference(x)).max(axis=0)
        assert np.max(off) <= curve.error(degree) <= 1.05 * np.max(off)
        assert off[0] < 0.2 * off[3]
    assert isinstance(curve.polynomial(127), type(curve.shared.polynomial(127)))  # one for all beyond


def test_in_slots_it_is_what_it_is_on_tensors():
    made = ChannelPolynomial(((1.0, 2.0, 0.5), (-1.0, 0.25, 3.0)), ((-1.0, 1.0), (-0.5, 0.5)), -2, (-2.0, 2.0))
    tensor = RNG.uniform(-2.0, 2.0, (2, 3))
    pack = PackMap((2, 3), 16, (PackDim(GAP, 2), PackDim(0, 2), PackDim(1, 4)))
    slots = made.lying(pack)(pack.pack(tensor))
    assert np.allclose(pack.unpack(slots), made(tensor), rtol=0, atol=1e-12)
    assert not slots[pack.element_of_slot() < 0].any()
    low, high = made.lying(pack).ends()
    assert np.array_equal(pack.unpack(high), np.array([[2.0] * 3, [1.0] * 3]))
    assert np.all(low[pack.element_of_slot() < 0] == -2.0)
    vectors = PackMap((2, 3), 4, (PackDim(1, 4),), (PackDim(0, 2),))
    assert np.allclose(vectors.unpack(made.lying(vectors)(vectors.pack(tensor))), made(tensor), rtol=0, atol=1e-12)


def test_small_channels_are_as_precise_as_large_ones(compiled):
    """One polynomial for all is off by as much in each, which is more than the smallest ones are."""
    x = DATA[:64]
    off = np.abs(compiled.simulate(x)[0] - np.maximum(x @ WEIGHTS + BIAS, 0.0)).max(axis=0)
    reach = np.abs(DATA @ WEIGHTS + BIAS).max(axis=0)
    assert np.all(off < 0.12 * reach)
    assert off[0] < 0.2 * off[3]


@pytest.mark.parametrize(("program", "data"), [(layer, DATA), (pictures, IMAGES)], ids=["layer", "pictures"])
def test_encrypted_it_is_what_it_is_in_the_clear(program, data):
    with pytest.warns(lw.ApproximationWarning):
        model = lw.compile(program, calibrate=data, precision_bits=10)
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(data[5])))
    told = found.reveal()
    approximated = model.accuracy(data[5:6], progress=False)
    assert np.max(np.abs(told - program(data[5]))) <= 1.1 * max(a.max_error for a in model.plan.approximations)
    assert np.allclose(told, np.ravel(model.simulate(data[5])).reshape(told.shape), rtol=0, atol=5e-3)
    assert approximated.columns[1].error == pytest.approx(np.max(np.abs(told - program(data[5]))), abs=5e-3)


def test_rows_of_a_batch_have_the_same_polynomials(compiled):
    with pytest.warns(lw.ApproximationWarning):
        many = lw.compile(layer, calibrate=DATA, precision_bits=10, batch=8)
    x = DATA[:8]
    assert np.allclose(many.simulate(x)[0], compiled.simulate(x)[0], rtol=0, atol=2e-3)
    client = many.client()
    told = client.decrypt(many.server(client.keygen().public())(client.encrypt(x))).reveal()
    assert np.allclose(told, compiled.simulate(x)[0], rtol=0, atol=4e-3)


def test_arguments_outside_of_their_channel_are_told(compiled):
    """Inside the range of all, but not of the channel that they are in."""
    x = DATA[:4].copy()
    x[2] = 2.5 * np.sign(WEIGHTS[:, 0])  # nothing out of the ordinary, but all one way
    assert x[2] @ WEIGHTS[:, 0] + BIAS[0] > 1.2 * np.max(DATA @ WEIGHTS[:, 0] + BIAS[0])
    told = compiled.accuracy(x, progress=False)
    assert any("in one of 6 channels" in each.said and each.rows == (2,) for each in told.unlike), told.unlike
    within = compiled.accuracy(DATA[:4], progress=False)
    assert not any("channels" in each.said for each in within.unlike)


def test_agreement_takes_lower_degrees_by_channel(monkeypatch):
    head = np.random.default_rng(1).normal(size=(6, 3)) / SIZES[:, None]

    @lw.program
    def scores(x: lw.Secret[8]):
        return lw.relu(x @ WEIGHTS + BIAS) @ head

    model = lw.compile(scores, calibrate=DATA, agreement=0.97)
    wanted = np.argmax(np.maximum(DATA @ WEIGHTS + BIAS, 0.0) @ head, axis=1)
    assert np.mean(model.simulate(DATA)[0].argmax(axis=1) == wanted) >= 0.95
    monkeypatch.setattr(sys.modules["latticework.frontend.calibration.calibrate"], "telling_axis", lambda *_: None)
    for_all = lw.compile(scores, calibrate=DATA, agreement=0.97)
    assert 2 * model.plan.approximations[0].degree < for_all.plan.approximations[0].degree
