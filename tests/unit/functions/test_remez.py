"""Best polynomials on unions of intervals: alternation, known errors, and never worse than other polynomials."""

from __future__ import annotations

import numpy as np
import pytest

from latticework.errors import RangeError
from latticework.functions.approximation.minimax import minimax
from latticework.functions.approximation.remez import BestPolynomial, remez


def around(intervals, count=4001):
    """Points of all intervals, closer towards their ends."""
    unit = -np.cos(np.linspace(0, np.pi, count))
    return np.concatenate([0.5 * ((hi - lo) * unit + lo + hi) for lo, hi in intervals])


def largest(found: BestPolynomial, function, intervals, weight=np.ones_like):
    x = around(intervals)
    return float(np.max(np.abs(weight(x) * (found.polynomial(x) - function(x)))))


TWO = [(-3.0, -2.0), (1.0, 1.5)]
CASES = {
    "exp": (np.exp, [(-1.0, 1.0)], 7, {}),
    "abs": (np.abs, [(-1.0, 1.0)], 10, {}),
    "two": (np.exp, TWO, 9, {}),
    "weighted": (np.exp, TWO, 9, {"weight": lambda x: np.exp(-x)}),
    "sign": (np.sign, [(-1.0, -0.1), (0.1, 1.0)], 15, {}),
    "odd": (np.ones_like, [(0.01, 1.0)], 15, {"parity": 1}),
    "odd on two": (np.sqrt, [(0.1, 0.4), (0.7, 1.0)], 9, {"parity": 1}),
    "even": (np.cos, [(0.5, 2.0)], 8, {"parity": 0}),
    "far": (np.tanh, [(1.0, 2.0), (50.0, 60.0)], 8, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_alternate_and_are_those_stated(name):
    function, intervals, degree, options = CASES[name]
    found = remez(function, intervals, degree, **options)
    weight = options.get("weight", np.ones_like)
    assert largest(found, function, intervals, weight) <= found.error * (1 + 1e-6) + 1e-14
    assert found.error <= found.least * (1 + 1e-6)
    free = degree + 1 if "parity" not in options else (degree - options["parity"]) // 2 + 1
    off = weight(found.points) * (function(found.points) - found.polynomial(found.points))
    assert len(off) == free + 1 and np.all(off[1:] * off[:-1] < 0)  # de la Vallee Poussin: no polynomial is closer
    np.testing.assert_allclose(np.abs(off), found.error, rtol=1e-4)


def test_polynomials_of_one_parity_are_odd_or_even_everywhere():
    x = np.linspace(-1, 1, 101)
    odd = remez(np.ones_like, [(0.1, 1.0)], 9, parity=1).polynomial
    even = remez(np.cos, [(0.1, 1.0)], 9, parity=0).polynomial
    np.testing.assert_allclose(odd(-x), -odd(x), atol=1e-15)
    np.testing.assert_allclose(even(-x), even(x), atol=1e-15)
    assert even.degree == 9 and even.coefficients[9] == 0.0


def test_known_errors():
    assert remez(np.abs, [(-1.0, 1.0)], 2).error == pytest.approx(1 / 8)  # x^2 + 1/8
    assert remez(lambda x: x**5, [(-1.0, 1.0)], 4).error == pytest.approx(1 / 16)  # T_5 / 16 is what is left
    assert remez(np.abs, [(0.0, 1.0)], 80, parity=0).error * 80 == pytest.approx(0.2801694990, rel=1e-3)  # Bernstein
    a = 0.2  # the closest multiple of x to 1 on [a, 1], of error (1 - a) / (1 + a)
    assert remez(np.ones_like, [(a, 1.0)], 1, parity=1).error == pytest.approx((1 - a) / (1 + a))


def test_errors_of_the_sign_fall_as_is_known():
    """By Eremenko and Yuditskii: sqrt(m) ((1 + a) / (1 - a))^m times the error tends to (1 - a) / sqrt(pi a)."""
    a, m = 0.1, 60
    error = remez(np.ones_like, [(a, 1.0)], 2 * m + 1, parity=1).error
    assert np.sqrt(m) * ((1 + a) / (1 - a)) ** m * error == pytest.approx((1 - a) / np.sqrt(np.pi * a), rel=0.05)


def test_no_worse_than_least_squares_or_the_best_on_one_interval():
    for function, intervals, degree, _ in [CASES["two"], CASES["sign"], CASES["exp"]]:
        found = remez(function, intervals, degree)
        x = around(intervals)
        fitted = np.polynomial.Chebyshev.fit(x, function(x), degree)
        assert found.error <= np.max(np.abs(fitted(x) - function(x)))
    one = remez(np.exp, [(-2.0, 3.0)], 8)
    x = around([(-2.0, 3.0)])
    assert one.error <= np.max(np.abs(minimax(np.exp, (-2.0, 3.0), 8)(x) - np.exp(x)))


def test_polynomials_themselves_are_found():
    found = remez(lambda x: x**3 - x, [(1.0, 2.0), (3.0, 4.0)], 3)
    assert found.error < 1e-12
    np.testing.assert_allclose(found.polynomial(np.array([0.0, 2.5])), [0.0, 2.5**3 - 2.5], atol=1e-10)


@pytest.mark.parametrize("intervals, degree, parity, message", [
    ([], 3, None, "no interval"),
    ([(1.0, 0.0)], 3, None, "lo < hi"),
    ([(0.0, 1.0), (0.5, 2.0)], 3, None, "overlap"),
    ([(-1.0, 1.0)], 3, 1, "above 0"),
    ([(0.0, 1.0)], 3, 1, "above 0"),
    ([(0.5, 1.0)], 0, 1, "no odd polynomial"),
])  # fmt: skip
def test_refused(intervals, degree, parity, message):
    with pytest.raises(RangeError, match=message):
        remez(np.exp, intervals, degree, parity=parity)
