"""Functions of users, and functions that are not defined everywhere: meaning, ranges, refusals, encrypted results."""

import math

import numpy as np
import pytest

import latticework as lw
from latticework.errors import RangeError, UserError
from latticework.functions.approximation.real_functions import FUNCTIONS

RNG = np.random.default_rng(11)
SMALL = {"ring_degree": 2048, "insecure": True}
POSITIVE = RNG.uniform(0.5, 4.0, (60, 4))


def encrypted(program, data, x, **options):
    """The decrypted result of one input, and the model."""
    model = lw.compile(program, calibrate=data, **SMALL, **options)
    client = model.client()
    return client.decrypt(model.server(client.keygen().public())(client.encrypt(x))), model


def piecewise(x):
    return 0.25 * x if x > 1 else 0.25 * x * x  # of a number, not of an array


@pytest.mark.parametrize(
    ("function", "plain"),
    [
        (lambda x: lw.log(x, degree=21), np.log),
        (lambda x: lw.sqrt(x, degree=21), np.sqrt),
        (lambda x: lw.rsqrt(x, degree=21), lambda x: 1 / np.sqrt(x)),
        (lambda x: lw.reciprocal(x, degree=21), lambda x: 1 / x),
        (lambda x: lw.reciprocal(-x, degree=21), lambda x: -1 / x),
        (lambda x: lw.divide(x + 1, x, degree=21), lambda x: (x + 1) / x),
        (lw.approximate(lambda x: np.log1p(np.exp(x)), degree=15), lambda x: np.logaddexp(0, x)),
        (lw.approximate(math.erf, degree=21), np.vectorize(math.erf)),
        (lw.approximate(np.sin, degree=15), np.sin),
        (lambda x: 1 / (x + 2), lambda x: 1 / (x + 2)),
        (lambda x: np.array([1.0, 2.0, 3.0, 4.0]) / (x + 2), lambda x: np.array([1.0, 2.0, 3.0, 4.0]) / (x + 2)),
        (lambda x: x / (x[::-1] + 2), lambda x: x / (x[::-1] + 2)),
        (lambda x: (x + 2) ** -2 + (x + 2) ** 1.5 + (x + 2) ** 0.5, lambda x: (x + 2) ** -2 + (x + 2) ** 1.5 + (x + 2) ** 0.5),
        (lambda x: 2.0 ** (x - 2), lambda x: 2.0 ** (x - 2)),
        (lambda x: np.std(np.concatenate([x, [0.0, 4.0]])), lambda x: np.std(np.concatenate([x, [0.0, 4.0]]))),
        (lambda x: lw.polynomial(x - 2, [1, 0.5, 0.25], basis="chebyshev", range=(-2.5, 2.5)),
         lambda x: np.polynomial.chebyshev.chebval((x - 2) / 2.5, [1, 0.5, 0.25])),
        (lambda x: lw.polynomial(x, np.polynomial.Chebyshev([1, 2, 3], domain=(0, 5))),
         np.polynomial.Chebyshev([1, 2, 3], domain=(0, 5))),
        (lambda x: lw.polynomial(x, np.polynomial.Polynomial([1, 2, 3], domain=(0, 5))),
         np.polynomial.Polynomial([1, 2, 3], domain=(0, 5))),
    ],
    ids=["log", "sqrt", "rsqrt", "reciprocal", "negative", "divide", "softplus", "erf", "sin", "inverse", "public above",
         "quotient", "powers of all kinds", "base", "std", "chebyshev", "series",
         "powers"],
)  # fmt: skip
def test_meaning_in_numpy_and_encrypted(function, plain):
    x = POSITIVE[0]
    np.testing.assert_allclose(function(x), plain(x), rtol=1e-12)

    @lw.program
    def applied(x: lw.Secret[4]):
        return function(x)

    y, _ = encrypted(applied, POSITIVE, x)
    np.testing.assert_allclose(y.reveal(), plain(x), atol=3e-3)


def test_a_function_of_one_number_is_taken_element_by_element():
    bent = lw.approximate(piecewise)
    x = np.array([[0.5, 1.0], [2.0, -1.0]])
    assert bent(x).tolist() == [[0.0625, 0.25], [0.5, 0.25]]
    assert repr(lw.approximate(piecewise, degree=7)) == "lw.approximate(piecewise, degree=7)"
    assert lw.approximate(np.sin).function is FUNCTIONS["sin"]  # known ones are not known twice


@pytest.mark.parametrize(
    ("name", "lo", "hi", "expected"),
    [
        ("log", 0.1, 10.0, (0.1 / 100**0.1, 10 * 100**0.1)),
        ("reciprocal", -10.0, -0.1, (-10 * 100**0.1, -0.1 / 100**0.1)),
        ("sqrt", 0.0, 10.0, (0.0, 11.0)),
        ("log", 2.0, 2.0, (2 / 1.1, 2.2)),
        ("arcsin", -0.9, 1.0, (-0.95, 1.0)),
        ("sigmoid", -1.0, 4.0, (-1.5, 4.5)),
    ],
)
def test_ranges_are_widened_inside_the_domain(name, lo, hi, expected):
    assert FUNCTIONS[name].widen(lo, hi, 0.1) == pytest.approx(expected, rel=1e-12)


