"""Comparisons of secrets: as NumPy in plain, as precise as asked for outside the gap, refused where nothing is told."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import latticework as lw
from latticework.errors import ApproximationWarning, RangeError, ShapeError

RNG = np.random.default_rng(0)
QUICK = {"ring_degree": 4096, "insecure": True}
APART = RNG.uniform(0.2, 1.0, (60, 4)) * RNG.choice([-1, 1], (60, 4))


@lw.program
def signs(x: lw.Secret[4]):
    return lw.sign(x, gap=0.15)


@lw.program
def chosen(x: lw.Secret[4]):
    return lw.where(lw.greater(x, 0.0, gap=0.15), 2 * x, x - 1), lw.argmax(10 * x, gap=0.3)


def pairs(least):
    """Rows whose elements are all that far from 0 and from each other."""
    rows = RNG.uniform(-1, 1, (4000, 4))
    apart = np.abs(rows[:, :, None] - rows[:, None, :]) + 2 * np.eye(4)
    return rows[(apart.min(axis=(1, 2)) > least) & (np.abs(rows).min(axis=1) > least)][:60]


def decrypted(model, *inputs):
    client = model.client()
    return client.decrypt(model.server(client.keygen().public())(client.encrypt(*inputs)))


def test_plain_arrays_are_compared_exactly():
    x = np.array([[3.0, -2.0, 0.0], [1.0, 5.0, 2.0]])
    assert lw.sign(x, gap=0.1).tolist() == np.sign(x).tolist()
    assert lw.greater(x, 1.0, gap=0.1).tolist() == [[1, 0, 0], [0.5, 1, 1]]
    assert lw.where(x > 0, x, -x).tolist() == np.abs(x).tolist() == lw.abs(x).tolist()
    assert lw.argmax(x, gap=0.1).tolist() == [0, 1]
    assert lw.argmax(x, axis=0, gap=0.1).tolist() == np.argmax(x, axis=0).tolist()


def test_signs_are_as_precise_as_was_asked_encrypted():
    with pytest.warns(ApproximationWarning, match=r"sign at test_comparing.py:\d+ \(gap=0.15\)"):
        model = lw.compile(signs, calibrate=APART, precision_bits=10, **QUICK)
    (made,) = model.plan.approximations
    assert not made.may_leave  # by bounds on every stage, of any input that a client accepts
    assert made.function == "sign" and made.max_error <= 0.75 * 2.0**-10 and made.degree > 31
    found = decrypted(model, APART[0]).reveal()
    assert np.abs(found - np.sign(APART[0])).max() <= 2.0**-10


def test_choices_and_places_encrypted():
    rows = pairs(0.16)
    with pytest.warns(ApproximationWarning, match=r"\(gap=0.15\), sign at test_comparing.py:\d+ \(gap=0.3\)\. Results"):
        model = lw.compile(chosen, calibrate=rows, precision_bits=7, ring_degree=8192, insecure=True)
    for found, exact in zip(decrypted(model, rows[0]), chosen(rows[0]), strict=True):
        assert np.abs(found.reveal() - exact).max() <= 2.0**-6 * 3  # of the largest result


def test_maximum_and_minimum_are_numpys():
    @lw.program
    def program(x: lw.Secret[4], y: lw.Secret[4]):
        return np.maximum(x, y), lw.minimum(x, y, 0.5), lw.abs(x)

    data = {"x": list(APART), "y": list(APART[::-1])}
    model = lw.compile(program, calibrate=data, precision_bits=5, ring_degree=8192, insecure=True)
    x, y = APART[0], APART[-1]
    exact = np.maximum(x, y), np.minimum(np.minimum(x, y), 0.5), np.abs(x)
    for found, right, plain in zip(decrypted(model, x, y), exact, program(x, y), strict=True):
        assert np.abs(found.reveal() - right).max() <= 2.0**-5
        np.testing.assert_allclose(plain, right)


def compiled(function, data=APART):
    return lw.compile(lw.program(function), calibrate=data, precision_bits=8, **QUICK)


def of(call):
    """A program of one line, the one that errors must name."""

    def program(x: lw.Secret[4]):
        return call(x)

    return program


@pytest.mark.parametrize("call, message", [
    (lambda x: lw.sign(x, gap=0.5), r"sign: calibration data come within 0\.2\d* of 0, inside gap=0.5"),
    (lambda x: lw.sign(x, gap=3.0, range=(-2, 2)), "magnitude up to 2, lie within gap=3 of 0"),
    (lambda x: lw.sign(x, gap=0.0), "gap=0 must be a finite number above 0"),
    (lambda x: lw.sign(x, gap=-0.1), "gap=-0.1 must be"),
    (lambda x: lw.sign(x, gap=0.1, range=(1, -1)), r"range \(1, -1\) is not an interval.*lo < hi"),
    (lambda x: lw.sign(x, gap=0.1, range=(-0.3, 0.3)), r"outside the given range=\(-0.3, 0.3\)"),
    (lambda x: lw.reciprocal(x), "reciprocal: .*from -.* to .*, and it is defined for numbers"),
    (lambda x: 1.0 / x, "reciprocal: .*it is defined for numbers"),
    (lambda x: lw.sqrt(x), "sqrt: .*defined for numbers of at least 0"),
    (lambda x: lw.log(x), "log: .*defined for numbers above 0"),
    (lambda x: lw.sqrt(x, range=(-1, 1)), "sqrt: range= reaches from -1"),
    (lambda x: lw.reciprocal(x, range=(-1, 1)), "reciprocal: range= reaches from -1"),
    (lambda x: lw.log(x, range=(2, 1)), r"range \(2, 1\) is not an interval"),
])  # fmt: skip
def test_refused_with_the_users_line(call, message):
    line = inspect.getsourcelines(call)[1]
    with pytest.raises(RangeError, match=message) as caught:
        compiled(of(call))
    assert f"test_comparing.py:{line}:" in str(caught.value)


def test_no_place_in_a_number():
    with pytest.raises(ShapeError, match="argmax: a number has no axis"):
        lw.argmax(3.0, gap=0.1)


def test_nothing_is_proved_of_a_sign_whose_argument_may_leave_its_range():
    """A little beyond its range the first stage falls back among the arguments of the second, whose sign is wrong."""
    rows = 0.4375 * np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -0.5], [-0.5, 1.0]])

    @lw.program
    def side(x: lw.Secret[2]):
        return lw.sign(x[0] + x[1], gap=0.1, range=(-1, 1))

    with pytest.warns(ApproximationWarning, match="side: nothing keeps accepted inputs"):
        model = lw.compile(side, calibrate=rows, precision_bits=7, ring_degree=4096, insecure=True)
    (output,), (fitted,) = model.plan.client.outputs, model.plan.approximations
    assert 2 * model.plan.client.inputs[0].high == pytest.approx(1.05)
    assert fitted.may_leave and output.reach is None
