"""Softmax: exact in NumPy, taken apart by what it gets, encrypted close to scipy's."""

import numpy as np
import pytest
from scipy.special import softmax

import latticework as lw
from latticework.errors import RangeError, ShapeError, UnsupportedError
from latticework.frontend.calibration.calibration_data import samples_of
from latticework.frontend.calibration.softmax_choice import best_method, expand_softmax
from latticework.frontend.programs.array_program import trace
from latticework.ir.interpret import interpret
from latticework.ir.verify import verify

RNG = np.random.default_rng(3)
SMALL = {"ring_degree": 2048, "insecure": True}


@lw.program
def classes(x: lw.Secret[3, 4]):
    return lw.softmax(x)


@lw.program
def columns(x: lw.Secret[3, 4]):
    return lw.softmax(x, axis=0)


@lw.program
def stated(x: lw.Secret[3, 4]):
    return lw.softmax(x, range=(-2, 2))


@pytest.mark.parametrize("spread", [1.0, 12.0, 60.0])
@pytest.mark.parametrize("program", [classes, columns])
def test_meaning_is_the_same_after_it_is_taken_apart(program, spread):
    data = RNG.normal(size=(40, 3, 4)) * spread + 5
    module = trace(program)
    samples = samples_of(program, module, data)
    apart = expand_softmax(module, samples)
    verify(apart)
    assert not [op for op in apart.walk() if op.name == "tensor.softmax"]
    axis = 0 if program is columns else -1
    for x in data[:10]:
        np.testing.assert_allclose(program(x), softmax(x, axis=axis), rtol=1e-12)
        np.testing.assert_allclose(interpret(apart, [x])[0], softmax(x, axis=axis), atol=1e-12)


def test_wide_ranges_are_halved_first():
    def sums(lo, hi):
        return [(lo / 2**k, hi / 2**k) for k in range(9)]

    narrow, wide = best_method((-2, 2), sums(0, 3), 10), best_method((-40, 40), sums(-5, 35), 10)
    assert narrow.squarings == 0 and wide.squarings > 0
    assert narrow.levels < wide.levels < 45
    assert wide.sums[1] == 1.0 and wide.sums[0] > 1e-6  # the reciprocal's range is no longer one of e^40


EXPECTED = 30 * np.cos(np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("masked", [False, True])
def test_places_that_expect_different_scores_have_numbers_of_their_own(masked):
    program = causal if masked else classes
    data = EXPECTED + RNG.normal(size=(40, 3, 4))
    module = trace(program)
    apart = expand_softmax(module, samples_of(program, module, data))
    verify(apart)
    sums = {}
    for x in data:
        found = interpret(apart, [x], on_value=lambda value, array: sums.setdefault(value.owner, []).append(array))[0]
        np.testing.assert_allclose(found, program(x), atol=1e-12)
    (exponential, reciprocal) = (op for op in apart.walk() if op.name == "tensor.apply")  # nothing is halved
    assert exponential.attrs["interval"][0] > -12 and exponential.attrs["interval"][1] == 0.0
    least, most = reciprocal.attrs["interval"]
    totals = np.array(sums[reciprocal.operands[0].owner])
    assert 1e-4 < least < totals.min() and totals.max() < most == 1.0


def test_few_samples_expect_nothing():
    module = trace(classes)
    apart = expand_softmax(module, samples_of(classes, module, EXPECTED + RNG.normal(size=(8, 3, 4))))
    assert len([op for op in apart.walk() if op.name == "tensor.apply"]) > 2  # halved and squared


@pytest.mark.parametrize("spread", [1.0, 6.0])
def test_encrypted(spread):
    data = RNG.normal(size=(60, 3, 4)) * spread
    model = lw.compile(classes, calibrate=data, ring_degree=4096, insecure=True)
    client = model.client()
    y = client.decrypt(model.server(client.keygen().public())(client.encrypt(data[7])))
    np.testing.assert_allclose(y.reveal(), softmax(data[7], axis=-1), atol=2**-12)


def test_ranges_are_stated_or_calibrated():
    x = RNG.uniform(-2, 2, (3, 4))
    model = lw.compile(stated, **SMALL)
    np.testing.assert_allclose(model.simulate(x)[0], softmax(x, axis=-1), atol=2**-12)
    with pytest.raises(RangeError, match=r"softmax: the range.*calibrate=data.*lw.softmax\(x, range=") as caught:
        lw.compile(classes, **SMALL)
    assert caught.value.at.text == "return lw.softmax(x)"
    with pytest.raises(RangeError, match=r"reach from -4 to 4 here, outside the given range=\(-2, 2\)") as caught:
        lw.compile(stated, calibrate=np.linspace(-4, 4, 48).reshape(4, 3, 4), **SMALL)
    assert caught.value.at.text == "return lw.softmax(x, range=(-2, 2))"
    with pytest.raises(ShapeError, match="axis 2 does not exist"):
        lw.softmax(x, axis=2)


CAUSAL = np.tri(3, 4).astype(bool)


@lw.program
def causal(x: lw.Secret[3, 4]):
    return lw.softmax(x, where=CAUSAL)


@pytest.mark.parametrize("spread", [1.0, 12.0])
def test_masked_elements_are_left_out(spread):
    data = RNG.normal(size=(40, 3, 4)) * spread + 5
    module = trace(causal)
    apart = expand_softmax(module, samples_of(causal, module, data))
    verify(apart)
    for x in data[:10]:
        expected = softmax(np.where(CAUSAL, x, -np.inf), axis=-1)
        np.testing.assert_allclose(causal(x), expected, rtol=1e-12)
        np.testing.assert_allclose(interpret(apart, [x])[0], expected, atol=1e-12)
        assert not interpret(apart, [x])[0][~CAUSAL].any()


def test_masked_and_encrypted():
    data = RNG.normal(size=(60, 3, 4))
    model = lw.compile(causal, calibrate=data, ring_degree=4096, insecure=True)
    client = model.client()
    y = client.decrypt(model.server(client.keygen().public())(client.encrypt(data[7])))
    assert np.all(np.abs(y.reveal() - causal(data[7])) <= y.error_bound)
    np.testing.assert_allclose(y.reveal(), softmax(np.where(CAUSAL, data[7], -np.inf), axis=-1), atol=2**-12)


def test_masks_keep_one_of_each_row_and_are_public():
    def left(x: lw.Secret[3, 4], mask: lw.Array):
        return lw.softmax(x, where=mask)

    def secret(x: lw.Secret[3, 4], mask: lw.Secret[3, 4]):
        return lw.softmax(x, where=mask)

    empty = np.tri(3, 4, -1)
    with pytest.raises(RangeError, match="where= leaves no element in 1 of 3 rows"):
        lw.softmax(np.zeros((3, 4)), where=empty)
    with pytest.raises(RangeError, match="where= leaves no element in 1 of 3 rows"):
        trace(lw.program(left), weights=(empty,))
    with pytest.raises(ShapeError, match="does not broadcast"):
        lw.softmax(np.zeros((3, 4)), where=np.ones((2, 3, 4)))
    with pytest.raises(UnsupportedError, match="where= is secret"):
        trace(lw.program(secret))