def test_inputs_are_accepted_where_the_function_is_approximated():
    @lw.program
    def logarithm(x: lw.Secret[4]):
        return lw.log(x.reshape(2, 2))

    data = np.geomspace(0.1, 10, 40).reshape(10, 4)
    y, model = encrypted(logarithm, data, data[3])
    (spec,) = model.plan.client.inputs
    assert spec.low == pytest.approx(0.1 / 100**0.1, abs=2e-4) and spec.high == pytest.approx(10 + 0.99)
    with pytest.raises(RangeError, match=r"x.*0\.0[56]"):
        model.client().encrypt(np.full(4, 0.05))
    np.testing.assert_allclose(y.reveal(), np.log(data[3]).reshape(2, 2), atol=2**-12 * np.log(10))


def test_a_function_of_an_input_is_proved_at_any_scale():
    @lw.program
    def inverse(x: lw.Secret[8]):
        return lw.reciprocal(x)

    data = np.random.default_rng(1).uniform(1, 10, (100, 8))  # of small scale: its constants are rounded by 1e-7
    y, model = encrypted(inverse, data, np.full(8, 1.0))
    (fitted,) = model.plan.approximations
    (spec,) = model.plan.client.inputs
    assert fitted.low < spec.low < data.min() and not fitted.may_leave
    assert y.is_proved and np.all(np.abs(y.reveal() - 1.0) <= y.error_bound)


def test_without_data_inputs_have_the_range_of_their_function():
    @lw.program
    def root(x: lw.Secret[4]):
        return lw.sqrt(x, range=(1, 9), degree=15)

    model = lw.compile(root, **SMALL)
    (spec,) = model.plan.client.inputs
    assert (spec.low, spec.high) == (1.0, 9.0)


def test_a_range_may_end_where_the_domain_does():
    @lw.program
    def root(x: lw.Secret[8]):
        return lw.sqrt(x, range=(0, 4))

    data = np.linspace(0, 4, 80).reshape(10, 8)
    y, _ = encrypted(root, data, data[0], precision_bits=6)
    assert np.all(np.abs(y.reveal() - np.sqrt(data[0])) <= y.error_bound)


def test_refusals_name_the_numbers_and_the_line():
    @lw.program
    def logarithm(x: lw.Secret[4]):
        return 2 * np.log(x)

    with pytest.raises(RangeError, match=r"log: arguments in calibration reach from -1 to -0.6\d+, and it is defined for numbers above 0; ke"
                       ) as caught:  # fmt: skip
        lw.compile(logarithm, calibrate=np.linspace(-1, 4, 40).reshape(10, 4))
    assert caught.value.at.text == "return 2 * np.log(x)"

    @lw.program
    def quotient(x: lw.Secret[4]):
        return lw.divide(1.0, x, range=(-1, 2))

    with pytest.raises(RangeError, match=r"reciprocal: range= reaches from -1 to 2, .* below 0 or above 0") as caught:
        lw.compile(quotient, calibrate=POSITIVE)
    assert caught.value.at.text == "return lw.divide(1.0, x, range=(-1, 2))"

    @lw.program
    def undefined(x: lw.Secret[4]):
        return lw.approximate(lambda v: math.sqrt(v - 1) if v > 1 else math.nan)(x)

    with pytest.raises(RangeError, match=r"function: its value is infinite or NaN in sample 0 .* from 0\.\d") as caught:
        lw.compile(undefined, calibrate=POSITIVE)
    assert caught.value.at.text.startswith("return lw.approximate")

    @lw.program
    def series(x: lw.Secret[4]):
        return lw.polynomial(x, [1, 2], basis="chebyshev")

    with pytest.raises(
        RangeError, match=r"data reach from 0\.5\d+ to 3\.9\d+ here, outside the range \(-1, 1\)"
    ) as caught:
        lw.compile(series, calibrate=POSITIVE)
    assert caught.value.at.text == 'return lw.polynomial(x, [1, 2], basis="chebyshev")'


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: lw.approximate(3), "approximate: 3 is no function"),
        (lambda: lw.approximate(np.sin, degree=0), "sin: degree=0 must be"),
        (lambda: lw.approximate(np.sin, range=(1, 1)), r"range \(1, 1\) is not an interval"),
        (lambda: lw.approximate(np.log, range=(-1, 1)), "log: range= reaches from -1 to 1"),
        (lambda: lw.polynomial(1.0, [1, 2], basis="legendre"), "basis='legendre'; give \"power\" or"),
        (lambda: lw.polynomial(1.0, [1, 2], range=(0, 1)), "range= belongs to basis="),
        (lambda: lw.polynomial(1.0, np.polynomial.Chebyshev([1.0]), range=(0, 1)), "domain of their own"),
        (lambda: lw.polynomial(1.0, [], basis="chebyshev"), r"shape \(0,\)"),
    ],
)
def test_wrong_use(action, message):
    with pytest.raises(UserError, match=message):
        action()
